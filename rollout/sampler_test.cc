#include "rollout/sampler.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

SamplingParams Params(float temperature, int32_t top_k = 0, float top_p = 1) {
  SamplingParams out;
  out.temperature = temperature;
  out.top_k = top_k;
  out.top_p = top_p;
  return out;
}

SampledToken SampleOk(const std::vector<float>& logits, const SamplingParams& params, float uniform) {
  const absl::StatusOr<SampledToken> out = SampleToken(logits, params, uniform);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *out : SampledToken{-1, 0, 0};
}

// What a fine comb of uniform numbers gives.
std::set<int32_t> Support(const std::vector<float>& logits, const SamplingParams& params) {
  std::set<int32_t> out;
  for (int i = 0; i < 1000; ++i) out.insert(SampleOk(logits, params, static_cast<float>(i) / 1000).token);
  return out;
}

std::vector<float> LogsOf(const std::vector<double>& probabilities) {
  std::vector<float> out;
  for (double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
  return out;
}

TEST(SamplerTest, GreedyTakesTheLowestIdAmongEquals) {
  const SampledToken out = SampleOk({1, 3, 3, 2}, Params(0), 0.99f);
  EXPECT_EQ(out.token, 1);
  EXPECT_EQ(out.processed_logprob, 0);
  EXPECT_NEAR(out.raw_logprob, 3 - std::log(std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0)), 1e-6);
}

TEST(SamplerTest, InvertsTheCumulativeDistributionOverRisingIds) {
  const std::vector<float> logits = LogsOf({0.125, 0.5, 0.25, 0.125});
  const struct {
    float uniform;
    int32_t token;
  } table[] = {{0, 0},     {0.12f, 0}, {0.13f, 1}, {0.62f, 1},
               {0.63f, 2}, {0.87f, 2}, {0.88f, 3}, {0.99999994f, 3}};
  for (const auto& row : table)
    EXPECT_EQ(SampleOk(logits, Params(1), row.uniform).token, row.token) << row.uniform;
}

TEST(SamplerTest, UnfilteredLogProbabilitiesAreThoseOfTheKernel) {
  const std::vector<float> logits = LogsOf({0.125, 0.5, 0.25, 0.125});
  const SampledToken out = SampleOk(logits, Params(1), 0.3f);
  EXPECT_EQ(out.raw_logprob, out.processed_logprob);
  EXPECT_NEAR(out.raw_logprob, std::log(0.5), 1e-6);
  const SampledToken hot = SampleOk(logits, Params(2), 0.3f);  // weights sqrt(p)
  const double total = 2 * std::sqrt(0.125) + std::sqrt(0.5) + std::sqrt(0.25);
  EXPECT_EQ(hot.token, 1);
  EXPECT_NEAR(hot.processed_logprob, std::log(std::sqrt(0.5) / total), 1e-6);
  EXPECT_NEAR(hot.raw_logprob, std::log(0.5), 1e-6);
}

TEST(SamplerTest, TopKKeepsTheGreatestAndLowIdsAmongEquals) {
  const std::vector<float> logits = LogsOf({0.1, 0.2, 0.2, 0.3, 0.2});
  EXPECT_THAT(Support(logits, Params(1, 1)), ElementsAre(3));
  EXPECT_THAT(Support(logits, Params(1, 3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Support(logits, Params(1, 5)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Support(logits, Params(1, 99)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_NEAR(SampleOk(logits, Params(1, 3), 0.99f).processed_logprob, std::log(0.3 / 0.7), 1e-6);
}

TEST(SamplerTest, TopPKeepsTheSmallestSetThatReachesIt) {
  const std::vector<float> logits = LogsOf({0.05, 0.4, 0.25, 0.2, 0.1});
  EXPECT_THAT(Support(logits, Params(1, 0, 0.3f)), ElementsAre(1));
  EXPECT_THAT(Support(logits, Params(1, 0, 0.5f)), ElementsAre(1, 2));
  EXPECT_THAT(Support(logits, Params(1, 0, 0.8f)), ElementsAre(1, 2, 3));
  EXPECT_THAT(Support(logits, Params(1, 0, 0.96f)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Support(logits, Params(1, 0, 1e-6f)), ElementsAre(1));
  EXPECT_NEAR(SampleOk(logits, Params(1, 0, 0.5f), 0).processed_logprob, std::log(0.4 / 0.65), 1e-6);
}

TEST(SamplerTest, TopPCountsWhatTopKLeft) {
  // Of {0.4, 0.25, 0.2} the first two are 0.65 / 0.85 = 0.76.
  const std::vector<float> logits = LogsOf({0.05, 0.4, 0.25, 0.2, 0.1});
  EXPECT_THAT(Support(logits, Params(1, 3, 0.75f)), ElementsAre(1, 2));
  EXPECT_THAT(Support(logits, Params(1, 3, 0.78f)), ElementsAre(1, 2, 3));
}

TEST(SamplerTest, RefusesLogitsThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (float bad : {nan, inf, -inf}) {
    for (float temperature : {0.0f, 1.0f}) {
      EXPECT_TRUE(absl::IsInternal(SampleToken({1, bad, 2}, Params(temperature), 0.5f).status()));
    }
  }
  EXPECT_FALSE(SampleToken({}, Params(1), 0.5f).ok());
}

TEST(SamplerTest, ExtremeLogitsNeverGiveATokenOfNoWeight) {
  const std::vector<float> logits = {-3e38f, 0, -3e38f};
  for (float u : {0.0f, 0.5f, 0.99999994f}) {
    const SampledToken out = SampleOk(logits, Params(0.01f), u);
    EXPECT_EQ(out.token, 1);
    EXPECT_EQ(out.processed_logprob, 0);
  }
}

// Chi-square of 20000 draws with the engine's uniform numbers against the distribution that the parameters
// mean. The bound is the 99.99% point of chi-square with the case's degrees of freedom.
TEST(SamplerTest, FrequenciesFollowTheDistribution) {
  const std::vector<double> p = {0.02, 0.3, 0.08, 0.25, 0.05, 0.2, 0.1};
  const struct {
    SamplingParams params;
    std::vector<double> expected;  // unnormalised
    double bound;
  } table[] = {
      {Params(1), p, 27.9},
      {Params(0.5f), {0.0004, 0.09, 0.0064, 0.0625, 0.0025, 0.04, 0.01}, 27.9},
      {Params(1, 3), {0, 0.3, 0, 0.25, 0, 0.2, 0}, 18.4},
      {Params(1, 0, 0.8f), {0, 0.3, 0, 0.25, 0, 0.2, 0.1}, 21.1},
  };
  const std::vector<float> logits = LogsOf(p);
  constexpr int kDraws = 20000;
  for (const auto& row : table) {
    std::map<int32_t, int> counts;
    for (int i = 0; i < kDraws; ++i) {
      const float u = UniformAt(99, RandomDomain::kTraining, 3, static_cast<uint32_t>(i / 100),
                                static_cast<uint32_t>(i % 100));
      ++counts[SampleOk(logits, row.params, u).token];
    }
    double total = 0, chi = 0;
    for (double e : row.expected) total += e;
    for (size_t id = 0; id < row.expected.size(); ++id) {
      const double expected = kDraws * row.expected[id] / total;
      const double count = counts[static_cast<int32_t>(id)];
      if (expected == 0) {
        EXPECT_EQ(count, 0) << id;
      } else {
        chi += (count - expected) * (count - expected) / expected;
      }
    }
    EXPECT_LT(chi, row.bound) << "top_k " << row.params.top_k << " top_p " << row.params.top_p;
  }
}

}  // namespace
}  // namespace sluice
