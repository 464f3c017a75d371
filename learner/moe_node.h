// A mixture of experts as a node of the graph.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "core/model/decoder_weights.h"
#include "learner/forward_pass.h"
#include "learner/mlp_node.h"

namespace sluice::learner {

struct MoeParameters {
  Weight router;  // [experts, hidden]
  std::vector<MlpParameters> experts;
  MlpParameters shared;
};

// Routed and shared experts; rows are gathered by expert, only experts in use are computed. Gradients flow
// through the routing weights into the router; the choice itself and the correction bias have none. Rows with
// recorded experts go to those, when the pass replays them; their weights are the router's all the same.
// `moe_layer` counts the layers with experts; `packed` belongs to the pass's weights.
at::Tensor Moe(const at::Tensor& x, const MoeWeights& packed, const MoeParameters& parameters,
               int64_t moe_layer, std::shared_ptr<const ForwardPass> pass);

}  // namespace sluice::learner
