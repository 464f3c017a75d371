#include "learner/layer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "learner/linear_node.h"
#include "learner/rowwise_nodes.h"

namespace sluice::learner {
namespace {

// What the steps of one layer share.
struct Step {
  const LayerWeights& w;
  const LayerParameters& p;
  const std::shared_ptr<const ForwardPass>& pass;
  const ModelConfig& config() const { return pass->weights->config; }
  ThreadPool* pool() const { return pass->pool; }
};

at::Tensor Latent(const at::Tensor& h, const Step& s) {
  const LinearPart kv = {&s.w.kv_a, s.p.kv_a, &s.w.kv_a_bias, s.p.kv_a_bias};
  if (s.config().q_lora_rank == 0) {
    const std::vector<at::Tensor> y = Linears(h, {{&s.w.q, s.p.q}, kv}, s.pool());
    return LatentAttention(y[0], y[1], s.w, s.p.latent, s.pass);
  }
  const LinearPart q_a = {&s.w.q_a, s.p.q_a, &s.w.q_a_bias, s.p.q_a_bias};
  const std::vector<at::Tensor> y = Linears(h, {q_a, kv}, s.pool());
  const at::Tensor a =
      RmsNorm(y[0], s.w.q_a_norm, s.p.q_a_norm, s.pass->weights->latent_norm_epsilon, s.pool());
  return LatentAttention(Linear(a, {&s.w.q_b, s.p.q_b}, s.pool()), y[1], s.w, s.p.latent, s.pass);
}

at::Tensor Grouped(const at::Tensor& h, const Step& s) {
  const std::vector<at::Tensor> y = Linears(h,
                                            {{&s.w.q, s.p.q, &s.w.q_bias, s.p.q_bias},
                                             {&s.w.k, s.p.k, &s.w.k_bias, s.p.k_bias},
                                             {&s.w.v, s.p.v, &s.w.v_bias, s.p.v_bias}},
                                            s.pool());
  return GroupedAttention(y[0], y[1], y[2], s.w, s.p.grouped, s.pass);
}

MlpParameters BindMlp(const std::string& prefix, const std::function<Weight(const std::string&)>& bind) {
  return {bind(prefix + "gate_proj.weight"), bind(prefix + "up_proj.weight"),
          bind(prefix + "down_proj.weight")};
}

}  // namespace

LayerParameters BindLayer(const ModelConfig& config, int64_t layer,
                          const std::function<Weight(const std::string&)>& bind) {
  const auto part = [&](const char* name) { return bind(LayerTensor(layer, name)); };
  LayerParameters p;
  p.input_norm = part("input_layernorm.weight");
  p.post_attention_norm = part("post_attention_layernorm.weight");
  p.q = part("self_attn.q_proj.weight");
  p.k = part("self_attn.k_proj.weight");
  p.v = part("self_attn.v_proj.weight");
  p.q_bias = part("self_attn.q_proj.bias");
  p.k_bias = part("self_attn.k_proj.bias");
  p.v_bias = part("self_attn.v_proj.bias");
  p.grouped = {part("self_attn.q_norm.weight"), part("self_attn.k_norm.weight")};
  p.q_a = part("self_attn.q_a_proj.weight");
  p.q_a_bias = part("self_attn.q_a_proj.bias");
  p.q_a_norm = part("self_attn.q_a_layernorm.weight");
  p.q_b = part("self_attn.q_b_proj.weight");
  p.kv_a = part("self_attn.kv_a_proj_with_mqa.weight");
  p.kv_a_bias = part("self_attn.kv_a_proj_with_mqa.bias");
  p.latent = {part("self_attn.kv_a_layernorm.weight"), part("self_attn.kv_b_proj.weight")};
  p.o = part("self_attn.o_proj.weight");
  p.o_bias = part("self_attn.o_proj.bias");
  for (int64_t l = 0; l < layer; ++l) p.moe_layer += config.moe_layer[l] ? 1 : 0;
  if (!config.moe_layer[layer]) {
    p.mlp = BindMlp(LayerTensor(layer, "mlp."), bind);
    return p;
  }
  p.moe.router = part("mlp.gate.weight");
  p.moe.shared = BindMlp(LayerTensor(layer, "mlp.shared_experts."), bind);
  for (int32_t e = 0; e < config.moe.experts; ++e) {
    p.moe.experts.push_back(BindMlp(ExpertTensor(layer, e, ""), bind));
  }
  return p;
}

at::Tensor RunLayer(const at::Tensor& x, int64_t layer, const LayerParameters& parameters,
                    const std::shared_ptr<const ForwardPass>& pass) {
  const DecoderWeights& weights = *pass->weights;
  const Step s = {weights.layers[layer], parameters, pass};
  at::Tensor h = RmsNorm(x, s.w.input_norm, s.p.input_norm, weights.norm_epsilon, s.pool());
  const at::Tensor o = weights.config.attention == AttentionKind::kLatent ? Latent(h, s) : Grouped(h, s);
  const at::Tensor attended =
      Residual(x, Linear(o, {&s.w.o, s.p.o, &s.w.o_bias, s.p.o_bias}, s.pool()), s.pool());
  h = RmsNorm(attended, s.w.post_attention_norm, s.p.post_attention_norm, weights.norm_epsilon, s.pool());
  const at::Tensor y =
      s.w.is_moe ? Moe(h, s.w.moe, s.p.moe, s.p.moe_layer, pass) : Mlp(h, s.w.mlp, s.p.mlp, s.pool());
  return Residual(attended, y, s.pool());
}

}  // namespace sluice::learner
