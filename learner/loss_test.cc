#include "learner/loss.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace sluice {
namespace {

TokenOutput Grpo(const TokenInput& token, double low = 0.2, double high = 0.28, double kl = 0,
                 double entropy = 0) {
  GrpoSpec spec;
  spec.clip_low = low;
  spec.clip_high = high;
  spec.kl_coefficient = kl;
  spec.entropy_coefficient = entropy;
  return MakePolicyLoss("grpo", spec).value()->Token(token);
}

TokenInput At(double ratio, double advantage) {
  TokenInput token;
  token.behaviour = -1;
  token.logprob = -1 + std::log(ratio);
  token.advantage = advantage;
  return token;
}

struct Row {
  double ratio, advantage, loss, d_logprob;
  bool clipped;
};

// By hand: max(-r A, -clip(r, 0.8, 1.28) A); the gradient is -A r where the first is the greater.
TEST(GrpoLossTest, EqualsHandComputedValues) {
  const Row rows[] = {
      {1.0, 2.0, -2.0, -2.0, false}, {1.1, 1.0, -1.1, -1.1, false}, {1.5, 1.0, -1.28, 0.0, true},
      {0.5, 1.0, -0.5, -0.5, false}, {1.5, -1.0, 1.5, 1.5, false},  {0.5, -1.0, 0.8, 0.0, true},
      {0.9, -2.0, 1.8, 1.8, false},  {1.0, 0.0, 0.0, 0.0, false},   {9.0, 0.0, 0.0, 0.0, false}};
  for (const Row& row : rows) {
    const TokenOutput out = Grpo(At(row.ratio, row.advantage));
    EXPECT_NEAR(out.loss, row.loss, 1e-12) << row.ratio << " " << row.advantage;
    EXPECT_NEAR(out.d_logprob, row.d_logprob, 1e-12) << row.ratio << " " << row.advantage;
    EXPECT_EQ(out.clipped, row.clipped) << row.ratio << " " << row.advantage;
    EXPECT_NEAR(out.ratio, row.ratio, 1e-12);
  }
}

TEST(GrpoLossTest, ReferenceTermIsK3) {
  TokenInput token = At(1, 0);
  token.has_reference = true;
  token.reference = token.logprob + std::log(2.0);  // k3 = 2 - ln 2 - 1
  const TokenOutput out = Grpo(token, 0.2, 0.2, 0.5);
  EXPECT_NEAR(out.kl_reference, 1 - std::log(2.0), 1e-12);
  EXPECT_NEAR(out.loss, 0.5 * (1 - std::log(2.0)), 1e-12);
  EXPECT_NEAR(out.d_logprob, 0.5 * (1 - 2.0), 1e-12);
}

TEST(GrpoLossTest, EntropyIsABonus) {
  TokenInput token = At(1, 0);
  token.entropy = 3;
  const TokenOutput out = Grpo(token, 0.2, 0.2, 0, 0.01);
  EXPECT_NEAR(out.loss, -0.03, 1e-12);
  EXPECT_NEAR(out.d_entropy, -0.01, 1e-12);
}

TEST(GrpoLossTest, LogRatioIsBoundedByTwenty) {
  TokenInput token;
  token.logprob = -1;
  token.behaviour = -1001;
  token.advantage = -1;
  const TokenOutput out = Grpo(token);
  EXPECT_NEAR(out.ratio, std::exp(20.0), 1);
  EXPECT_EQ(out.d_logprob, 0) << "the clamp has no gradient";
}

TEST(GrpoLossTest, DerivativeEqualsADifference) {
  for (double ratio : {0.7, 0.95, 1.2, 1.4}) {
    for (double advantage : {-1.3, 0.7}) {
      TokenInput token = At(ratio, advantage);
      token.has_reference = true;
      token.reference = -0.4;
      const double h = 1e-6;
      TokenInput up = token, down = token;
      up.logprob += h;
      down.logprob -= h;
      const double slope = (Grpo(up, 0.2, 0.3, 0.1).loss - Grpo(down, 0.2, 0.3, 0.1).loss) / (2 * h);
      EXPECT_NEAR(Grpo(token, 0.2, 0.3, 0.1).d_logprob, slope, 1e-6);
    }
  }
}

TEST(LossRegistryTest, NamesTheLossesThereAre) {
  EXPECT_EQ(MakePolicyLoss("ppo", {}).status().code(), absl::StatusCode::kNotFound);
  for (const std::string& name : PolicyLossNames()) EXPECT_TRUE(MakePolicyLoss(name, {}).ok());
}

TEST(TokenWeightTest, EqualsTheThreeAggregations) {
  EXPECT_DOUBLE_EQ(TokenWeight(Aggregation::kTokenMean, 3, 10, 2), 0.1);
  EXPECT_DOUBLE_EQ(TokenWeight(Aggregation::kSequenceMeanTokenMean, 4, 10, 2), 0.125);
  EXPECT_DOUBLE_EQ(TokenWeight(Aggregation::kSequenceMeanTokenSum, 4, 10, 2), 0.5);
  EXPECT_EQ(TokenWeight(Aggregation::kTokenMean, 0, 0, 0), 0);
}

TEST(PolicyTemperatureTest, ComparesTheSampledDistributionOnlyWhereItIsKnown) {
  SamplingParams sampling;
  sampling.temperature = 0.7f;
  EXPECT_TRUE(PolicyTemperatureOf(sampling).use_processed);
  EXPECT_EQ(PolicyTemperatureOf(sampling).temperature, 0.7f);
  const auto uses_raw = [&](auto change) {
    SamplingParams changed = sampling;
    change(changed);
    const PolicyTemperature t = PolicyTemperatureOf(changed);
    return !t.use_processed && t.temperature == 1.0f;
  };
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.top_k = 5; }));
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.top_p = 0.9f; }));
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.min_p = 0.1f; }));
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.repetition_penalty = 1.1f; }));
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.presence_penalty = 0.5f; }));
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.frequency_penalty = 0.5f; }));
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.logit_bias[3] = 1; }));
  EXPECT_TRUE(uses_raw([](SamplingParams& s) { s.min_new_tokens = 4; }));
  EXPECT_FALSE(PolicyTemperatureOf(SamplingParams()).use_processed);
}

}  // namespace
}  // namespace sluice
