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

TEST(DecodeWindow, CountsOnlyWhileAllSequencesDecode) {
  const DecodeWindow window = DecodeWindowOf(Staggered(), TwoOfFour());
  EXPECT_DOUBLE_EQ(window.tokens, 2);  // from 200 to 300 ms
  EXPECT_DOUBLE_EQ(window.seconds, 0.1);
  EXPECT_DOUBLE_EQ(window.share, 2.0 / 6);
  EXPECT_EQ(window.rate(), 0) << "a third of the tokens is too few to tell";
}

// Two completions of so many tokens, one each every 10 ms; looked at each time, or not at all in between.
LoadTimes Together(int tokens, int unseen_from, int unseen_to) {
  LoadTimes out;
  out.readings = {{Ms(0), 0, 0, 2, 0}};
  for (int i = 1; i <= tokens; ++i) {
    if (i >= unseen_from && i < unseen_to) continue;
    out.readings.push_back({Ms(50 + 10 * i), 20, 2.0 * i, i < tokens ? 2.0 : 0.0, 2});
  }
  return out;
}

LoadShape TwoOf(int tokens) {
  LoadShape shape = TwoOfFour();
  shape.new_tokens = tokens;
  return shape;
}

TEST(DecodeWindow, IsNearlyAllTokensWhenPromptsAreComputedTogether) {
  const DecodeWindow window = DecodeWindowOf(Together(20, 0, 0), TwoOf(20));
  EXPECT_DOUBLE_EQ(window.rate(), 200);
  EXPECT_DOUBLE_EQ(window.share, 18.0 / 19);
}

TEST(DecodeWindow, IsNotStretchedByALateLastLook) {
  LoadTimes times = Together(20, 0, 0);
  times.readings.back().at = Ms(10000);  // the watcher did not get to run
  EXPECT_DOUBLE_EQ(DecodeWindowOf(times, TwoOf(20)).rate(), 200);
}

TEST(DecodeWindow, IsNotMeasuredWhereTheLooksMissedMostOfIt) {
  LoadTimes times = Together(20, 1, 18);  // what is left is the last moments
  times.readings.back().at = Ms(10000);
  const DecodeWindow window = DecodeWindowOf(times, TwoOf(20));
  EXPECT_LT(window.share, 0.1);
  EXPECT_EQ(window.rate(), 0);
  EXPECT_DOUBLE_EQ(DecodeWindowOf(Together(20, 5, 15), TwoOf(20)).rate(), 200) << "a gap inside does no harm";
}

TEST(DecodeWindow, IsEmptyWithoutASecondToken) {
  LoadTimes times;
  times.readings = {{Ms(0), 0, 0, 2, 0}, {Ms(50), 20, 2, 0, 0}};
  EXPECT_EQ(DecodeWindowOf(times, TwoOfFour()).rate(), 0);
  EXPECT_EQ(DecodeWindowOf({}, TwoOfFour()).rate(), 0);
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
