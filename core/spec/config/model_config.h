// What a model is, read from config.json: hub style (rope_scaling, torch_dtype) and transformers 5 style
// (rope_parameters, dtype). Models differ by these data, not by branches on their name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/config/moe_config.h"
#include "core/spec/config/rope_config.h"
#include "core/spec/tensors/fp8.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// Latent: multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1), one cached vector for all
// heads. Grouped: heads / kv_heads query heads share a key and a value head (Ainslie et al. 2023); kv_heads =
// heads is plain multi-head attention, kv_heads = 1 multi-query.
enum class AttentionKind { kLatent, kGrouped };

struct ModelConfig {
  std::string model_type;
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, intermediate = 0, max_positions = 0;
  double norm_epsilon = 1e-6;
  double latent_norm_epsilon = 1e-6;  // of q_a and kv_a norms: the class default, whatever rms_norm_eps says
  AttentionKind attention = AttentionKind::kLatent;
  // Of a query head: dn dimensions without position, then dr rotated ones; of a value head: dv. Grouped: dn =
  // 0 and dr = dv = head_dim.
  int64_t qk_nope_dim = 0, qk_rope_dim = 0, v_dim = 0;
  // Latent only.
  int64_t q_lora_rank = 0;  // 0: no query compression
  int64_t kv_lora_rank = 0;
  // Grouped only.
  int64_t kv_heads = 0;
  bool qk_norm = false;          // RMSNorm over each head of q and k, before RoPE (Qwen3)
  bool qkv_bias = false;         // biases of q_a (where queries are compressed) and kv_a, or of q, k and v
  bool o_bias = false;           // bias of o_proj
  bool rope_interleaved = true;  // pairs (2i, 2i+1) rotate; else halves
  RopeConfig rope;
  MoeConfig moe;
  std::vector<bool> moe_layer;  // by layer
  bool tied_embeddings = false;
  DType stored_dtype = DType::kBF16;
  Fp8Blocks fp8;  // of the checkpoint's quantized matrices, if it has some; tensors in memory never are
  std::vector<int32_t> eos_token_ids;
  int32_t bos_token_id = -1, pad_token_id = -1;

  double SoftmaxScale() const;                        // (dn+dr)^-1/2 x mscale(factor, mscale_all_dim)^2
  std::vector<float> RopeInverseFrequencies() const;  // [qk_rope_dim/2]; computed in double
  float RopeAmplitude() const;                        // multiplies cos and sin
};

// Refuses, naming the field, what is missing, out of range or not supported, and fields that would change the
// result in a way that is not computed here. Fields without a part in the result are ignored.
absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view config_json,
                                             absl::string_view generation_config_json = "");

struct TensorShape {
  std::string name;
  std::vector<int64_t> shape;
  bool always_f32 = false;  // e_score_correction_bias
  bool trained = true;      // has a gradient
};
// Every tensor of the model by hub name, in a fixed order. Checkpoints must have exactly these shapes;
// multi-token prediction layers (index >= layers) and rotary buffers in a checkpoint are skipped.
std::vector<TensorShape> TensorTable(const ModelConfig& config);

}  // namespace sluice
