#include "rollout/sampler.h"

#include <algorithm>
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

// What was given and sampled before, and what may not be sampled.
struct History {
  std::vector<int32_t> prompt, completion, forbidden;
};

absl::StatusOr<SampledToken> Sample(const std::vector<float>& logits, const SamplingParams& params,
                                    float uniform, const History& history = {}) {
  TokenCounts counts(params, history.prompt);
  for (int32_t token : history.completion) counts.Add(token);
  return SampleToken({logits, params, counts, history.forbidden, uniform});
}

SampledToken SampleOk(const std::vector<float>& logits, const SamplingParams& params, float uniform,
                      const History& history = {}) {
  const absl::StatusOr<SampledToken> out = Sample(logits, params, uniform, history);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *out : SampledToken{-1, 0, 0, {}};
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

TEST(SamplerTest, MinPDropsWhatIsLessProbableThanAShareOfTheMostProbable) {
  const std::vector<float> logits = LogsOf({0.05, 0.4, 0.25, 0.2, 0.1});
  SamplingParams params = Params(1);
  params.min_p = 0.24f;
  EXPECT_THAT(Support(logits, params), ElementsAre(1, 2, 3, 4));
  params.min_p = 0.6f;
  EXPECT_THAT(Support(logits, params), ElementsAre(1, 2));
  EXPECT_NEAR(SampleOk(logits, params, 0.99f).processed_logprob, std::log(0.25 / 0.65), 1e-6);
  params.temperature = 2;  // square roots: 0.5 of the greatest, not 0.25
  params.min_p = 0.49f;
  EXPECT_THAT(Support(logits, params), ElementsAre(1, 2, 3, 4));
  params.min_p = 1;
  EXPECT_THAT(Support(logits, params), ElementsAre(1));
}

TEST(SamplerTest, ALogitBiasMovesOnlyItsToken) {
  const std::vector<float> logits = LogsOf({0.5, 0.25, 0.25});
  SamplingParams params = Params(1);
  params.logit_bias = {{0, -100.0f}, {2, static_cast<float>(std::log(3.0))}};
  const SampledToken out = SampleOk(logits, params, 0.999f);
  EXPECT_EQ(out.token, 2);
  EXPECT_NEAR(out.processed_logprob, std::log(0.75), 1e-6);
  EXPECT_NEAR(out.raw_logprob, std::log(0.25), 1e-6) << "raw is of the untouched logits";
  params.temperature = 0;
  EXPECT_EQ(SampleOk(logits, params, 0).token, 2);
}

TEST(SamplerTest, TheRepetitionPenaltySeesPromptAndCompletionTheOthersOnlyTheCompletion) {
  const std::vector<float> logits = {2, 2, 2, -2, -2};
  const History history = {{0, 3, 0}, {1, 1, 1}, {}};
  SamplingParams params = Params(1);
  const auto expect = [&](const std::vector<double>& edited) {
    double total = 0, cumulative = 0;
    for (double logit : edited) total += std::exp(logit);
    for (size_t id = 0; id < edited.size(); ++id) {
      const double p = std::exp(edited[id]) / total;
      const SampledToken out = SampleOk(logits, params, static_cast<float>(cumulative + p / 2), history);
      EXPECT_EQ(out.token, static_cast<int32_t>(id));
      EXPECT_NEAR(out.processed_logprob, std::log(p), 1e-5);
      cumulative += p;
    }
  };
  expect({2, 2, 2, -2, -2});
  params.repetition_penalty = 2;
  expect({1, 1, 2, -4, -2});
  params.repetition_penalty = 1;
  params.presence_penalty = 0.5f;
  expect({2, 1.5, 2, -2, -2});
  params.frequency_penalty = 0.25f;
  expect({2, 0.75, 2, -2, -2});
}

TEST(SamplerTest, ForbiddenTokensAreNeverSampled) {
  const std::vector<float> logits = LogsOf({0.125, 0.5, 0.25, 0.125});
  const History history = {{}, {}, {1, 3}};
  EXPECT_EQ(SampleOk(logits, Params(0), 0, history).token, 2);
  EXPECT_EQ(SampleOk(logits, Params(1), 0.3f, history).token, 0);
  EXPECT_EQ(SampleOk(logits, Params(1), 0.34f, history).token, 2);
  EXPECT_EQ(SampleOk(logits, Params(1, 1), 0.999f, history).token, 2);
  EXPECT_NEAR(SampleOk(logits, Params(1), 0.99f, history).processed_logprob, std::log(2.0 / 3), 1e-6);
  const History all = {{}, {}, {0, 1, 2, 3}};
  EXPECT_TRUE(absl::IsInternal(Sample(logits, Params(1), 0.5f, all).status()));
}

TEST(SamplerTest, AlternativesAreTheMostProbableOfTheUntouchedLogits) {
  const std::vector<float> logits = LogsOf({0.1, 0.2, 0.3, 0.2, 0.2});
  SamplingParams params = Params(1);
  params.logit_bias = {{0, 50.0f}};
  params.top_logprobs = 3;
  const SampledToken out = SampleOk(logits, params, 0.5f);
  EXPECT_EQ(out.token, 0);
  ASSERT_EQ(out.alternatives.size(), 3u);
  const int32_t ids[] = {2, 1, 3};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(out.alternatives[i].token, ids[i]);
    EXPECT_NEAR(out.alternatives[i].raw_logprob, std::log(i == 0 ? 0.3 : 0.2), 1e-6);
  }
}

// Straight from the definitions, in double: the probability of each id.
std::vector<double> PlainDistribution(const std::vector<float>& logits, const SamplingParams& p,
                                      const History& history) {
  std::vector<double> z(logits.begin(), logits.end());
  for (const auto& [token, bias] : p.logit_bias) z[static_cast<size_t>(token)] += bias;
  for (size_t id = 0; id < z.size(); ++id) {
    const auto times = [id](const std::vector<int32_t>& tokens) {
      return static_cast<double>(std::count(tokens.begin(), tokens.end(), static_cast<int32_t>(id)));
    };
    const double count = times(history.completion);
    if (count + times(history.prompt) > 0) {
      z[id] = z[id] > 0 ? z[id] / p.repetition_penalty : z[id] * p.repetition_penalty;
    }
    if (count > 0) z[id] -= p.presence_penalty + p.frequency_penalty * count;
    if (times(history.forbidden) > 0) z[id] = -std::numeric_limits<double>::infinity();
  }
  std::vector<size_t> order(z.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return z[a] > z[b]; });
  if (p.top_k > 0) order.resize(std::min(order.size(), static_cast<size_t>(p.top_k)));
  std::vector<double> weight(z.size(), 0);
  double total = 0, sum = 0;
  for (size_t id : order) total += weight[id] = std::exp((z[id] - z[order[0]]) / p.temperature);
  std::vector<double> kept(z.size(), 0);
  for (size_t id : order) {
    if (sum >= p.top_p * total) break;
    sum += weight[id];
    if (weight[id] >= p.min_p) kept[id] = weight[id];
  }
  total = 0;
  for (double w : kept) total += w;
  for (double& w : kept) w /= total;
  return kept;
}

// Parameters and logits drawn from a seed: any of the filters, penalties and biases, alone and together.
TEST(SamplerTest, EveryCombinationEqualsThePlainTwin) {
  uint32_t position = 0;
  uint64_t seed = 0;
  const auto uniform = [&] { return UniformAt(seed, RandomDomain::kShuffle, 0, 0, position++); };
  int compared = 0;
  for (seed = 0; seed < 400; ++seed) {
    std::vector<float> logits;
    for (int i = 0; i < 60; ++i) logits.push_back(8 * (uniform() + uniform() + uniform()) - 12);
    SamplingParams p = Params(0.3f + 2 * uniform());
    if (uniform() < 0.4f) p.top_k = 1 + static_cast<int32_t>(70 * uniform());
    if (uniform() < 0.4f) p.top_p = 0.05f + 0.95f * uniform();
    if (uniform() < 0.4f) p.min_p = 0.5f * uniform();
    if (uniform() < 0.4f) p.repetition_penalty = 0.5f + 2 * uniform();
    if (uniform() < 0.4f) p.presence_penalty = 4 * uniform() - 2;
    if (uniform() < 0.4f) p.frequency_penalty = 4 * uniform() - 2;
    History history;
    for (int i = 0; i < 20; ++i) {
      std::vector<int32_t>& where = i % 2 == 0 ? history.prompt : history.completion;
      where.push_back(static_cast<int32_t>(60 * uniform()));
      if (uniform() < 0.1f) history.forbidden.push_back(static_cast<int32_t>(60 * uniform()));
      if (uniform() < 0.2f) p.logit_bias[static_cast<int32_t>(60 * uniform())] = 20 * uniform() - 10;
    }
    const std::vector<double> want = PlainDistribution(logits, p, history);
    for (int i = 0; i < 50; ++i) {
      const float u = uniform();
      const SampledToken got = SampleOk(logits, p, u, history);
      double below = 0;
      for (int32_t id = 0; id < got.token; ++id) below += want[static_cast<size_t>(id)];
      const double probability = want[static_cast<size_t>(got.token)];
      ASSERT_GT(probability, 0) << "seed " << seed;
      EXPECT_NEAR(got.processed_logprob, std::log(probability), 1e-4) << "seed " << seed;
      EXPECT_GE(u, below - 1e-5);
      EXPECT_LE(u, below + probability + 1e-5);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 20000);
}

TEST(SamplerTest, RefusesLogitsThatAreNotNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (float bad : {nan, inf}) {
    for (const SamplingParams& params : {Params(0), Params(1), Params(1, 2), Params(1, 0, 0.5f)}) {
      EXPECT_TRUE(absl::IsInternal(Sample({1, bad, 2}, params, 0.5f).status()));
      EXPECT_TRUE(absl::IsInternal(Sample({bad, 1, 2}, params, 0.5f).status()));
    }
  }
  EXPECT_EQ(SampleOk({1, -inf, 2}, Params(1), 0.2f).token, 0) << "minus infinity is probability 0";
  EXPECT_EQ(SampleOk({1, -inf, 2}, Params(1), 0.3f).token, 2);
  EXPECT_FALSE(Sample({}, Params(1), 0.5f).ok());
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
// mean, at six standard deviations of the statistic above its mean.
TEST(SamplerTest, FrequenciesFollowTheProcessedDistribution) {
  const std::vector<float> logits = LogsOf({0.02, 0.3, 0.08, 0.25, 0.05, 0.2, 0.1});
  const History history = {{1, 1}, {3, 3, 5}, {6}};
  std::vector<SamplingParams> table = {Params(1), Params(0.5f), Params(1, 3), Params(1, 0, 0.8f)};
  table.push_back(Params(1.5f));
  table.back().min_p = 0.3f;
  table.push_back(Params(1));
  table.back().repetition_penalty = 1.3f;
  table.back().frequency_penalty = 0.4f;
  table.back().presence_penalty = -0.2f;
  table.push_back(Params(0.8f, 5, 0.95f));
  table.back().logit_bias = {{0, 2.5f}, {4, 1}};
  constexpr int kDraws = 20000;
  for (size_t row = 0; row < table.size(); ++row) {
    const std::vector<double> expected = PlainDistribution(logits, table[row], history);
    std::map<int32_t, int> counts;
    for (int i = 0; i < kDraws; ++i) {
      const float u = UniformAt(99, RandomDomain::kTraining, 3 + row, static_cast<uint32_t>(i / 100),
                                static_cast<uint32_t>(i % 100));
      ++counts[SampleOk(logits, table[row], u, history).token];
    }
    double chi = 0, freedom = -1;
    for (size_t id = 0; id < expected.size(); ++id) {
      const double want = kDraws * expected[id], count = counts[static_cast<int32_t>(id)];
      if (want == 0) {
        EXPECT_EQ(count, 0) << id;
      } else {
        chi += (count - want) * (count - want) / want;
        freedom += 1;
      }
    }
    EXPECT_GT(freedom, 0);
    EXPECT_LT(chi, freedom + 6 * std::sqrt(2 * freedom)) << "row " << row;
  }
}

}  // namespace
}  // namespace sluice
