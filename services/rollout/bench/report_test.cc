#include "services/rollout/bench/report.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMixture[] = R"({"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"],
  "hidden_act": "silu", "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2,
  "num_key_value_heads": 2, "intermediate_size": 48, "rms_norm_eps": 1e-06, "rope_theta": 10000.0,
  "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8,
  "topk_method": "noaux_tc", "scoring_func": "sigmoid", "norm_topk_prob": true, "first_k_dense_replace": 1,
  "n_routed_experts": 8, "n_shared_experts": 1, "moe_intermediate_size": 16, "num_experts_per_tok": 2,
  "n_group": 2, "topk_group": 1, "routed_scaling_factor": 2.0, "tie_word_embeddings": false,
  "attention_bias": false, "torch_dtype": "bfloat16", "vocab_size": 264, "max_position_embeddings": 512,
  "eos_token_id": 256})";

TEST(ModelCost, CountsWhatATokenMeets) {
  const auto config = ParseModelConfig(kMixture);
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelCost cost = CostOf(*config);
  // By hand, a layer's attention: q_a 24x32, q_b 2x16x24, kv_a 24x32, kv_b 2x16x16, o 32x16.
  const int64_t attention = 24 * 32 + 32 * 24 + 24 * 32 + 32 * 16 + 32 * 16;
  const int64_t expert = 3 * 16 * 32;
  EXPECT_EQ(cost.layers, 3 * attention + 3 * 48 * 32 + 2 * (expert + 8 * 32));  // one dense, two with shared
  EXPECT_EQ(cost.experts, 2 * 8 * expert);
  EXPECT_EQ(cost.experts_share, 0.25);
  EXPECT_EQ(cost.head, 264 * 32);
  EXPECT_EQ(cost.ActiveParameters(), static_cast<double>(cost.layers + cost.head + 2 * 2 * expert));
  EXPECT_GT(cost.parameters, cost.layers + cost.experts + 2 * cost.head);
}

TEST(ModelCost, ReadsAnExpertOnceForTheWholeBatch) {
  ModelCost cost;
  cost.layers = 100;
  cost.head = 20;
  cost.experts = 1000;
  cost.experts_share = 0.25;
  EXPECT_DOUBLE_EQ(cost.StepBytes(1, 2), 2 * (120 + 250));
  EXPECT_DOUBLE_EQ(cost.StepBytes(2, 2), 2 * (120 + 1000 * (1 - 0.75 * 0.75)));
  EXPECT_NEAR(cost.StepBytes(1000, 2), 2 * 1120, 1e-6);
  EXPECT_DOUBLE_EQ(cost.PrefillOperations(3, 10), 2 * 3 * (350 * 10 + 20));
}

BenchSetting SomeSetting() {
  BenchSetting setting;
  setting.model = "m";
  setting.dtype = "bf16";
  setting.kernel_path = "cpu-avx2";
  setting.prompt_tokens = 10;
  setting.new_tokens = 5;
  setting.cost.parameters = 1 << 20;
  setting.cost.layers = 1000;
  setting.machine = {2e6, 4e5};
  return setting;
}

BenchRow SomeRow() {
  BenchRow row;
  row.requests = 4;
  row.prefill = {500, 400, 600};
  row.decode = {200, 190, 210};
  row.decode_runs = 2;
  row.decode_seconds = {1.25, 1, 1.5};
  row.decode_share = {0.9, 0.4, 0.95};
  row.prompt_tokens_computed = 40;
  row.anonymous_bytes = 5 << 20;
  row.cache_bytes = 1 << 10;
  return row;
}

TEST(Report, HasTheSharesOfTheMachine) {
  EXPECT_DOUBLE_EQ(MatrixShare(SomeSetting(), SomeRow()), 2 * 1000 * 500 / 2e6);
  EXPECT_DOUBLE_EQ(ReadShare(SomeSetting(), SomeRow()), 50 * (2000 + 1024) / 4e5);
  EXPECT_EQ(BytesBeyond(SomeSetting(), SomeRow()), (3 << 20) - 1024);
  BenchSetting unmeasured = SomeSetting();
  unmeasured.machine = {};
  EXPECT_EQ(MatrixShare(unmeasured, SomeRow()), 0);
  EXPECT_EQ(ReadShare(unmeasured, SomeRow()), 0);
}

TEST(Report, ShowsTheSpreadAndHowManyRunsMeasuredTheDecodeRate) {
  EXPECT_THAT(
      ReportTable(SomeSetting(), {SomeRow()}),
      HasSubstr("400 to 600         190 to 210                  -   2 of 3 runs, 1.25 s with 90 % of the"));
  const auto json = ReportJson(SomeSetting(), {SomeRow()})["rows"][0];
  EXPECT_EQ(json["decode_runs"], 2);
  EXPECT_EQ(json["decode_window_seconds"], 1.25);
  EXPECT_EQ(json["decode_window_share"], 0.9);
}

TEST(Report, IsOneObjectForPrograms) {
  BenchRow group = SomeRow();
  group.requests = 1;
  group.group = 8;
  const nlohmann::ordered_json json = ReportJson(SomeSetting(), {SomeRow(), group});
  EXPECT_EQ(json["rows"][0]["batch"], 4);
  EXPECT_EQ(json["rows"][0]["decode_tps"], 200.0);
  EXPECT_EQ(json["rows"][0]["spread"]["prefill_tps"], (nlohmann::ordered_json{400.0, 600.0}));
  EXPECT_FALSE(json["rows"][0].contains("group"));
  EXPECT_EQ(json["rows"][1]["batch"], 8);
  EXPECT_EQ(json["rows"][1]["group"], 8);
  EXPECT_EQ(json["kernel_path"], "cpu-avx2");
  EXPECT_THAT(json.dump(), Not(HasSubstr("\n")));
}

TEST(Report, SaysForAGroupHowMuchOfThePromptWasComputed) {
  BenchRow group = SomeRow();
  group.requests = 1;
  group.group = 8;
  group.prompt_tokens_computed = 10;
  const std::string table = ReportTable(SomeSetting(), {group});
  EXPECT_THAT(table, HasSubstr("a group of 8 on one prompt of 10 tokens: 10 prompt tokens computed"));
  EXPECT_THAT(ReportTable(SomeSetting(), {SomeRow()}), Not(HasSubstr("group")));
}

TEST(Report, ShowsADecodeRateThatWasNotMeasuredAsNone) {
  BenchRow row = SomeRow();
  row.decode = {};
  const auto json = ReportJson(SomeSetting(), {row})["rows"][0];
  EXPECT_TRUE(json["decode_tps"].is_null());
  EXPECT_TRUE(json["read_share"].is_null());
  EXPECT_TRUE(json["spread"]["decode_tps"][0].is_null());
  EXPECT_EQ(json["prefill_tps"], 500.0);
  EXPECT_THAT(ReportTable(SomeSetting(), {row}), HasSubstr("4              500        - "));
}

}  // namespace
}  // namespace sluice::bench
