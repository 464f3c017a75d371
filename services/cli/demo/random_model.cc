#include "services/cli/demo/random_model.h"

#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kBegin[] = "<s>", kEnd[] = "</s>", kPad[] = "<pad>";
constexpr char kCharacters[] = "0123456789+-*/()=: ";
constexpr int kBeginId = 0, kEndId = 1, kPadId = 2, kSpecials = 3;

// Byte-level BPE writes the space as U+0120.
std::string TokenOf(char c) { return c == ' ' ? "\u0120" : std::string(1, c); }

Json VocabularyJson() {
  Json vocabulary = {{kBegin, kBeginId}, {kEnd, kEndId}, {kPad, kPadId}};
  int id = kSpecials;
  for (const char* c = kCharacters; *c != '\0'; ++c) vocabulary[TokenOf(*c)] = id++;
  return vocabulary;
}

std::string TokenizerJson() {
  Json added = Json::array();
  int id = 0;
  for (const char* token : {kBegin, kEnd, kPad}) {
    added.push_back({{"id", id++},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", VocabularyJson()},
                      {"merges", Json::array()}};
  const Json root = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"padding", nullptr},
                     {"added_tokens", added},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", byte_level},
                     {"post_processor", byte_level},
                     {"decoder", byte_level},
                     {"model", model}};
  return root.dump(1) + "\n";
}

std::string TokenizerConfigJson(const DemoModel& model) {
  const Json root = {{"bos_token", kBegin},
                     {"eos_token", kEnd},
                     {"pad_token", kPad},
                     {"clean_up_tokenization_spaces", false},
                     {"model_max_length", model.max_positions},
                     {"tokenizer_class", "PreTrainedTokenizerFast"},
                     {"chat_template", "{% for m in messages %}{{ m['content'] }}{% endfor %}"}};
  return root.dump(1) + "\n";
}

std::string ConfigJson(const DemoModel& m) {
  const Json root = {{"model_type", "deepseek_v3"},
                     {"architectures", {"DeepseekV3ForCausalLM"}},
                     {"hidden_act", "silu"},
                     {"attention_bias", false},
                     {"attention_dropout", 0.0},
                     {"vocab_size", VocabularyJson().size()},
                     {"hidden_size", m.hidden},
                     {"num_hidden_layers", m.layers},
                     {"num_attention_heads", m.heads},
                     {"num_key_value_heads", m.heads},
                     {"intermediate_size", m.intermediate},
                     {"rms_norm_eps", 1e-6},
                     {"rope_theta", 10000.0},
                     {"rope_scaling", nullptr},
                     {"max_position_embeddings", m.max_positions},
                     {"tie_word_embeddings", false},
                     {"use_cache", true},
                     {"initializer_range", 0.02},
                     {"q_lora_rank", nullptr},
                     {"kv_lora_rank", m.kv_lora_rank},
                     {"qk_nope_head_dim", m.qk_nope_dim},
                     {"qk_rope_head_dim", m.qk_rope_dim},
                     {"v_head_dim", m.v_dim},
                     {"topk_method", "noaux_tc"},
                     {"scoring_func", "sigmoid"},
                     {"norm_topk_prob", true},
                     {"moe_layer_freq", 1},
                     {"first_k_dense_replace", m.dense_layers},
                     {"n_routed_experts", m.experts},
                     {"n_shared_experts", m.shared_experts},
                     {"moe_intermediate_size", m.expert_intermediate},
                     {"num_experts_per_tok", m.experts_per_token},
                     {"n_group", 1},
                     {"topk_group", 1},
                     {"routed_scaling_factor", 1.0},
                     {"ep_size", 1},
                     {"num_nextn_predict_layers", 0},
                     {"bos_token_id", kBeginId},
                     {"eos_token_id", kEndId},
                     {"pad_token_id", kPadId},
                     {"torch_dtype", "float32"}};
  return root.dump(1) + "\n";
}

std::string GenerationConfigJson() {
  const Json root = {{"bos_token_id", kBeginId}, {"eos_token_id", kEndId}, {"pad_token_id", kPadId}};
  return root.dump(1) + "\n";
}

double UniformFrom(uint32_t bits) { return (bits + 0.5) * 0x1.0p-32; }

// Four normal numbers of a stream.
void NormalsAt(uint64_t key, uint32_t counter, double out[4]) {
  const auto bits =
      Philox4x32({counter, 0, 0, 0x4E0Du}, {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
  for (int pair = 0; pair < 2; ++pair) {
    const double radius = std::sqrt(-2 * std::log(UniformFrom(bits[2 * pair])));
    const double angle = 2 * M_PI * UniformFrom(bits[2 * pair + 1]);
    out[2 * pair] = radius * std::cos(angle);
    out[2 * pair + 1] = radius * std::sin(angle);
  }
}

std::vector<float> NormalValues(uint64_t key, int64_t count, double std) {
  std::vector<float> values(static_cast<size_t>(count));
  double four[4];
  for (int64_t i = 0; i < count; ++i) {
    if (i % 4 == 0) NormalsAt(key, static_cast<uint32_t>(i / 4), four);
    values[static_cast<size_t>(i)] = static_cast<float>(std * four[i % 4]);
  }
  return values;
}

std::vector<float> ValuesOf(const TensorShape& tensor, const DemoModel& model, uint64_t key) {
  int64_t count = 1;
  for (const int64_t d : tensor.shape) count *= d;
  if (absl::EndsWith(tensor.name, "bias")) return std::vector<float>(static_cast<size_t>(count), 0.0f);
  if (tensor.shape.size() == 1) return std::vector<float>(static_cast<size_t>(count), 1.0f);  // a norm
  const bool embedding =
      absl::StrContains(tensor.name, "embed_tokens") || absl::StrContains(tensor.name, "lm_head");
  const double std =
      embedding ? model.embedding_std : 1 / std::sqrt(static_cast<double>(tensor.shape.back()));
  return NormalValues(key, count, std);
}

}  // namespace

ModelFiles DemoModelFiles(const DemoModel& model) {
  return {{"config.json", ConfigJson(model)},
          {"generation_config.json", GenerationConfigJson()},
          {"tokenizer.json", TokenizerJson()},
          {"tokenizer_config.json", TokenizerConfigJson(model)}};
}

absl::StatusOr<TensorMap> RandomTensors(const DemoModel& model, uint64_t seed) {
  SLUICE_ASSIGN_OR_RETURN(const ModelConfig config,
                          ParseModelConfig(ConfigJson(model), GenerationConfigJson()));
  TensorMap out;
  uint64_t ordinal = 0;
  for (const TensorShape& tensor : TensorTable(config)) {
    const uint64_t key = BitsAt(seed, RandomDomain::kWarmStart, ordinal++);
    const std::vector<float> values = ValuesOf(tensor, model, key);
    out[tensor.name] = TensorFromFloats(tensor.shape, values.data(), DType::kF32);
  }
  return out;
}

absl::Status WriteDemoModel(const DemoModel& model, uint64_t seed, const std::string& directory) {
  SLUICE_ASSIGN_OR_RETURN(const TensorMap tensors, RandomTensors(model, seed));
  return Annotate(WriteModelDirectory(directory, DemoModelFiles(model), tensors, DType::kF32),
                  "making the model");
}

}  // namespace sluice::cli
