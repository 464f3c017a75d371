#include "reward/math/parse/legible.h"

#include "gtest/gtest.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

TEST(LegibleTest, BrokenReferenceDecidesNothing) {
  for (const char* gold : {"\\frac{", "\\frac{1}{", "x^", "3+", "(2,", "\\sqrt", "=", "?", ")", "1 + +",
                           "\\frac{}{}", "\\begin{pmatrix} 1 & 2 \\\\ 3"}) {
    for (const char* prediction : {gold, "3", "\\frac{1}{2}"}) {
      Explanation e = ComparePair(gold, prediction);
      EXPECT_EQ(e.decision.answer, Answer::kUndecided) << gold << " against " << prediction;
      EXPECT_EQ(e.decision.rule, "unreadable gold") << gold << " against " << prediction;
      EXPECT_FALSE(e.reason.empty());
    }
  }
  EXPECT_EQ(JudgeCompletion("\\frac{", "").decision.rule, "unreadable gold");
}

TEST(LegibleTest, MendedReferenceAndWordsAreWhole) {
  const struct {
    const char *gold, *prediction;
  } rows[] = {{"\\frac{1}{2", "0.5"},
              {"(2,3", "(2,3)"},
              {"\\text{none}", "none"},
              {"\\clubsuit", "\\clubsuit"},
              {"0^+", "0^+"},
              {"3:30\\text{ p.m.}", "3:30 PM"},
              {"\\mathbb{R}^+", "\\mathbb{R}^+"},
              {"5,", "5"},
              {"**5**", "5"},
              {"A", "A"},
              {"\\{\\}", "\\emptyset"}};
  for (const auto& row : rows) {
    EXPECT_EQ(ComparePair(row.gold, row.prediction).decision.answer, Answer::kEqual) << row.gold;
  }
}

}  // namespace
}  // namespace sluice::math
