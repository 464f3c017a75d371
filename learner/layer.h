// One layer of the decoder over the graph: the calls of core/model/README.md, each a node.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>
#include <string>

#include "core/model/decoder_weights.h"
#include "learner/forward_pass.h"
#include "learner/grouped_attention.h"
#include "learner/latent_attention.h"
#include "learner/mlp_node.h"
#include "learner/moe_node.h"
#include "learner/products.h"

namespace sluice::learner {

// A layer's trained tensors, by their parts of LayerWeights. What the model lacks is undefined.
struct LayerParameters {
  Weight input_norm, post_attention_norm;
  Weight q, k, v, q_bias, k_bias, v_bias;                // grouped; q also of latent attention
  Weight q_a, q_a_bias, q_a_norm, q_b, kv_a, kv_a_bias;  // latent
  Weight o, o_bias;
  GroupedAttentionParameters grouped;
  LatentAttentionParameters latent;
  MlpParameters mlp;
  MoeParameters moe;
  int64_t moe_layer = 0;  // layers with experts before this one
};

// `bind` finds a tensor by its hub name.
LayerParameters BindLayer(const ModelConfig& config, int64_t layer,
                          const std::function<Weight(const std::string&)>& bind);

// x [rows, hidden] -> [rows, hidden].
at::Tensor RunLayer(const at::Tensor& x, int64_t layer, const LayerParameters& parameters,
                    const std::shared_ptr<const ForwardPass>& pass);

}  // namespace sluice::learner
