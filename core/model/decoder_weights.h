// The weights of a decoder in the layouts that the kernels read: what PackDecoderWeights makes. The engine's
// Decoder and the learner's forward use the same object, so that both multiply the same numbers in the same
// order.
//
// Immutable once packed; thread-safe. PackedMatrix shares its storage, so copies of these structs are cheap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernels/attention.h"
#include "core/kernels/kernels.h"
#include "core/model/decoder.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// down(silu(gate(x)) * up(x)): a dense layer's MLP, one routed expert, or all shared experts as one.
struct MlpWeights {
  kernels::PackedMatrix gate, up;  // [intermediate, hidden]
  kernels::PackedMatrix down;      // [hidden, intermediate]
};

struct MoeWeights {
  kernels::PackedMatrix router;        // [experts, hidden], always packed as float32
  std::vector<float> correction_bias;  // [experts] or empty
  std::vector<MlpWeights> experts;
  bool has_shared = false;
  MlpWeights shared;
};

// Vectors are float32 values of the tensors after rounding to the packing's type.
struct LayerWeights {
  std::vector<float> input_norm, post_attention_norm;  // [hidden]
  kernels::PackedMatrix q;  // [heads (dn+dr), hidden]; empty where latent attention compresses its queries
  // Grouped attention only.
  kernels::PackedMatrix k, v;                 // [kv_heads (dn+dr), hidden], [kv_heads dv, hidden]
  std::vector<float> q_bias, k_bias, v_bias;  // empty without qkv_bias
  std::vector<float> q_norm, k_norm;          // [dn+dr]; empty without qk_norm
  // Latent attention only.
  kernels::PackedMatrix q_a, q_b;  // [q_lora, hidden], [heads (dn+dr), q_lora]
  std::vector<float> q_a_norm;     // [q_lora]
  std::vector<float> q_a_bias;     // [q_lora]; empty without qkv_bias
  kernels::PackedMatrix kv_a;      // [c+dr, hidden]
  std::vector<float> kv_a_norm;    // [c]
  std::vector<float> kv_a_bias;    // [c+dr] or empty
  // kv_b, split by head: rows [h (dn+dv), + dn) are W_UK, the next dv rows W_UV, each [., c].
  std::vector<kernels::PackedMatrix> w_uk;  // by head: W_UK transposed, [c, dn] (out, in): absorbs q_nope
  std::vector<kernels::PackedMatrix> w_uv;  // by head: [dv, c]
  kernels::PackedMatrix o;                  // [hidden, heads dv]
  std::vector<float> o_bias;                // [hidden] or empty
  bool is_moe = false;
  MlpWeights mlp;  // when dense
  MoeWeights moe;  // when is_moe
};

class DecoderWeights {
 public:
  ModelConfig config;
  DType dtype = DType::kBF16;
  HostTensor embedding;  // [vocab, hidden] of `dtype`; empty when tied: then the head holds it
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;  // [hidden]
  kernels::PackedMatrix head;     // [vocab, hidden]; of the embedding when tied
  // Inputs of kernels that depend on the config and the type only.
  kernels::AttentionShape attention;
  std::vector<float> inverse_frequencies;  // [dr/2]
  float rope_amplitude = 1, norm_epsilon = 1e-6f, latent_norm_epsilon = 1e-6f;

  // One row of the embedding as float32.
  void Embed(int32_t token, float* x) const;
};

// What Attention and the cache of a model's layers look like. Latent: one cached vector [latent ; k_pe].
kernels::AttentionShape AttentionShapeOf(const ModelConfig& config, DType dtype);

// The routing of a layer; `correction_bias` [experts] or null is borrowed.
kernels::RouterParams RouterParamsOf(const ModelConfig& config, const float* correction_bias);

// The hub names of layer `layer`, with and without a last part: LayerTensor(3, "self_attn.o_proj.weight").
std::string LayerTensor(int64_t layer, const std::string& part);
// "mlp.experts.<expert>.", "mlp.shared_experts.", "mlp.": to be followed by gate_proj.weight and so on.
std::string ExpertTensor(int64_t layer, int64_t expert, const std::string& part);

// Where head h's parts begin in kv_b_proj.weight [heads (dn+dv), c], in rows.
inline int64_t KeyRowOf(const ModelConfig& config, int64_t head) {
  return head * (config.qk_nope_dim + config.v_dim);
}
inline int64_t ValueRowOf(const ModelConfig& config, int64_t head) {
  return KeyRowOf(config, head) + config.qk_nope_dim;
}

// What PackDecoderWeights rounds: values of `tensor` as the model sees them when packed as `dtype`.
std::vector<float> RoundedFloats(const HostTensor& tensor, DType dtype);

}  // namespace sluice
