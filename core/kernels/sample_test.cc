// Probabilities and choices of tokens against plain computations in double over sorted ids.
#include "core/kernels/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "core/kernels/kernels.h"
#include "core/kernels/test_values.h"

namespace sluice::kernels {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// A row with all that is known of it.
struct Row {
  Row(std::vector<float> values, float temperature)
      : logits(std::move(values)), weights(logits.size()), maxima(LogitBlocks(size())), block_sums(maxima) {
    greatest = FindGreatest(logits.data(), size(), maxima.data());
    sums = SumWeights(logits.data(), size(), greatest.logit, temperature, weights.data(), block_sums.data());
  }
  int64_t size() const { return static_cast<int64_t>(logits.size()); }
  WeighedLogits Weighed() const {
    return {logits.data(),  weights.data(),           maxima.data(), size(),
            greatest.logit, sums.inverse_temperature, sums.total};
  }
  std::vector<int32_t> Filter(const TokenFilter& filter) const {
    std::vector<int32_t> ids = {7};  // what was in it must not matter
    FilterTokens(Weighed(), filter, &ids);
    return ids;
  }
  // All ids, most probable first.
  std::vector<int32_t> Ranked() const {
    std::vector<int32_t> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
    return ids;
  }
  std::vector<float> logits, weights, maxima, block_sums;
  GreatestLogit greatest;
  SoftmaxSums sums;
};

// What FilterTokens says it does, by sorting everything.
std::vector<int32_t> PlainFilter(const Row& row, const TokenFilter& filter) {
  std::vector<int32_t> ids = row.Ranked();
  if (filter.top_k > 0 && filter.top_k < row.size()) ids.resize(filter.top_k);
  if (filter.top_p < 1) {
    const double wanted = filter.top_p * TotalWeight(ids, row.weights.data());
    size_t kept = 0;
    double sum = 0;
    while (kept < ids.size() && sum < wanted) sum += row.weights[ids[kept++]];
    ids.resize(std::max<size_t>(kept, 1));
  }
  std::erase_if(ids, [&](int32_t id) { return row.weights[id] < filter.min_p; });
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(SampleTest, FindsTheLowestIdOfTheGreatest) {
  for (const int64_t vocab : {1, 15, 256, 257, 5000}) {
    std::vector<float> logits = TestValues(vocab, 1);
    std::vector<float> maxima(LogitBlocks(vocab));
    const auto plain = std::max_element(logits.begin(), logits.end()) - logits.begin();
    EXPECT_EQ(FindGreatest(logits.data(), vocab, maxima.data()).id, plain);
    logits[vocab - 1] = logits[vocab / 2] = 100;
    const GreatestLogit twice = FindGreatest(logits.data(), vocab, maxima.data());
    EXPECT_EQ(twice.id, vocab / 2);
    EXPECT_EQ(twice.logit, 100);
  }
}

TEST(SampleTest, ReportsTheBitsOfLogSoftmaxAtAtAnyTemperature) {
  for (const int64_t vocab : {3, 256, 1003, 49152}) {
    for (const float temperature : {1.0f, 0.7f, 1.9f}) {
      const Row row(TestValues(vocab, 2, 4.0f), temperature);
      for (int32_t id = 0; id < vocab; id += 1 + static_cast<int32_t>(vocab / 50)) {
        EXPECT_EQ(LogProbability(row.sums, row.logits[id]),
                  LogSoftmaxAt(row.logits.data(), vocab, id, temperature, nullptr));
      }
      float entropy = 0;
      EXPECT_EQ(LogSoftmaxSums(row.logits.data(), vocab, temperature, &entropy).log_total,
                row.sums.log_total);
    }
  }
}

TEST(SampleTest, MakesUnusableRowsKnown) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& logits :
       {std::vector<float>{1, nan, 2}, {1, -kNever, 2}, {kNever, kNever}, {nan}}) {
    const Row row(logits, 1.0f);
    EXPECT_TRUE(std::isnan(row.sums.log_total));
    EXPECT_TRUE(std::isnan(LogSoftmaxAt(logits.data(), row.size(), 0, 1.0f, nullptr)));
    EXPECT_LT(row.greatest.id, row.size());
  }
  EXPECT_FALSE(std::isnan(Row({kNever, 3}, 1.0f).sums.log_total));
}

TEST(SampleTest, InvertsTheCumulativeWeight) {
  for (const int64_t vocab : {1, 5, 256, 3000}) {
    std::vector<float> logits = TestValues(vocab, 3, 3.0f);
    if (vocab > 4) logits[0] = logits[vocab - 1] = logits[2] = kNever;
    const Row row(logits, 1.0f);
    const int64_t steps = 400;
    for (int64_t i = 0; i < steps; ++i) {
      const double uniform = static_cast<double>(i) / steps;
      const int32_t id =
          InvertWeights(row.weights.data(), row.block_sums.data(), vocab, row.sums.total, uniform);
      double below = 0;
      for (int32_t j = 0; j < id; ++j) below += row.weights[j];
      // Sums of blocks and sums one by one differ in rounding.
      EXPECT_LE(below, (uniform + 1e-6) * row.sums.total);
      EXPECT_GE(below + row.weights[id], (uniform - 1e-6) * row.sums.total);
      EXPECT_GT(row.weights[id], 0);
    }
    EXPECT_GT(row.weights[InvertWeights(row.weights.data(), row.block_sums.data(), vocab, row.sums.total,
                                        1 - 1e-9)],
              0);
  }
}

TEST(SampleTest, InvertsOverSomeIds) {
  const std::vector<float> weights = {0.5f, 9, 0.25f, 0, 0.25f};
  const std::vector<int32_t> ids = {0, 2, 3, 4};
  const double total = TotalWeight(ids, weights.data());
  EXPECT_EQ(total, 1);
  EXPECT_EQ(InvertWeightsOf(ids, weights.data(), total, 0.49), 0);
  EXPECT_EQ(InvertWeightsOf(ids, weights.data(), total, 0.5), 2);
  EXPECT_EQ(InvertWeightsOf(ids, weights.data(), total, 0.75), 4);
  EXPECT_EQ(InvertWeightsOf(ids, weights.data(), total, 0.9999999), 4);
}

TEST(SampleTest, TopLogitsRankEqualOnesById) {
  for (const int64_t vocab : {4, 300, 10000}) {
    std::vector<float> logits = TestValues(vocab, 4);
    for (float& logit : logits) logit = std::round(logit * 4) / 4;  // many equal ones
    const Row row(logits, 1.0f);
    for (const int64_t count : {int64_t{1}, int64_t{3}, int64_t{20}, int64_t{200}, vocab, vocab + 5}) {
      std::vector<int32_t> ids, plain = row.Ranked();
      plain.resize(std::min(count, vocab));
      TopLogits(row.logits.data(), vocab, row.maxima.data(), count, &ids);
      EXPECT_EQ(ids, plain) << vocab << " " << count;
    }
  }
}

TEST(SampleTest, FiltersAsSortingEverythingDoes) {
  for (const int64_t vocab : {1, 60, 5000}) {
    for (const float size : {0.05f, 2.0f, 20.0f}) {
      std::vector<float> logits = TestValues(vocab, 5, size);
      if (vocab > 50) {
        for (int i = 0; i < 30; ++i) logits[i] = logits[30];
        logits[31] = kNever;
      }
      const Row row(logits, 0.8f);
      for (const int64_t top_k : {0, 1, 7, 40, 1000}) {
        for (const float top_p : {1.0f, 0.95f, 0.5f, 0.01f, 0.0f}) {
          for (const float min_p : {0.0f, 0.1f, 1.0f}) {
            const TokenFilter filter = {top_k, top_p, min_p};
            EXPECT_EQ(row.Filter(filter), PlainFilter(row, filter))
                << vocab << " " << size << " " << top_k << " " << top_p << " " << min_p;
          }
        }
      }
    }
  }
}

TEST(SampleTest, FilterThatKeepsAllSaysSo) {
  EXPECT_TRUE((TokenFilter{0, 1, 0}.KeepsAll(10)));
  EXPECT_TRUE((TokenFilter{10, 1, 0}.KeepsAll(10)));
  EXPECT_FALSE((TokenFilter{9, 1, 0}.KeepsAll(10)));
  EXPECT_FALSE((TokenFilter{0, 0.9f, 0}.KeepsAll(10)));
  EXPECT_FALSE((TokenFilter{0, 1, 0.1f}.KeepsAll(10)));
}

}  // namespace
}  // namespace sluice::kernels
