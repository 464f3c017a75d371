#include "core/spec/model_config.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/json.h"

namespace sluice {
namespace {

constexpr int64_t kMaxVocab = 4 << 20, kMaxHidden = 1 << 17, kMaxLayers = 1024, kMaxHeads = 4096,
                  kMaxIntermediate = 1 << 20, kMaxPositions = 1 << 28, kMaxRank = 1 << 16, kMaxHeadDim = 4096,
                  kMaxExperts = 4096;

bool IsDeepSeekV2(const ModelConfig& config) { return config.model_type == "deepseek_v2"; }

void ReadSizes(JsonFields& in, ModelConfig& out) {
  out.vocab = in.Int("vocab_size", 1, kMaxVocab);
  out.hidden = in.Int("hidden_size", 1, kMaxHidden);
  out.layers = in.Int("num_hidden_layers", 1, kMaxLayers);
  out.heads = in.Int("num_attention_heads", 1, kMaxHeads);
  out.intermediate = in.Int("intermediate_size", 1, kMaxIntermediate);
  out.max_positions = in.Int("max_position_embeddings", 1, kMaxPositions);
  out.norm_epsilon = in.NumberOr("rms_norm_eps", 1e-6, 0, 1);
  const std::string activation = in.StringOr("hidden_act", "silu");
  if (activation != "silu")
    in.Fail("hidden_act", absl::StrCat("is \"", activation, "\"; only \"silu\" is supported"));
  if (in.Has("quantization_config")) {
    in.Fail("quantization_config",
            "is set: quantized checkpoints are not supported; convert the model to bfloat16");
  }
  out.tied_embeddings = in.BoolOr("tie_word_embeddings", false);
}

void ReadAttention(JsonFields& in, const nlohmann::json& json, ModelConfig& out) {
  out.kv_lora_rank = in.Int("kv_lora_rank", 1, kMaxRank);
  if (!json.contains("q_lora_rank")) in.Fail("q_lora_rank", "is missing (null: no query compression)");
  out.q_lora_rank = in.IntOr("q_lora_rank", 0, 1, kMaxRank);
  out.qk_nope_dim = in.Int("qk_nope_head_dim", 1, kMaxHeadDim);
  out.qk_rope_dim = in.Int("qk_rope_head_dim", 2, kMaxHeadDim);
  if (out.qk_rope_dim % 2 != 0) in.Fail("qk_rope_head_dim", "is odd");
  out.v_dim = in.Int("v_head_dim", 1, kMaxHeadDim);
  out.qkv_bias = out.o_bias = in.BoolOr("attention_bias", false);
  const bool interleaved = in.BoolOr("rope_interleave", true);
  out.rope_interleaved = IsDeepSeekV2(out) || interleaved;
}

// transformers 5: rope_parameters with theta inside. Hub: rope_scaling and rope_theta.
absl::Status ReadRope(JsonFields& top, ModelConfig& config) {
  RopeConfig& out = config.rope;
  const bool v5 = top.Has("rope_parameters");
  const char* where = v5 ? "rope_parameters" : "rope_scaling";
  const nlohmann::json empty = nlohmann::json::object();
  const nlohmann::json* object = top.Find(where);
  JsonFields in(object != nullptr ? *object : empty, absl::StrCat("config.json: ", where));
  const double theta = top.NumberOr("rope_theta", 10000, 1.001, 1e12);
  out.theta = in.NumberOr("rope_theta", theta, 1.001, 1e12);
  const char* type_field = in.Has("rope_type") ? "rope_type" : "type";
  const std::string type = in.StringOr(type_field, "default");
  if (type == "default") return in.status();
  out.factor = in.Number("factor", 1e-3, 1e6);
  out.mscale_all_dim = in.NumberOr("mscale_all_dim", 0, 0, 100);
  if (type == "linear") {
    out.kind = RopeKind::kLinear;
    return in.status();
  }
  if (type != "yarn") {
    in.Fail(type_field,
            absl::StrCat("is \"", type.substr(0, 64), "\"; supported are default, linear and yarn"));
    return in.status();
  }
  out.kind = RopeKind::kYarn;
  out.original_max_positions = in.Int("original_max_position_embeddings", 1, kMaxPositions);
  out.beta_fast = in.NumberOr("beta_fast", 32, 0, 1e6);
  out.beta_slow = in.NumberOr("beta_slow", 1, 0, 1e6);
  if (out.beta_fast == 0) out.beta_fast = 32;
  if (out.beta_slow == 0) out.beta_slow = 1;
  out.mscale = in.NumberOr("mscale", 0, 0, 100);
  out.attention_factor = in.NumberOr("attention_factor", 0, 1e-6, 1e6);
  out.truncate = in.BoolOr("truncate", true);
  return in.status();
}

void ReadRouter(JsonFields& in, ModelConfig& config) {
  MoeConfig& out = config.moe;
  const bool v2 = IsDeepSeekV2(config);
  const std::string method = in.StringOr("topk_method", v2 ? "greedy" : "noaux_tc");
  const bool known = v2 ? method == "greedy" || method == "group_limited_greedy" : method == "noaux_tc";
  if (!known) {
    in.Fail("topk_method", absl::StrCat("is \"", method.substr(0, 64), "\"; ", config.model_type,
                                        " supports ", v2 ? "greedy and group_limited_greedy" : "noaux_tc"));
  }
  const char* score = v2 ? "softmax" : "sigmoid";
  if (in.StringOr("scoring_func", score) != score) {
    in.Fail("scoring_func", absl::StrCat("must be \"", score, "\" for ", config.model_type));
  }
  out.score = v2 ? RouterScore::kSoftmax : RouterScore::kSigmoid;
  out.correction_bias = !v2;
  const bool normalize = in.BoolOr("norm_topk_prob", true);
  out.normalize_weights = !v2 && normalize;  // transformers' deepseek_v2 does not normalise
  out.scaling =
      v2 ? in.NumberOr("routed_scaling_factor", 1, 1e-6, 1e6) : in.Number("routed_scaling_factor", 1e-6, 1e6);
  const int64_t groups = in.IntOr("n_group", 1, 1, out.experts);
  const int64_t kept = in.IntOr("topk_group", 1, 1, groups);
  if (method == "greedy" || groups == 1) return;
  out.groups = static_cast<int32_t>(groups);
  out.groups_kept = static_cast<int32_t>(kept);
  out.group_score = v2 ? RouterGroupScore::kMax : RouterGroupScore::kTopTwoSum;
  if (out.experts % out.groups != 0) in.Fail("n_group", "does not divide n_routed_experts");
  const int32_t per_group = out.experts / out.groups;
  if (!v2 && per_group < 2) in.Fail("n_group", "leaves fewer than two experts in a group");
  if (out.experts_per_token > per_group * out.groups_kept) {
    in.Fail("num_experts_per_tok", "is more than the experts of topk_group groups");
  }
}

// Which layers are mixtures: mlp_layer_types when given, else those from first_k_dense_replace on.
// moe_layer_freq is not looked at, as in transformers (all released models say 1).
void ReadMoeLayers(JsonFields& in, ModelConfig& out) {
  out.moe_layer.assign(static_cast<size_t>(out.layers), false);
  if (out.moe.experts == 0) return;
  const nlohmann::json* types = in.Find("mlp_layer_types");
  if (types == nullptr) {
    const int64_t first = in.IntOr("first_k_dense_replace", 0, 0, 1 << 20);
    for (int64_t i = first; i < out.layers; ++i) out.moe_layer[static_cast<size_t>(i)] = true;
    return;
  }
  if (!types->is_array() || types->size() != out.moe_layer.size()) {
    in.Fail("mlp_layer_types", absl::StrCat("is not a list of num_hidden_layers = ", out.layers, " entries"));
    return;
  }
  for (size_t i = 0; i < types->size(); ++i) {
    if ((*types)[i] != "dense" && (*types)[i] != "sparse")
      in.Fail("mlp_layer_types", "has an entry besides dense, sparse");
    out.moe_layer[i] = (*types)[i] == "sparse";
  }
}

void ReadMoe(JsonFields& in, ModelConfig& config) {
  config.moe.experts = static_cast<int32_t>(in.IntOr("n_routed_experts", 0, 0, kMaxExperts));
  ReadMoeLayers(in, config);
  bool any = false;
  for (bool moe : config.moe_layer) any = any || moe;
  if (!any) {  // a dense model, whatever its other fields say
    config.moe = MoeConfig();
    return;
  }
  MoeConfig& out = config.moe;
  out.experts_per_token = static_cast<int32_t>(in.Int("num_experts_per_tok", 1, out.experts));
  out.shared_experts = static_cast<int32_t>(in.IntOr("n_shared_experts", 0, 0, 64));
  out.intermediate = in.Int("moe_intermediate_size", 1, kMaxIntermediate);
  ReadRouter(in, config);
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

double Mscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

}  // namespace

double ModelConfig::SoftmaxScale() const {
  double scale = 1.0 / std::sqrt(static_cast<double>(qk_nope_dim + qk_rope_dim));
  if (rope.kind != RopeKind::kDefault && rope.mscale_all_dim != 0) {
    const double m = Mscale(rope.factor, rope.mscale_all_dim);
    scale *= m * m;
  }
  return scale;
}

// YaRN (arXiv 2309.00071, section 3.2): low frequencies are interpolated by `factor`, high ones kept, a ramp
// between.
std::vector<float> ModelConfig::RopeInverseFrequencies() const {
  const int64_t half = qk_rope_dim / 2;
  const double dim = static_cast<double>(qk_rope_dim);
  double low = 0, high = 0;
  if (rope.kind == RopeKind::kYarn) {
    const auto dimension_of = [&](double rotations) {
      const double positions = static_cast<double>(rope.original_max_positions);
      return dim * std::log(positions / (rotations * 2 * M_PI)) / (2 * std::log(rope.theta));
    };
    low = dimension_of(rope.beta_fast);
    high = dimension_of(rope.beta_slow);
    if (rope.truncate) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, dim - 1);
    if (low == high) high += 0.001;
  }
  std::vector<float> out(static_cast<size_t>(half));
  for (int64_t i = 0; i < half; ++i) {
    const double extra = 1.0 / std::pow(rope.theta, 2.0 * static_cast<double>(i) / dim);
    double frequency = extra;
    if (rope.kind == RopeKind::kLinear) frequency = extra / rope.factor;
    if (rope.kind == RopeKind::kYarn) {
      const double ramp = std::min(1.0, std::max(0.0, (static_cast<double>(i) - low) / (high - low)));
      frequency = extra / rope.factor * ramp + extra * (1 - ramp);
    }
    out[static_cast<size_t>(i)] = static_cast<float>(frequency);
  }
  return out;
}

float ModelConfig::RopeAmplitude() const {
  if (rope.kind != RopeKind::kYarn) return 1.0f;
  if (rope.attention_factor != 0) return static_cast<float>(rope.attention_factor);
  if (rope.mscale != 0 && rope.mscale_all_dim != 0) {
    return static_cast<float>(Mscale(rope.factor, rope.mscale) / Mscale(rope.factor, rope.mscale_all_dim));
  }
  return static_cast<float>(Mscale(rope.factor, 1));
}

absl::StatusOr<ModelConfig> ParseModelConfig(absl::string_view config_json,
                                             absl::string_view generation_config_json) {
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(config_json, "config.json"));
  JsonFields in(json, "config.json");
  ModelConfig out;
  out.model_type = in.String("model_type");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (out.model_type != "deepseek_v2" && out.model_type != "deepseek_v3" && out.model_type != "kimi_k2") {
    in.Fail("model_type", absl::StrCat("is \"", out.model_type.substr(0, 64),
                                       "\"; supported are deepseek_v2, deepseek_v3 and kimi_k2"));
    return in.status();
  }
  ReadSizes(in, out);
  ReadAttention(in, json, out);
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_RETURN_IF_ERROR(ReadRope(in, out));
  ReadMoe(in, out);
  ReadDType(in, out);
  ReadTokenIds(in, out);
  SLUICE_RETURN_IF_ERROR(in.status());
  if (!generation_config_json.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json2,
                            ParseJson(generation_config_json, "generation_config.json"));
    JsonFields generation(json2, "generation_config.json");
    ReadTokenIds(generation, out);
    SLUICE_RETURN_IF_ERROR(generation.status());
  }
  return out;
}

}  // namespace sluice
