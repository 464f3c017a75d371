// Absorbed multi-head latent attention (DeepSeek-V2, section 2.1.2) as a node of the graph.
#pragma once

#include <ATen/ATen.h>

#include <memory>

#include "core/model/decoder_weights.h"
#include "learner/forward_pass.h"
#include "learner/products.h"

namespace sluice::learner {

struct LatentAttentionParameters {
  Weight kv_a_norm;  // [c]
  Weight kv_b;       // [heads (dn+dv), c]
};

// What stands between the projections and o of core/model/README.md: q [rows, heads (dn+dr)] and kv [rows,
// c+dr] as projected, the result [rows, heads dv]. `packed` belongs to the pass's weights.
at::Tensor LatentAttention(const at::Tensor& q, const at::Tensor& kv, const LayerWeights& packed,
                           const LatentAttentionParameters& parameters,
                           std::shared_ptr<const ForwardPass> pass);

}  // namespace sluice::learner
