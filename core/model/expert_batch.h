// The feed-forward part of a layer over a batch of rows: a plain MLP, or a mixture of experts that gathers
// the rows of each expert, so that its weights are read once. A row's result does not depend on who else
// chose its experts.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/model/decoder_weights.h"

namespace sluice {

// Owns its buffers; not thread-safe.
class ExpertBatch {
 public:
  // y [rows, hidden] = down(silu(gate(h)) * up(h)).
  void Mlp(const MlpWeights& mlp, const float* h, int64_t rows, float* y, ThreadPool* pool);
  // y [rows, hidden] = shared experts + weighted routed experts, in the order of a row's slots.
  void Forward(const MoeWeights& moe, const kernels::RouterParams& router, const float* h, int64_t rows,
               float* y, ThreadPool* pool);
  // Of the last Forward: [rows, k], by falling weight.
  const std::vector<int32_t>& ids() const { return ids_; }
  // Floats of its buffers for each row.
  static int64_t FloatsPerRow(const ModelConfig& config);

 private:
  void RouteRows(const MoeWeights& moe, const kernels::RouterParams& router, const float* h, int64_t rows,
                 ThreadPool* pool);
  void Sort(int64_t rows, int32_t k, int32_t experts);
  const float* Gather(const float* h, int64_t rows, int32_t k, int64_t hidden, ThreadPool* pool);
  // down(silu(gate) * up) of the shared experts into y and of each row's experts into outputs_.
  void RunExperts(const MoeWeights& moe, const float* h, int64_t rows, int32_t k, float* y, ThreadPool* pool);

  std::vector<float> gate_, up_;  // [rows, intermediate], the shared experts' before all routed ones
  std::vector<float> logits_, weights_, inputs_,
      outputs_;  // [rows, experts], [rows, k], [rows * k, hidden] twice
  std::vector<int32_t> ids_;
  std::vector<int64_t> first_, next_;  // by expert (first_: and one more): where its rows begin in inputs_
  std::vector<int64_t> place_;         // [rows, k]: where a row's slot stands in inputs_
  std::vector<int64_t> row_;           // [rows * k]: whose row stands there
  std::vector<kernels::LinearJob> jobs_;
};

}  // namespace sluice
