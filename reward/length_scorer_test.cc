#include "reward/length_scorer.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice {
namespace {

ItemJudgement Judge(size_t length) {
  auto scorer = LengthItemScorer::Create({10, 20});
  EXPECT_TRUE(scorer.ok()) << scorer.status();
  ScoreItem item;
  item.completion = std::string(length, 'a');
  return (*scorer)->Judge(item);
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

TEST(LengthScorerTest, CharactersAreCodePoints) {
  EXPECT_EQ(CountCharacters("abc"), 3);
  EXPECT_EQ(CountCharacters("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 3);
  EXPECT_EQ(CountCharacters("\xFF\xFE"), 2);
  EXPECT_EQ(CountCharacters("\xE2\x82"), 2);  // cut in the middle
  EXPECT_EQ(CountCharacters("\x80\x80"), 2);
}

TEST(LengthScorerTest, ContradictoryLimitsAreRefused) {
  EXPECT_EQ(LengthItemScorer::Create({0, 5}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LengthItemScorer::Create({5, 5}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LengthItemScorer::Create({5, -1}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
