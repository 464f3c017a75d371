#include "reward/math_scorer.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

constexpr auto kCorrect = VerdictKind::kCorrect;
constexpr auto kWrong = VerdictKind::kWrong;
constexpr auto kUndecided = VerdictKind::kUndecided;

ItemJudgement JudgeCompletion(const std::string& completion, const std::string& answer,
                              bool explain = false) {
  ScoreItem item;
  item.completion = completion;
  item.fields["answer"] = answer;
  item.explain = explain;
  return MathItemScorer().Judge(item);
}

ItemJudgement JudgeFields(std::map<std::string, std::string> fields) {
  ScoreItem item;
  item.fields = std::move(fields);
  return MathItemScorer({MathMode::kPair}).Judge(item);
}

TEST(MathScorerTest, CompletionIsJudgedByItsExtractedAnswer) {
  const struct {
    const char *completion, *answer;
    VerdictKind kind;
  } cases[] = {
      {"so \\boxed{72}", "72", kCorrect},
      {"\\boxed{1} no, \\boxed{72} and 9", "72", kCorrect},
      {"\\boxed{72} no, \\boxed{1}", "72", kWrong},
      {"\\boxed{\\frac{3}{4}}", "0.75", kCorrect},
      {"$\\boxed{\\$72}$", "72", kCorrect},
      {"\\boxed{72\\text{ km}}", "72", kCorrect},
      {"\\boxed{x=72}", "72", kCorrect},
      {"\\boxed{7=72}", "72", kWrong},
      {"\\boxed{x+1} is 72", "72", kWrong},
      {"\\boxed{72 or 73}", "72", kWrong},
      {"\\boxed{20241}", "20240", kWrong},
      {"\\boxed{0.05}", "5", kWrong},
      {"1 + 1 = 2\n#### 72", "72", kCorrect},
      {"#### $1,072 dollars\n", "1072", kCorrect},
      {"The answer is $72.", "72.00", kCorrect},
      {"It is 72, no, 73", "72", kWrong},
      {"no answer at all", "72", kWrong},
      {"", "72", kWrong},
      {"72", "48/2 = <<48/2=24>>24\n#### 72", kCorrect},
      {"72", "\\boxed{72}", kCorrect},
      {"\\boxed{x}", "x", kCorrect},
      {"\\boxed{4}", "4\\sqrt{2}", kWrong},
      {"\\boxed{\\frac{1}{2004!}}", "\\frac{1}{2006!}", kWrong},
  };
  for (const auto& c : cases)
    EXPECT_EQ(JudgeCompletion(c.completion, c.answer).kind, c.kind)
        << c.completion << " against " << c.answer;
}

TEST(MathScorerTest, PairComparesTwoFieldsWhateverTheCompletion) {
  EXPECT_EQ(JudgeFields({{"gold", "\\frac12"}, {"prediction", "0.5"}}).kind, kCorrect);
  EXPECT_EQ(JudgeFields({{"gold", "\\frac12"}, {"prediction", "0.6"}}).kind, kWrong);
  EXPECT_EQ(JudgeFields({{"gold", "[1,2]"}, {"prediction", ""}}).kind, kWrong);
}

TEST(MathScorerTest, RepeatingThePromptIsWrong) {
  for (MathMode mode : {MathMode::kCompletion, MathMode::kPair}) {
    ScoreItem item;
    item.prompt = "Simplify $\\frac{x^2-1}{x-1}$.";
    item.completion = "\\boxed{\\frac{x^2-1}{x-1}}";
    item.fields = {{"answer", "x+1"}, {"gold", "x+1"}, {"prediction", "\\frac{x^2-1}{x-1}"}};
    ItemJudgement echo = MathItemScorer({mode}).Judge(item);
    EXPECT_EQ(echo.kind, kWrong);
    EXPECT_EQ(echo.outcome, "repeats the question");
    item.completion = "\\boxed{1+x}";
    item.fields["prediction"] = "1+x";
    EXPECT_EQ(MathItemScorer({mode}).Judge(item).kind, kCorrect);
  }
}

TEST(MathScorerTest, UnreadableGoldIsUndecided) {
  ItemJudgement j = JudgeFields({{"gold", "\\frac{"}, {"prediction", "\\frac{"}});
  EXPECT_EQ(j.kind, kUndecided);
  EXPECT_EQ(j.outcome, "unreadable gold");
}

TEST(MathScorerTest, RowWithoutItsFieldsIsInvalid) {
  ScoreItem item;
  item.completion = "72";
  ItemJudgement no_answer = MathItemScorer().Judge(item);
  EXPECT_THAT(no_answer.detail, HasSubstr("\"answer\""));
  ItemJudgement no_gold = JudgeFields({{"prediction", "1"}});
  EXPECT_THAT(no_gold.detail, HasSubstr("\"gold\""));
  ItemJudgement no_prediction = JudgeFields({{"gold", "1"}});
  EXPECT_THAT(no_prediction.detail, HasSubstr("\"prediction\""));
  ItemJudgement empty = JudgeCompletion("72", " \n");
  EXPECT_THAT(empty.detail, HasSubstr("empty"));
  for (const ItemJudgement& j : {no_answer, no_gold, no_prediction, empty}) {
    EXPECT_EQ(j.kind, kUndecided);
    EXPECT_EQ(j.outcome, "invalid_row");
  }
}

TEST(MathScorerTest, OutcomeIsTheRuleThatDecided) {
  EXPECT_EQ(JudgeCompletion("\\boxed{0.75}", "3/4").outcome, "rational");
  EXPECT_EQ(JudgeCompletion("\\boxed{(x+1)^2}", "x^2+2x+1").outcome, "polynomial");
  EXPECT_EQ(JudgeCompletion("\\boxed{2\\ln 5}", "\\ln 24").kind, kWrong);
}

TEST(MathScorerTest, PastALimitIsUndecidedAndNamesIt) {
  ItemJudgement j = JudgeCompletion("\\boxed{" + std::string(20000, '7') + "}", "7");
  EXPECT_EQ(j.kind, kUndecided);
  EXPECT_THAT(j.detail, HasSubstr("16384"));
  EXPECT_EQ(JudgeCompletion("7", std::string(20000, '7')).kind, kUndecided);
}

TEST(MathScorerTest, DetailIsPlainTextAndShort) {
  for (bool explain : {false, true}) {
    ItemJudgement j = JudgeCompletion("\\boxed{\xFF\xFE" + std::string(1000, 'a') + "}", "7", explain);
    EXPECT_LT(j.detail.size(), 1500u);
    for (char c : j.detail) EXPECT_TRUE((c >= 0x20 && c < 0x7F) || (explain && c == '\n')) << j.detail;
  }
}

TEST(MathScorerTest, ExplanationTellsWhatWasComparedAndHow) {
  std::string detail = JudgeCompletion("so \\boxed{(x+1)^2}", "x^2+2x+1", true).detail;
  for (const char* part : {"extracted by", "boxed", "polynomial", "x^2"})
    EXPECT_THAT(detail, HasSubstr(part));
}

TEST(MathScorerTest, HugeAndBrokenCompletionsAreJudged) {
  std::string huge(10 << 20, 'x');
  EXPECT_NE(JudgeCompletion(huge, "7").kind, kCorrect);
  EXPECT_EQ(JudgeCompletion(huge + " \\boxed{7}", "7").kind, kCorrect);
  EXPECT_EQ(JudgeCompletion("\xFF\xC0\x80 \\boxed{7}", "7").kind, kCorrect);
}

}  // namespace
}  // namespace sluice
