// Which rows each expert computes, and the gradient of the routing weights. No LibTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "core/kernels/kernels.h"
#include "core/spec/config/model_config.h"
#include "learner/forward_pass.h"

namespace sluice::learner {

// Assignments sorted by expert, then by row.
struct Routing {
  std::vector<int32_t> ids;              // [rows, k] by falling weight
  std::vector<float> weights;            // [rows, k]
  std::vector<int64_t> first;            // [experts + 1] of each expert's assignments
  std::vector<int64_t> row, slot_index;  // by assignment: its row, and its place in `weights`
  std::vector<int64_t> place;            // [rows, k] -> assignment
  int64_t assignments() const { return static_cast<int64_t>(row.size()); }
};

// logits [rows, experts] of layer `moe_layer`. Rows with recorded experts keep those when the pass replays.
Routing RouteRows(const float* logits, const kernels::RouterParams& params, int64_t moe_layer,
                  const ForwardPass& pass);

// d_weights [rows, k] -> d_logits [rows, experts], overwritten; `scores` are the softmax or sigmoid of the
// logits. With s the scores, weight_i = scaling s_i, or scaling s_i / (sum_j s_j + 1e-20) over the chosen
// experts (DeepSeek-V3, eq. 13).
void RouterBackward(const MoeConfig& moe, const Routing& routing, const float* scores, const float* d_weights,
                    float* d_logits);

}  // namespace sluice::learner
