#include "core/spec/model_config.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/spec/tensor.h"
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
  const BadField bad[] = {{"model_type", "llama"},
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
  json["quantization_config"] = {{"quant_method", "fp8"}};
  EXPECT_THAT(ErrorOf(json), HasSubstr("quantization_config"));
  json = TinyConfig();
  json.erase("q_lora_rank");
  EXPECT_THAT(ErrorOf(json), HasSubstr("q_lora_rank"));
  json = TinyConfig();
  json["rope_scaling"] = {{"type", "longrope"}, {"factor", 2}};
  EXPECT_THAT(ErrorOf(json), HasSubstr("longrope"));
}

TEST(ModelConfig, RefusesWhatIsNoJson) {
  EXPECT_FALSE(ParseModelConfig("").ok());
  EXPECT_FALSE(ParseModelConfig("[]").ok());
  EXPECT_FALSE(ParseModelConfig("{\"a\": 1").ok());
  EXPECT_THAT(ParseModelConfig("{\"a\": 1, \"a\": 2}").status().message(), HasSubstr("twice"));
  EXPECT_THAT(ParseModelConfig(std::string(1'000'000, '[')).status().message(), HasSubstr("deeper"));
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
