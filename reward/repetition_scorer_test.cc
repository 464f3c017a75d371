#include "reward/repetition_scorer.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

double Judge(const std::string& completion, int32_t ngram = 3, double scale = 1) {
  ScoreItem item;
  item.completion = completion;
  return RepetitionItemScorer({ngram, scale}).Judge(item).value;
}

TEST(RepetitionScorer, PaysForNGramsThatOccurredBefore) {
  EXPECT_EQ(Judge("a b c d e f"), 0);
  EXPECT_EQ(Judge(""), 0);
  EXPECT_EQ(Judge("a a"), 0);                       // shorter than an n-gram
  EXPECT_DOUBLE_EQ(Judge("a b c a b c"), -0.25);    // abc bca cab abc
  EXPECT_DOUBLE_EQ(Judge("A b\nc  a B c"), -0.25);  // blanks and capitals do not count
  EXPECT_DOUBLE_EQ(Judge("a a a a"), -0.5);
  EXPECT_DOUBLE_EQ(Judge("x y x z", 1), -0.25);
  EXPECT_DOUBLE_EQ(Judge("a a a a", 3, 0.5), -0.25);
  EXPECT_DOUBLE_EQ(Judge("a a a a", 32), 0);
}

TEST(RepetitionScorer, TakesCharactersOfScriptsWithoutBlanksAsWords) {
  EXPECT_DOUBLE_EQ(Judge("\xE6\x88\x91\xE4\xBB\xAC\xE7\x9A\x84\xE6\x88\x91\xE4\xBB\xAC\xE7\x9A\x84"), -0.25);
  EXPECT_EQ(Judge("\xFF\xFE \xFF \x80"), 0);
}

TEST(RepetitionScorer, StatesItsClass) {
  ScoreItem item;
  const RepetitionItemScorer scorer({2, 1});
  EXPECT_EQ(scorer.Judge(item).outcome, "no_repetition");
  item.completion = "a b c";
  EXPECT_EQ(scorer.Judge(item).outcome, "no_repetition");
  item.completion = "a b a b";
  EXPECT_EQ(scorer.Judge(item).outcome, "repetition");
}

TEST(RepetitionScorer, IsLinearOnLargeText) {
  std::string text;
  for (int i = 0; i < 500000; ++i) text += "a ";
  EXPECT_LT(Judge(text, 32), -0.99);
}

}  // namespace
}  // namespace sluice
