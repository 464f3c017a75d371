// The attention part of a layer over a batch of rows: projections, norms, rotation, the rows' entries in
// their caches, attention over them and the output projection. Latent and grouped attention differ in what
// they project and cache; the rest is one path.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/model/decoder.h"
#include "core/model/decoder_weights.h"

namespace sluice {

// Of the rows of one forward, [rows, dr/2]: the output of RopeCosSin.
struct Rotations {
  const float *cos = nullptr, *sin = nullptr;
};

// Owns its buffers; not thread-safe.
class AttentionBatch {
 public:
  // y [rows, hidden] = the attention of layer `index` on h [rows, hidden], after each row's entry is in its
  // cache.
  void Forward(const DecoderWeights& weights, int64_t index, absl::Span<const DecoderRow> rows,
               const Rotations& rotations, const float* h, float* y, ThreadPool* pool);
  // Floats of its buffers for each row.
  static int64_t FloatsPerRow(const ModelConfig& config);

 private:
  struct Pass;
  void Latent(const Pass& pass);
  void Grouped(const Pass& pass);
  float* Heads(const Pass& pass);

  // [rows, .]: queries as projected, compressed queries, the keys' and values' projections (of latent
  // attention one), queries as attended with, and what attention gives, by head and expanded.
  std::vector<float> projected_, compressed_, keys_, values_, queries_, attended_, heads_;
  std::vector<kernels::CachedRow> cached_;
  std::vector<kernels::LinearJob> jobs_;
};

}  // namespace sluice
