#include "core/spec/config/model_config.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/spec/tensors/tensor.h"
#include "core/spec/tiny_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const nlohmann::json& config) {
  return std::string(ParseModelConfig(config.dump()).status().message());
}

TEST(ModelConfig, ReadsMixtureOfExperts) {
  const ModelConfig config = *ParseModelConfig(TinyConfig().dump());
  EXPECT_EQ(config.q_lora_rank, 6);
  EXPECT_DOUBLE_EQ(config.norm_epsilon, 1e-5);
  EXPECT_DOUBLE_EQ(config.latent_norm_epsilon, 1e-6);
  EXPECT_TRUE(config.rope_interleaved);
  EXPECT_THAT(config.moe_layer, ElementsAre(false, true));
  EXPECT_EQ(config.moe.group_score, RouterGroupScore::kTopTwoSum);
  EXPECT_EQ(config.moe.score, RouterScore::kSigmoid);
  EXPECT_TRUE(config.moe.correction_bias && config.moe.normalize_weights);
  EXPECT_THAT(config.eos_token_ids, ElementsAre(1, 2));
}

TEST(ModelConfig, ReadsDeepSeekV2AsTransformersDoes) {
  nlohmann::json json = TinyConfig();
  json["model_type"] = "deepseek_v2";
  json["scoring_func"] = "softmax";
  json["topk_method"] = "group_limited_greedy";
  json["rope_interleave"] = false;
  json["moe_layer_freq"] = 2;
  const ModelConfig config = *ParseModelConfig(json.dump());
  EXPECT_TRUE(config.rope_interleaved);
  EXPECT_FALSE(config.moe.normalize_weights);
  EXPECT_FALSE(config.moe.correction_bias);
  EXPECT_EQ(config.moe.group_score, RouterGroupScore::kMax);
  EXPECT_THAT(config.moe_layer, ElementsAre(false, true));
  json["topk_method"] = "greedy";
  EXPECT_EQ(ParseModelConfig(json.dump())->moe.group_score, RouterGroupScore::kNone);
}

TEST(ModelConfig, IsDenseWhenNoLayerIsReplaced) {
  nlohmann::json json = TinyConfig();
  json["first_k_dense_replace"] = 2;
  const ModelConfig config = *ParseModelConfig(json.dump());
  EXPECT_EQ(config.moe.experts, 0);
  EXPECT_THAT(config.moe_layer, ElementsAre(false, false));
}

TEST(ModelConfig, ReadsBothStylesOfRope) {
  const nlohmann::json yarn = {{"type", "yarn"},
                               {"factor", 40},
                               {"original_max_position_embeddings", 64},
                               {"mscale", 0.707},
                               {"mscale_all_dim", 0.707}};
  nlohmann::json hub = TinyConfig(), v5 = TinyConfig();
  hub["rope_theta"] = 50000;
  hub["rope_scaling"] = yarn;
  v5.erase("rope_theta");
  v5.erase("rope_scaling");
  v5["rope_parameters"] = yarn;
  v5["rope_parameters"].erase("type");
  v5["rope_parameters"]["rope_type"] = "yarn";
  v5["rope_parameters"]["rope_theta"] = 50000.0;
  const ModelConfig a = *ParseModelConfig(hub.dump()), b = *ParseModelConfig(v5.dump());
  EXPECT_EQ(a.RopeInverseFrequencies(), b.RopeInverseFrequencies());
  const double m = 0.1 * 0.707 * std::log(40.0) + 1;
  EXPECT_NEAR(a.SoftmaxScale(), std::pow(8.0, -0.5) * m * m, 1e-12);
  EXPECT_DOUBLE_EQ(a.SoftmaxScale(), b.SoftmaxScale());
  EXPECT_FLOAT_EQ(a.RopeAmplitude(), 1.0f);
}

TEST(ModelConfig, GenerationConfigOverridesEndOfSequence) {
  const std::string config = TinyConfig().dump();
  EXPECT_THAT(ParseModelConfig(config, R"({"eos_token_id": 7})")->eos_token_ids, ElementsAre(7));
  EXPECT_THAT(ParseModelConfig(config, R"({"eos_token_id": [7, 8]})")->eos_token_ids, ElementsAre(7, 8));
  EXPECT_THAT(ParseModelConfig(config, R"({"eos_token_id": 40})").status().message(),
              HasSubstr("generation_config.json: field \"eos_token_id\""));
}

struct BadField {
  const char* field;
  nlohmann::json value;
};

TEST(ModelConfig, NamesTheFieldWhenItRefuses) {
  const BadField bad[] = {{"model_type", "mamba"},
                          {"model_type", nullptr},
                          {"vocab_size", 0},
                          {"vocab_size", 1e18},
                          {"vocab_size", "many"},
                          {"num_hidden_layers", 1025},
                          {"hidden_size", -8},
                          {"hidden_size", nullptr},
                          {"qk_rope_head_dim", 3},
                          {"hidden_act", "gelu"},
                          {"topk_method", "greedy"},
                          {"scoring_func", "softmax"},
                          {"n_group", 3},
                          {"n_group", 4},
                          {"num_experts_per_tok", 3},
                          {"num_experts_per_tok", 99},
                          {"routed_scaling_factor", 0},
                          {"torch_dtype", "int8"},
                          {"bos_token_id", 40},
                          {"eos_token_id", {1, "x"}},
                          {"rms_norm_eps", "small"},
                          {"mlp_layer_types", {"dense"}}};
  for (const BadField& row : bad) {
    nlohmann::json json = TinyConfig();
    json[row.field] = row.value;
    EXPECT_THAT(ErrorOf(json), HasSubstr(row.field)) << row.value;
  }
  nlohmann::json json = TinyConfig();
  json.erase("q_lora_rank");
  EXPECT_THAT(ErrorOf(json), HasSubstr("q_lora_rank"));
  json = TinyConfig();
  json["rope_scaling"] = {{"type", "longrope"}, {"factor", 2}};
  EXPECT_THAT(ErrorOf(json), HasSubstr("longrope"));
}

TEST(ModelConfig, ReadsGroupedAttention) {
  const ModelConfig llama = *ParseModelConfig(TinyGroupedConfig("llama").dump());
  EXPECT_EQ(llama.attention, AttentionKind::kGrouped);
  EXPECT_EQ(llama.kv_heads, 2);
  EXPECT_EQ(llama.qk_nope_dim, 0);
  EXPECT_EQ(llama.qk_rope_dim, 4);
  EXPECT_EQ(llama.v_dim, 4);
  EXPECT_FALSE(llama.rope_interleaved || llama.qk_norm || llama.qkv_bias || llama.o_bias);
  EXPECT_THAT(llama.moe_layer, ElementsAre(false, false));
  const ModelConfig qwen2 = *ParseModelConfig(TinyGroupedConfig("qwen2").dump());
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.o_bias || qwen2.qk_norm);
  nlohmann::json json = TinyGroupedConfig("qwen3");
  EXPECT_EQ(ParseModelConfig(json.dump())->qk_rope_dim, 128);  // the class's own default
  json["head_dim"] = 6;
  json["attention_bias"] = true;
  const ModelConfig qwen3 = *ParseModelConfig(json.dump());
  EXPECT_EQ(qwen3.qk_rope_dim, 6);
  EXPECT_TRUE(qwen3.qk_norm && qwen3.qkv_bias && qwen3.o_bias);
  EXPECT_DOUBLE_EQ(qwen3.SoftmaxScale(), 1 / std::sqrt(6.0));
}

TEST(ModelConfig, CountsKeyHeadsFromNoneToAll) {
  nlohmann::json json = TinyGroupedConfig("llama");
  json.erase("num_key_value_heads");
  EXPECT_EQ(ParseModelConfig(json.dump())->kv_heads, 4);
  json["num_key_value_heads"] = nullptr;
  EXPECT_EQ(ParseModelConfig(json.dump())->kv_heads, 4);
  json["num_key_value_heads"] = 1;
  EXPECT_EQ(ParseModelConfig(json.dump())->kv_heads, 1);
  json["model_type"] = "qwen2";
  json.erase("num_key_value_heads");
  EXPECT_THAT(ErrorOf(json), HasSubstr("num_key_value_heads"));
}

TEST(ModelConfig, StretchesTheRotationOfGroupedAttention) {
  nlohmann::json json = TinyGroupedConfig("qwen2");
  json["rope_scaling"] = {
      {"type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 16}, {"mscale_all_dim", 1.0}};
  const ModelConfig yarn = *ParseModelConfig(json.dump());
  EXPECT_FLOAT_EQ(yarn.RopeAmplitude(), static_cast<float>(0.1 * std::log(4.0) + 1));
  EXPECT_DOUBLE_EQ(yarn.SoftmaxScale(), 0.5);  // mscale_all_dim belongs to latent attention
  json["rope_scaling"].erase("factor");        // then from the contexts: 64 / 16
  EXPECT_EQ(ParseModelConfig(json.dump())->RopeInverseFrequencies(), yarn.RopeInverseFrequencies());
  json["model_type"] = "llama";
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 8},
                          {"low_freq_factor", 1},
                          {"high_freq_factor", 4},
                          {"original_max_position_embeddings", 64}};
  const std::vector<float> llama3 = ParseModelConfig(json.dump())->RopeInverseFrequencies();
  EXPECT_FLOAT_EQ(llama3[0], 1.0f);       // 10 rotations in 64 positions: kept
  EXPECT_FLOAT_EQ(llama3[1], 0.01f / 8);  // a tenth of one: stretched
  json["rope_theta"] = 16.0;              // 64 / 4 / (2 pi) = 2.55 rotations: a blend
  const double kept = (64 * 0.25 / (2 * M_PI) - 1) / 3;
  EXPECT_FLOAT_EQ(ParseModelConfig(json.dump())->RopeInverseFrequencies()[1],
                  static_cast<float>(0.25 * (kept + (1 - kept) / 8)));
}

TEST(ModelConfig, ReadsLayersOfGlm) {
  nlohmann::json json = TinyConfig();
  json["model_type"] = "glm4_moe_lite";
  json.erase("first_k_dense_replace");
  json.erase("n_group");
  json.erase("topk_group");
  EXPECT_THAT(ParseModelConfig(json.dump())->moe_layer, ElementsAre(false, true));
  EXPECT_EQ(ParseModelConfig(json.dump())->moe.groups, 1);
  json["mlp_layer_types"] = {"sparse", "dense"};
  EXPECT_THAT(ParseModelConfig(json.dump())->moe_layer, ElementsAre(true, false));
  json["first_k_dense_replace"] = 1;
  EXPECT_THAT(ErrorOf(json), HasSubstr("first_k_dense_replace"));
  json["model_type"] = "kimi_k2";
  json.erase("mlp_layer_types");
  EXPECT_THAT(ErrorOf(json), HasSubstr("n_group"));
}

TEST(ModelConfig, IgnoresWindowsThatNeverEndAContext) {
  nlohmann::json json = TinyGroupedConfig("qwen2");
  json["sliding_window"] = 16;
  json["use_sliding_window"] = false;
  EXPECT_EQ(ErrorOf(json), "");
  json["use_sliding_window"] = true;
  EXPECT_THAT(ErrorOf(json), HasSubstr("sliding_window"));
  json["max_window_layers"] = 2;  // windows from layer 2 on: there is none
  EXPECT_EQ(ErrorOf(json), "");
  json["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_THAT(ErrorOf(json), HasSubstr("sliding_window"));
  json["sliding_window"] = 64;  // as long as the context
  EXPECT_EQ(ErrorOf(json), "");
  json["layer_types"] = {"full_attention", "linear_attention"};
  EXPECT_THAT(ErrorOf(json), HasSubstr("layer_types"));
}

TEST(ModelConfig, RefusesWhatWouldChangeTheResult) {
  const BadField bad[] = {
      {"num_key_value_heads", 3},
      {"num_key_value_heads", 0},
      {"num_key_value_heads", 8},
      {"num_attention_heads", 3},
      {"num_attention_heads", 0},
      {"head_dim", 5},
      {"head_dim", -4},
      {"hidden_act", "gelu"},
      {"mlp_bias", true},
      {"partial_rotary_factor", 0.5},
      {"sliding_window", 32},
      {"final_logit_softcapping", 30.0},
      {"attn_logit_softcapping", 50.0},
      {"attention_multiplier", 0.1},
      {"logits_scaling", 8},
      {"num_local_experts", 8},
      {"kv_lora_rank", 16},
      {"rope_scaling", {{"rope_type", "dynamic"}, {"factor", 2}}},
      {"rope_scaling", {{"rope_type", "linear"}}},
      {"rope_scaling", {{"rope_type", "linear"}, {"factor", "2"}}},
      {"rope_scaling", {{"rope_type", "linear"}, {"factor", 0}}},
      {"rope_scaling", {{"full_attention", {{"rope_type", "default"}}}}},
      {"rope_scaling",
       {{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}},
      {"rope_scaling", "yarn"},
      {"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}}};
  for (const BadField& row : bad) {
    nlohmann::json json = TinyGroupedConfig("llama");
    json[row.field] = row.value;
    EXPECT_THAT(ErrorOf(json), HasSubstr(row.field)) << row.value;
  }
  nlohmann::json json = TinyGroupedConfig("llama");
  json["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2}};
  json["rope_parameters"] = {{"rope_type", "default"}};
  EXPECT_THAT(ErrorOf(json), HasSubstr("both set"));
}

TEST(ModelConfig, IgnoresWhatChangesNothing) {
  nlohmann::json json = TinyGroupedConfig("llama");
  json.update({{"mlp_bias", false},
               {"partial_rotary_factor", 1.0},
               {"final_logit_softcapping", nullptr},
               {"pretraining_tp", 4},
               {"use_cache", false},
               {"attention_dropout", 0.1},
               {"hidden_act", "swish"},
               {"auto_map", {{"AutoModel", "x.Y"}}},
               {"pad_token_id", -1}});
  EXPECT_EQ(ErrorOf(json), "");
}

TEST(ModelConfig, BoundsTheTableOfAbsurdMixtures) {
  nlohmann::json json = TinyConfig();
  json["num_hidden_layers"] = 1024;
  json["n_routed_experts"] = 4096;
  EXPECT_THAT(ErrorOf(json), HasSubstr("n_routed_experts"));
}

TEST(ModelConfig, RefusesWhatIsNoJson) {
  EXPECT_FALSE(ParseModelConfig("").ok());
  EXPECT_FALSE(ParseModelConfig("[]").ok());
  EXPECT_FALSE(ParseModelConfig("{\"a\": 1").ok());
  EXPECT_THAT(ParseModelConfig("{\"a\": 1, \"a\": 2}").status().message(), HasSubstr("twice"));
  EXPECT_THAT(ParseModelConfig(std::string(1'000'000, '[')).status().message(), HasSubstr("deeper"));
  for (const char* number : {"NaN", "Infinity", "-Infinity"}) {
    EXPECT_THAT(ParseModelConfig(std::string("{\"a\": ") + number + "}").status().message(),
                HasSubstr("JSON has no NaN and no Infinity"))
        << number;
  }
}

TEST(TensorTable, HasBiasesAndTiedHeadAsConfigured) {
  nlohmann::json json = TinyConfig();
  const auto names = [&] {
    std::vector<std::string> out;
    for (const TensorShape& shape : TensorTable(*ParseModelConfig(json.dump()))) out.push_back(shape.name);
    return out;
  };
  const std::vector<std::string> plain = names();
  EXPECT_THAT(plain, testing::Contains("model.layers.1.mlp.gate.e_score_correction_bias"));
  EXPECT_THAT(plain, testing::Contains("model.layers.0.mlp.up_proj.weight"));
  EXPECT_EQ(plain.back(), "lm_head.weight");
  json["attention_bias"] = true;
  json["tie_word_embeddings"] = true;
  const std::vector<std::string> other = names();
  EXPECT_EQ(other.size(), plain.size() + 2 * 3 - 1);
  EXPECT_EQ(other.back(), "model.norm.weight");
}

TEST(TensorTable, HasGroupedAttention) {
  const auto shape_of = [](const nlohmann::json& json, const std::string& name) {
    for (const TensorShape& shape : TensorTable(*ParseModelConfig(json.dump()))) {
      if (shape.name == name) return shape.shape;
    }
    return std::vector<int64_t>();
  };
  nlohmann::json json = TinyGroupedConfig("qwen3");
  json["head_dim"] = 6;
  const std::string attention = "model.layers.1.self_attn.";
  EXPECT_THAT(shape_of(json, attention + "q_proj.weight"), ElementsAre(24, 16));
  EXPECT_THAT(shape_of(json, attention + "k_proj.weight"), ElementsAre(12, 16));
  EXPECT_THAT(shape_of(json, attention + "v_proj.weight"), ElementsAre(12, 16));
  EXPECT_THAT(shape_of(json, attention + "o_proj.weight"), ElementsAre(16, 24));
  EXPECT_THAT(shape_of(json, attention + "k_norm.weight"), ElementsAre(6));
  EXPECT_THAT(shape_of(json, attention + "k_proj.bias"), ElementsAre());
  json["model_type"] = "qwen2";
  EXPECT_THAT(shape_of(json, attention + "k_proj.bias"), ElementsAre(12));
  EXPECT_THAT(shape_of(json, attention + "o_proj.bias"), ElementsAre());
  EXPECT_THAT(shape_of(json, attention + "k_norm.weight"), ElementsAre());
  EXPECT_THAT(shape_of(json, "model.layers.1.mlp.down_proj.weight"), ElementsAre(16, 12));
}

TEST(Bf16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(FloatFromBf16(Bf16FromFloat(1.0f)), 1.0f);
  EXPECT_EQ(Bf16FromFloat(1.0f + 0x1p-8f), Bf16FromFloat(1.0f));  // a tie, to the even one below
  EXPECT_EQ(FloatFromBf16(Bf16FromFloat(1.0f + 3 * 0x1p-8f)),
            1.0f + 0x1p-6f);  // a tie, to the even one above
  EXPECT_TRUE(std::isnan(FloatFromBf16(Bf16FromFloat(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(FloatFromBf16(Bf16FromFloat(std::numeric_limits<float>::max()))));
}

TEST(ToFloats, ReadsHalfPrecision) {
  const uint16_t halves[] = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x3555};
  HostTensor tensor{
      DType::kF16, {5}, std::make_shared<std::string>(reinterpret_cast<const char*>(halves), 10)};
  const std::vector<float> values = ToFloats(tensor);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -2.0f);
  EXPECT_EQ(values[2], 0x1p-24f);
  EXPECT_TRUE(std::isinf(values[3]));
  EXPECT_NEAR(values[4], 1.0f / 3, 1e-4);
}

}  // namespace
}  // namespace sluice
