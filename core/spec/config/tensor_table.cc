// The tensors of a model by hub name (matrices are [out, in]).
#include "absl/strings/str_cat.h"
#include "core/spec/config/model_config.h"

namespace sluice {
namespace {

class TableWriter {
 public:
  void Add(const std::string& name, std::vector<int64_t> shape) {
    table_.push_back({name, std::move(shape)});
  }
  void AddCorrectionBias(const std::string& name, int64_t experts) {
    table_.push_back({name, {experts}, true, false});
  }
  void AddMlp(const std::string& prefix, int64_t hidden, int64_t width) {
    Add(prefix + ".gate_proj.weight", {width, hidden});
    Add(prefix + ".up_proj.weight", {width, hidden});
    Add(prefix + ".down_proj.weight", {hidden, width});
  }
  std::vector<TensorShape> Take() { return std::move(table_); }

 private:
  std::vector<TensorShape> table_;
};

void AddGroupedAttention(const ModelConfig& c, const std::string& prefix, TableWriter& out) {
  const int64_t head = c.qk_nope_dim + c.qk_rope_dim;
  const auto project = [&](const char* name, int64_t width) {
    out.Add(prefix + name + ".weight", {width, c.hidden});
    if (c.qkv_bias) out.Add(prefix + name + ".bias", {width});
  };
  project("q_proj", c.heads * head);
  project("k_proj", c.kv_heads * head);
  project("v_proj", c.kv_heads * c.v_dim);
  for (const char* name : {"q_norm.weight", "k_norm.weight"}) {
    if (c.qk_norm) out.Add(prefix + name, {head});
  }
}

void AddLatentAttention(const ModelConfig& c, const std::string& prefix, TableWriter& out) {
  const int64_t query = c.heads * (c.qk_nope_dim + c.qk_rope_dim);
  const int64_t latent = c.kv_lora_rank + c.qk_rope_dim;
  if (c.q_lora_rank == 0) {
    out.Add(prefix + "q_proj.weight", {query, c.hidden});
  } else {
    out.Add(prefix + "q_a_proj.weight", {c.q_lora_rank, c.hidden});
    if (c.qkv_bias) out.Add(prefix + "q_a_proj.bias", {c.q_lora_rank});
    out.Add(prefix + "q_a_layernorm.weight", {c.q_lora_rank});
    out.Add(prefix + "q_b_proj.weight", {query, c.q_lora_rank});
  }
  out.Add(prefix + "kv_a_proj_with_mqa.weight", {latent, c.hidden});
  if (c.qkv_bias) out.Add(prefix + "kv_a_proj_with_mqa.bias", {latent});
  out.Add(prefix + "kv_a_layernorm.weight", {c.kv_lora_rank});
  out.Add(prefix + "kv_b_proj.weight", {c.heads * (c.qk_nope_dim + c.v_dim), c.kv_lora_rank});
}

void AddAttention(const ModelConfig& c, const std::string& prefix, TableWriter& out) {
  if (c.attention == AttentionKind::kLatent) {
    AddLatentAttention(c, prefix, out);
  } else {
    AddGroupedAttention(c, prefix, out);
  }
  out.Add(prefix + "o_proj.weight", {c.hidden, c.heads * c.v_dim});
  if (c.o_bias) out.Add(prefix + "o_proj.bias", {c.hidden});
}

void AddMixture(const ModelConfig& c, const std::string& prefix, TableWriter& out) {
  out.Add(prefix + "gate.weight", {c.moe.experts, c.hidden});
  if (c.moe.correction_bias) out.AddCorrectionBias(prefix + "gate.e_score_correction_bias", c.moe.experts);
  for (int32_t j = 0; j < c.moe.experts; ++j) {
    out.AddMlp(absl::StrCat(prefix, "experts.", j), c.hidden, c.moe.intermediate);
  }
  if (c.moe.shared_experts > 0) {
    out.AddMlp(prefix + "shared_experts", c.hidden, c.moe.shared_experts * c.moe.intermediate);
  }
}

}  // namespace

std::vector<TensorShape> TensorTable(const ModelConfig& config) {
  TableWriter out;
  out.Add("model.embed_tokens.weight", {config.vocab, config.hidden});
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string prefix = absl::StrCat("model.layers.", i, ".");
    out.Add(prefix + "input_layernorm.weight", {config.hidden});
    AddAttention(config, prefix + "self_attn.", out);
    out.Add(prefix + "post_attention_layernorm.weight", {config.hidden});
    if (config.moe_layer[static_cast<size_t>(i)]) {
      AddMixture(config, prefix + "mlp.", out);
    } else {
      out.AddMlp(prefix + "mlp", config.hidden, config.intermediate);
    }
  }
  out.Add("model.norm.weight", {config.hidden});
  if (!config.tied_embeddings) out.Add("lm_head.weight", {config.vocab, config.hidden});
  return out.Take();
}

}  // namespace sluice
