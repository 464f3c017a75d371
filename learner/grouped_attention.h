// Grouped attention as a node of the graph.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "core/model/decoder_weights.h"
#include "learner/forward_pass.h"
#include "learner/products.h"

namespace sluice::learner {

struct GroupedAttentionParameters {
  Weight q_norm, k_norm;  // [head_dim]; undefined without qk_norm
};

// Norms by head, rotation and attention between the projections and o of core/model/README.md: q [rows, heads
// head_dim], k [rows, kv_heads head_dim] and v [rows, kv_heads dv] as projected, the result [rows, heads dv].
// Takes the storage of q and k. `packed` belongs to the pass's weights.
at::Tensor GroupedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const LayerWeights& packed, const GroupedAttentionParameters& parameters,
                            std::shared_ptr<const ForwardPass> pass);

}  // namespace sluice::learner
