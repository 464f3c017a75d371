#include "reward/answer.h"

#include <string>

#include "gtest/gtest.h"
#include "reward/math_scorer.h"

namespace sluice {
namespace {

VerdictKind Judge(const std::string& completion, const std::string& gold) {
  ScoreItem item;
  item.completion = completion;
  item.fields["answer"] = gold;
  return MathItemScorer().Judge(item).kind;
}
constexpr auto kCorrect = VerdictKind::kCorrect;
constexpr auto kWrong = VerdictKind::kWrong;
constexpr auto kUndecided = VerdictKind::kUndecided;

TEST(MathScorerTest, AnswerIsComparedExactlyByTheFirstRuleThatApplies) {
  const struct {
    const char *completion, *gold;
    VerdictKind kind;
  } cases[] = {
      // The box.
      {"so \\boxed{72}", "72", kCorrect},
      {"\\boxed{1} no, \\boxed{72} and 9", "72", kCorrect},
      {"\\boxed{72} no, \\boxed{1}", "72", kWrong},
      {"\\boxed{\\frac{3}{4}}", "0.75", kCorrect},
      {"\\boxed{0.75}", "3/4", kCorrect},
      {"\\boxed {72}", "72", kCorrect},
      {"$\\boxed{\\$72}$", "72", kCorrect},
      {"\\boxed{72\\text{ km}}", "72", kCorrect},
      {"\\boxed{x=72}", "72", kCorrect},
      {"\\boxed{7=72}", "72", kWrong},
      {"\\boxed{x+1} is 72", "72", kWrong},
      {"\\boxed{} 72", "72", kWrong},
      {"\\boxed{72 or 73}", "72", kWrong},
      {"\\boxed{72} then \\boxed{73", "72", kCorrect},  // the second one is not complete
      {"\\boxed{1\\boxed{72}}", "72", kCorrect},
      {"it is 5 \\boxed{72", "72", kCorrect},
      {"\\boxed{20241}", "20240", kWrong},
      {"\\boxed{0.05}", "5", kWrong},
      // The hashes.
      {"1 + 1 = 2\n#### 72", "72", kCorrect},
      {"#### 72.", "72", kCorrect},
      {"#### 72.0", "72", kCorrect},
      {"#### $72", "72", kCorrect},
      {"#### $1,072 dollars\n", "1072", kCorrect},
      {"#### 3\n#### 72\nSo 9", "72", kCorrect},
      {"#### The answer is 72, not 73", "72", kCorrect},
      {"####\n72", "72", kCorrect},
      {"#### -72", "-72", kCorrect},
      {"#### 2^5", "32", kWrong},
      {"#### 2^5", "2", kWrong},
      {"it is 72 ####", "72", kCorrect},
      {"####72####", "72", kCorrect},
      // The last number.
      {"72", "72", kCorrect},
      {"The answer is $72.", "72.00", kCorrect},
      {"It is 73, no, 72", "72", kCorrect},
      {"It is 72, no, 73", "72", kWrong},
      {"sue72", "72", kWrong},
      {"no number at all", "72", kWrong},
      {"", "72", kWrong},
      {"#### ", "72", kWrong},
      {"ten", "10", kWrong},
      // Gold in other shapes.
      {"72", "48/2 = <<48/2=24>>24\n#### 72", kCorrect},
      {"72", "\\boxed{72}", kCorrect},
      {"72", "$72", kCorrect},
      {"1000", "1,000", kCorrect},
      {"50%", "50", kCorrect},
      {"0.5", "50%", kWrong},
      // Gold that is no number decides nothing.
      {"72", "seventy-two", kUndecided},
      {"72", "", kUndecided},
      {"72", "72 or 73", kUndecided},
      {"x", "x", kUndecided},
      {"\\boxed{4}", "4\\sqrt{2}", kUndecided},
      {"1/2004", "1/2004!", kUndecided},
  };
  for (const auto& c : cases)
    EXPECT_EQ(Judge(c.completion, c.gold), c.kind) << c.completion << " against " << c.gold;
}

TEST(MathScorerTest, MissingAnswerFieldIsUndecided) {
  ScoreItem item;
  item.completion = "72";
  ItemJudgement j = MathItemScorer().Judge(item);
  EXPECT_EQ(j.kind, kUndecided);
  EXPECT_NE(j.detail.find("\"answer\""), std::string::npos);
}

TEST(MathScorerTest, NumberOverTheLimitIsUndecided) {
  std::string huge(kMaxDigits + 1, '7');
  EXPECT_EQ(Judge(huge, "7"), kUndecided);
  EXPECT_EQ(Judge("\\boxed{" + huge + "}", "7"), kUndecided);
  EXPECT_EQ(Judge("7", huge), kUndecided);
  EXPECT_EQ(Judge(std::string(100000, '7'), "7"), kUndecided);
  EXPECT_EQ(Judge("\\boxed{1e999999999}", "7"), kUndecided);
}

TEST(MathScorerTest, DetailNamesTheRuleAndIsPlainText) {
  ScoreItem item;
  item.fields["answer"] = "7";
  item.completion = "\\boxed{\xFF\xFE" + std::string(1000, 'a') + "}";
  ItemJudgement j = MathItemScorer().Judge(item);
  EXPECT_NE(j.detail.find("\\boxed{}"), std::string::npos);
  EXPECT_LT(j.detail.size(), 600u);
  for (char c : j.detail) EXPECT_TRUE(c >= 0x20 && c < 0x7F);
}

}  // namespace
}  // namespace sluice
