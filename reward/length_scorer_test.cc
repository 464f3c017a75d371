#include "reward/length_scorer.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice {
namespace {

ItemJudgement Judge(size_t length) {
  ScoreItem item;
  item.completion = std::string(length, 'a');
  return LengthItemScorer({10, 20}).Judge(item);
}

TEST(LengthScorerTest, ValueFallsLinearlyBetweenTheLimits) {
  EXPECT_EQ(Judge(0).value, 0);
  EXPECT_EQ(Judge(10).value, 0);
  EXPECT_EQ(Judge(10).kind, VerdictKind::kCorrect);
  EXPECT_DOUBLE_EQ(Judge(11).value, -0.1);
  EXPECT_EQ(Judge(11).kind, VerdictKind::kGraded);
  EXPECT_DOUBLE_EQ(Judge(15).value, -0.5);
  EXPECT_EQ(Judge(20).value, -1);
  EXPECT_EQ(Judge(20).kind, VerdictKind::kWrong);
  EXPECT_EQ(Judge(1000).value, -1);
}

TEST(LengthScorerTest, StatesItsClass) {
  EXPECT_EQ(Judge(10).outcome, "within");
  EXPECT_EQ(Judge(11).outcome, "long");
  EXPECT_EQ(Judge(20).outcome, "too_long");
}

TEST(LengthScorerTest, CharactersAreCodePoints) {
  EXPECT_EQ(CountCharacters("abc"), 3);
  EXPECT_EQ(CountCharacters("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 3);
  EXPECT_EQ(CountCharacters("\xFF\xFE"), 2);
  EXPECT_EQ(CountCharacters("\xE2\x82"), 2);  // cut in the middle
  EXPECT_EQ(CountCharacters("\x80\x80"), 2);
}

TEST(LengthScorerTest, CountsTokensWhereTheyAreGiven) {
  const LengthItemScorer scorer({10, 20, LengthUnit::kTokens});
  ScoreItem item;
  item.completion = std::string(1000, 'a');
  EXPECT_EQ(scorer.Judge(item).kind, VerdictKind::kUndecided);
  EXPECT_EQ(scorer.Judge(item).outcome, "invalid_row");
  item.completion_tokens = 15;
  EXPECT_DOUBLE_EQ(scorer.Judge(item).value, -0.5);
  EXPECT_EQ(scorer.Judge(item).detail, "15 tokens");
}

}  // namespace
}  // namespace sluice
