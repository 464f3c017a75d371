#include "core/spec/config/model_config.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/tensors/fp8.h"
#include "core/spec/text/json.h"

namespace sluice {
namespace {

constexpr int64_t kMaxVocab = 4 << 20, kMaxHidden = 1 << 17, kMaxLayers = 1024, kMaxHeads = 4096,
                  kMaxIntermediate = 1 << 20, kMaxPositions = 1 << 28, kMaxRank = 1 << 16, kMaxHeadDim = 4096;

enum class Biases { kConfigured, kQkvOnly };  // as attention_bias says, or always and of q, k and v only

// What a model_type stands for beyond its fields.
struct Family {
  const char* model_type;
  AttentionKind attention = AttentionKind::kGrouped;
  MoeFamily moe;              // latent families
  bool always_pairs = false;  // rope_interleave is not looked at
  Biases biases = Biases::kConfigured;
  bool qk_norm = false;
  int64_t head_dim = 0;  // where head_dim is not given; 0: hidden_size / num_attention_heads
  bool kv_heads_required = false;
  bool window_by_default = true;  // sliding_window counts unless use_sliding_window is false
};

const Family kFamilies[] = {
    {.model_type = "deepseek_v2",
     .attention = AttentionKind::kLatent,
     .moe = {.score = RouterScore::kSoftmax},
     .always_pairs = true},
    {.model_type = "deepseek_v3", .attention = AttentionKind::kLatent, .moe = {.groups_required = true}},
    {.model_type = "kimi_k2", .attention = AttentionKind::kLatent, .moe = {.groups_required = true}},
    {.model_type = "glm4_moe_lite", .attention = AttentionKind::kLatent, .moe = {.first_dense_layers = 1}},
    {.model_type = "llama"},
    {.model_type = "qwen2",
     .biases = Biases::kQkvOnly,
     .kv_heads_required = true,
     .window_by_default = false},
    {.model_type = "qwen3",
     .qk_norm = true,
     .head_dim = 128,
     .kv_heads_required = true,
     .window_by_default = false}};

const Family* FindFamily(JsonFields& in, const std::string& model_type) {
  std::string known;
  for (const Family& family : kFamilies) {
    if (model_type == family.model_type) return &family;
    absl::StrAppend(&known, known.empty() ? "" : ", ", family.model_type);
  }
  in.Fail("model_type", absl::StrCat("is \"", model_type.substr(0, 64), "\"; supported are ", known));
  return nullptr;
}

// Fields of other models' configs that change the result, and the value at which they do not.
struct NeutralField {
  const char* name;
  double value;  // of a number; 0 also stands for false
};
constexpr NeutralField kNeutralFields[] = {
    {"mlp_bias", 0},
    {"final_logit_softcapping", 0},
    {"attn_logit_softcapping", 0},
    {"attn_logit_softcap", 0},
    {"logit_softcap", 0},
    {"logits_soft_cap", 0},
    {"logit_scale", 1},
    {"logits_scaling", 1},
    {"embedding_multiplier", 1},
    {"residual_multiplier", 1},
    {"scale_emb", 1},
    {"clip_qkv", 0},
    {"use_qk_norm", 0},
    {"attn_output_gate", 0},
    {"attention_chunk_size", 0},
    {"no_rope_layer_interval", 0},
    {"use_bidirectional_attention", 0},
};
constexpr const char* kForeignFields[] = {
    "attention_multiplier", "query_pre_attn_scalar",       "scale_depth",           "dim_model_base",
    "no_rope_layers",       "dual_chunk_attention_config", "cross_attention_layers"};
constexpr const char* kForeignExperts[] = {"n_routed_experts", "num_experts", "num_local_experts"};

double NumberOf(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number() ? value.get<double>() : std::nan("");
}

void RefuseForeignFields(JsonFields& in, const Family& family) {
  for (const NeutralField& field : kNeutralFields) {
    const nlohmann::json* value = in.Find(field.name);
    if (value != nullptr && NumberOf(*value) != field.value) {
      in.Fail(field.name,
              absl::StrCat("is ", value->dump().substr(0, 64),
                           ": it changes the result and is not supported for ", family.model_type));
    }
  }
  for (const char* name : kForeignFields) {
    if (in.Has(name)) in.Fail(name, "is set: it changes the result and is not supported");
  }
  if (family.attention == AttentionKind::kLatent) return;
  for (const char* name : kForeignExperts) {
    const nlohmann::json* value = in.Find(name);
    if (value != nullptr && NumberOf(*value) != 0)
      in.Fail(name, absl::StrCat("is set: ", family.model_type, " has no experts"));
  }
}

void ReadSizes(JsonFields& in, ModelConfig& out) {
  out.vocab = in.Int("vocab_size", 1, kMaxVocab);
  out.hidden = in.Int("hidden_size", 1, kMaxHidden);
  out.layers = in.Int("num_hidden_layers", 1, kMaxLayers);
  out.heads = in.Int("num_attention_heads", 1, kMaxHeads);
  out.intermediate = in.Int("intermediate_size", 1, kMaxIntermediate);
  out.max_positions = in.Int("max_position_embeddings", 1, kMaxPositions);
  out.norm_epsilon = in.NumberOr("rms_norm_eps", 1e-6, 0, 1);
  const std::string activation = in.StringOr("hidden_act", "silu");
  if (activation != "silu" && activation != "swish")
    in.Fail("hidden_act", absl::StrCat("is \"", activation.substr(0, 64), "\"; only \"silu\" is supported"));
  out.tied_embeddings = in.BoolOr("tie_word_embeddings", false);
  out.fp8 = ReadQuantization(in);
}

void ReadLatentAttention(JsonFields& in, const Family& family, const nlohmann::json& json, ModelConfig& out) {
  out.kv_lora_rank = in.Int("kv_lora_rank", 1, kMaxRank);
  if (!json.contains("q_lora_rank")) in.Fail("q_lora_rank", "is missing (null: no query compression)");
  out.q_lora_rank = in.IntOr("q_lora_rank", 0, 1, kMaxRank);
  out.qk_nope_dim = in.Int("qk_nope_head_dim", 1, kMaxHeadDim);
  out.qk_rope_dim = in.Int("qk_rope_head_dim", 2, kMaxHeadDim);
  if (out.qk_rope_dim % 2 != 0) in.Fail("qk_rope_head_dim", "is odd");
  out.v_dim = in.Int("v_head_dim", 1, kMaxHeadDim);
  out.qkv_bias = out.o_bias = in.BoolOr("attention_bias", false);
  const bool interleaved = in.BoolOr("rope_interleave", true);
  out.rope_interleaved = family.always_pairs || interleaved;
}

void ReadGroupedAttention(JsonFields& in, const Family& family, const nlohmann::json& json,
                          ModelConfig& out) {
  if (in.Has("kv_lora_rank"))
    in.Fail("kv_lora_rank", absl::StrCat("is set: ", family.model_type, " has no latent attention"));
  if (family.kv_heads_required && !json.contains("num_key_value_heads"))
    in.Fail("num_key_value_heads", "is missing (null: as many as num_attention_heads)");
  out.kv_heads = in.IntOr("num_key_value_heads", out.heads, 1, out.heads);
  if (out.heads % out.kv_heads != 0) in.Fail("num_key_value_heads", "does not divide num_attention_heads");
  int64_t head_dim = in.IntOr("head_dim", family.head_dim, 2, kMaxHeadDim);
  if (head_dim == 0) {
    if (out.hidden % out.heads != 0)
      in.Fail("num_attention_heads", "does not divide hidden_size, and there is no head_dim");
    head_dim = out.hidden / out.heads;
  }
  if (head_dim % 2 != 0) in.Fail("head_dim", "is odd");
  out.qk_rope_dim = out.v_dim = head_dim;
  out.rope_interleaved = false;
  out.qk_norm = family.qk_norm;
  const bool configured = in.BoolOr("attention_bias", false);
  out.qkv_bias = configured || family.biases == Biases::kQkvOnly;
  out.o_bias = configured && family.biases == Biases::kConfigured;
}

// Attention sees the whole context: a window that is shorter is refused, one that never ends a context
// ignored.
void RefuseWindows(JsonFields& in, const Family& family, const ModelConfig& config) {
  const int64_t window = in.IntOr("sliding_window", config.max_positions, 1, int64_t{1} << 40);
  const nlohmann::json* types = in.Find("layer_types");
  if (types != nullptr && !types->is_array()) return in.Fail("layer_types", "is not a list");
  bool any = types == nullptr && in.BoolOr("use_sliding_window", family.window_by_default) &&
             in.IntOr("max_window_layers", 0, 0, 1 << 20) < config.layers;
  for (const nlohmann::json& type : types != nullptr ? *types : nlohmann::json::array()) {
    if (type != "full_attention" && type != "sliding_attention") {
      return in.Fail("layer_types", "has an entry besides full_attention and sliding_attention");
    }
    any = any || type == "sliding_attention";
  }
  if (any && window < config.max_positions) {
    in.Fail("sliding_window", absl::StrCat("is ", window, ", less than max_position_embeddings = ",
                                           config.max_positions, ": sliding windows are not supported"));
  }
}

void ReadDType(JsonFields& in, ModelConfig& out) {
  const char* field = in.Has("dtype") ? "dtype" : "torch_dtype";
  const std::string name = in.StringOr(field, "bfloat16");
  if (name == "bfloat16") {
    out.stored_dtype = DType::kBF16;
  } else if (name == "float32") {
    out.stored_dtype = DType::kF32;
  } else if (name == "float16") {
    out.stored_dtype = DType::kF16;
  } else {
    in.Fail(field,
            absl::StrCat("is \"", name.substr(0, 64), "\"; supported are bfloat16, float32 and float16"));
  }
}

// A number or a list of them; generation_config.json calls this after config.json, so it overrides.
void ReadTokenIds(JsonFields& in, ModelConfig& out) {
  const int64_t last = out.vocab - 1;
  out.bos_token_id = static_cast<int32_t>(in.IntOr("bos_token_id", out.bos_token_id, -1, last));
  out.pad_token_id = static_cast<int32_t>(in.IntOr("pad_token_id", out.pad_token_id, -1, last));
  const nlohmann::json* eos = in.Find("eos_token_id");
  if (eos == nullptr) return;
  if (!eos->is_array()) {
    out.eos_token_ids = {static_cast<int32_t>(in.IntOr("eos_token_id", 0, 0, last))};
    return;
  }
  out.eos_token_ids.clear();
  if (eos->size() > 256) return in.Fail("eos_token_id", "has more than 256 entries");
  for (const nlohmann::json& id : *eos) {
    if (!id.is_number_integer() || id < 0 || id > last) {
      return in.Fail("eos_token_id", absl::StrCat("has an entry that is no token id from 0 to ", last));
    }
    out.eos_token_ids.push_back(id.get<int32_t>());
  }
}

absl::StatusOr<ModelConfig> ReadConfig(const nlohmann::json& json) {
  JsonFields in(json, "config.json");
  ModelConfig out;
  out.model_type = in.String("model_type");
  SLUICE_RETURN_IF_ERROR(in.status());
  const Family* family = FindFamily(in, out.model_type);
  SLUICE_RETURN_IF_ERROR(in.status());
  out.attention = family->attention;
  RefuseForeignFields(in, *family);
  ReadSizes(in, out);
  if (out.attention == AttentionKind::kLatent) {
    ReadLatentAttention(in, *family, json, out);
  } else {
    ReadGroupedAttention(in, *family, json, out);
  }
  RefuseWindows(in, *family, out);
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_ASSIGN_OR_RETURN(out.rope, ReadRopeConfig(in, out.max_positions));
  out.moe_layer.assign(static_cast<size_t>(out.layers), false);
  if (out.attention == AttentionKind::kLatent)
    ReadMoeConfig(in, family->moe, out.layers, out.moe, out.moe_layer);
  ReadDType(in, out);
  ReadTokenIds(in, out);
  SLUICE_RETURN_IF_ERROR(in.status());
  return out;
}

}  // namespace

double ModelConfig::SoftmaxScale() const {
  const double scale = 1.0 / std::sqrt(static_cast<double>(qk_nope_dim + qk_rope_dim));
  return attention == AttentionKind::kLatent ? scale * rope.LatentSoftmaxFactor() : scale;
}

std::vector<float> ModelConfig::RopeInverseFrequencies() const {
  return rope.InverseFrequencies(qk_rope_dim);
}

float ModelConfig::RopeAmplitude() const { return rope.Amplitude(); }

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view config_json,
                                             absl::string_view generation_config_json) {
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(config_json, "config.json"));
  SLUICE_ASSIGN_OR_RETURN(ModelConfig out, ReadConfig(json));
  if (generation_config_json.empty()) return out;
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json more,
                          ParseJson(generation_config_json, "generation_config.json"));
  JsonFields generation(more, "generation_config.json");
  ReadTokenIds(generation, out);
  SLUICE_RETURN_IF_ERROR(generation.status());
  return out;
}

}  // namespace sluice
