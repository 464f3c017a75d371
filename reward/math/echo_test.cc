#include "reward/math/echo.h"

#include <string>

#include "gtest/gtest.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

struct Row {
  const char *question, *gold, *prediction;
  bool repeats;
};

TEST(EchoTest, FormulaOfTheQuestionIsNoAnswer) {
  const Row rows[] = {
      {"Simplify $\\frac{x^2-1}{x-1}$.", "x+1", "\\frac{x^2-1}{x-1}", true},
      {"Simplify $\\frac{x^2-1}{x-1}$.", "x+1", "(x^2-1)/(x-1)", true},
      {"Simplify $\\frac{x^2-1}{x-1}$.", "x+1", "y = \\dfrac{x^2-1}{x-1}", true},
      {"Simplify (x^2-1)/(x-1).", "x+1", "\\frac{x^2-1}{x-1}", true},
      {"Simplify \\(\\frac{84}{144}\\).", "\\frac{7}{12}", "84/144", true},
      {"Expand $$(x+1)^2.$$", "x^2+2x+1", "(x+1)^2", true},
      {"Write $0.\\overline{27}$ as a fraction.", "\\frac{3}{11}", "0.\\overline{27}", true},
      {"What is $2.4 \\div 6$?", "0.4", "2.4\\div 6", true},
      {"What is 12 * 13?", "156", "12*13", true},
      {"Write $50\\%$ as a fraction.", "\\frac12", "50\\%", true},
      {"If $f(x) = \\sqrt{8}x$, find $f(1)$.", "2\\sqrt2", "\\sqrt8", false},
      {"How much is $z = \\sqrt{8}$?", "2\\sqrt2", "\\sqrt8", true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RepeatsQuestion(row.question, row.gold, row.prediction), row.repeats)
        << row.question << " " << row.prediction;
  }
}

TEST(EchoTest, AnswerThatIsWrittenLikeTheGoldIsOne) {
  const Row rows[] = {
      {"There are 8 apples and 3 pears.", "8", "8", false},
      {"He pays $8 for it.", "\\$8.00", "8", false},
      {"A rope of $18$ km.", "18\\text{ km}", "18", false},
      {"Let $a = \\frac{1}{2}$.", "1/2", "\\dfrac12", false},
      {"Let $a = \\sqrt{2}$.", "2^{1/2}", "\\sqrt2", false},
      {"It weighs 0.50 kg.", "0.5", "0.50", false},
      {"The point $(3,5)$ lies on it.", "(3,5)", "(3, 5)", false},
      {"The set $\\{1,2,3\\}$.", "\\{3,2,1\\}", "\\{1,2,3\\}", false},
      {"Simplify $\\frac{x^2-1}{x-1}$.", "x+1", "1+x", false},
      {"Which of $x$ and $y$ is larger?", "x", "x", false},
      {"", "x+1", "1+x", false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RepeatsQuestion(row.question, row.gold, row.prediction), row.repeats)
        << row.question << " " << row.prediction;
  }
}

TEST(EchoTest, VerifierNamesTheRuleAndOnlyRefusesWhatItWouldPay) {
  EquivalenceOptions options;
  options.question = "Simplify $\\frac{x^2-1}{x-1}$.";
  Explanation echo = ComparePair("x+1", "\\frac{x^2-1}{x-1}", options);
  EXPECT_EQ(echo.decision.answer, Answer::kDifferent);
  EXPECT_EQ(echo.decision.rule, "repeats the question");
  EXPECT_EQ(ComparePair("x+1", "1+x", options).decision.answer, Answer::kEqual);
  EXPECT_EQ(JudgeCompletion("x+1", "It is \\boxed{\\frac{x^2-1}{x-1}}.", options).decision.rule,
            "repeats the question");
  EXPECT_NE(ComparePair("x+2", "\\frac{x^2-1}{x-1}", options).decision.rule, "repeats the question");
}

TEST(EchoTest, LongQuestionIsReadToItsLimit) {
  std::string question(1 << 20, '$');
  EXPECT_FALSE(RepeatsQuestion(question, "x+1", "1+x"));
  for (int i = 0; i < 1000; ++i) question.insert(0, "$x+1$ ");
  EXPECT_FALSE(RepeatsQuestion(question, "x+1", "2+x-1"));
}

}  // namespace
}  // namespace sluice::math
