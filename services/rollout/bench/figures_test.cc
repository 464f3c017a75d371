#include "services/rollout/bench/figures.h"

#include "gtest/gtest.h"

namespace sluice::bench {
namespace {

absl::Duration Ms(double ms) { return absl::Milliseconds(ms); }

// Two completions of 10 prompt tokens and 4 new ones; the second one's prompt is computed a step later, so
// the first one is a token ahead.
LoadTimes Staggered() {
  LoadTimes out;
  out.whole = Ms(600);
  out.readings = {{Ms(0), 0, 0, 2, 0},    {Ms(100), 10, 1, 2, 1}, {Ms(200), 20, 3, 2, 2},
                  {Ms(300), 20, 5, 2, 2}, {Ms(400), 20, 7, 1, 1}, {Ms(500), 20, 8, 0, 0}};
  out.token_times = {{Ms(100), Ms(200), Ms(300), Ms(400)}, {Ms(200), Ms(300), Ms(400), Ms(500)}};
  return out;
}

LoadShape TwoOfFour() {
  LoadShape shape;
  shape.requests = 2;
  shape.prompt_tokens = 10;
  shape.new_tokens = 4;
  return shape;
}

TEST(DecodeRate, CountsOnlyWhileAllSequencesDecode) {
  EXPECT_DOUBLE_EQ(DecodeRate(Staggered(), TwoOfFour()), 4 / 0.2);  // from 200 to 400 ms
}

TEST(DecodeRate, IsAllTokensBetweenFirstAndLastWhenPromptsAreComputedTogether) {
  LoadTimes times;
  times.readings = {{Ms(0), 0, 0, 2, 0},
                    {Ms(50), 20, 2, 2, 2},
                    {Ms(60), 20, 4, 2, 2},
                    {Ms(70), 20, 6, 2, 2},
                    {Ms(80), 20, 8, 0, 0}};
  EXPECT_DOUBLE_EQ(DecodeRate(times, TwoOfFour()), 2 * (4 - 1) / 0.03);
}

TEST(DecodeRate, IsZeroWithoutASecondToken) {
  LoadTimes times;
  times.readings = {{Ms(0), 0, 0, 2, 0}, {Ms(50), 20, 2, 0, 0}};
  EXPECT_EQ(DecodeRate(times, TwoOfFour()), 0);
  EXPECT_EQ(DecodeRate({}, TwoOfFour()), 0);
}

TEST(Rates, AreOverTheWholeLoad) {
  EXPECT_DOUBLE_EQ(PrefillRate(Staggered(), TwoOfFour()), 20 / 0.6);
  EXPECT_DOUBLE_EQ(EndToEndRate(Staggered(), TwoOfFour()), 8 / 0.6);
  EXPECT_EQ(PeakBlocks(Staggered()), 2);
}

TEST(LatencyOf, SeparatesTheFirstTokenFromTheOthers) {
  const Latency latency = LatencyOf(Staggered());
  EXPECT_DOUBLE_EQ(latency.first_median, 100);
  EXPECT_DOUBLE_EQ(latency.first_max, 200);
  EXPECT_DOUBLE_EQ(latency.p50, 100);
  EXPECT_DOUBLE_EQ(latency.p99, 100);
}

TEST(Quantile, IsTheNearestRank) {
  EXPECT_EQ(Quantile({}, 0.5), 0);
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({1, 2, 3, 4}, 0.95), 4);
  EXPECT_EQ(Quantile({1, 2, 3, 4}, 0), 1);
  const Spread spread = SpreadOf({5.0, 1.0, 3.0});
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.least, 1);
  EXPECT_EQ(spread.most, 5);
}

}  // namespace
}  // namespace sluice::bench
