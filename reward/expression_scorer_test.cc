#include "reward/expression_scorer.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "reward/expression.h"

namespace sluice {
namespace {

using testing::HasSubstr;

ItemJudgement Judge(const std::string& completion, const std::string& numbers, const std::string& target) {
  ScoreItem item;
  item.completion = completion;
  item.fields = {{"numbers", numbers}, {"target", target}};
  return ExpressionItemScorer().Judge(item);
}

TEST(ExpressionScorerTest, ExpressionIsCorrectWhenItUsesTheNumbersAndReachesTheTarget) {
  for (const char* text : {"3*5+7", " 3 * 5 + 7\n", "7+5*3", "(3*5)+7", "((((3))))*5+7"}) {
    EXPECT_EQ(Judge(text, "3 5 7", "22").kind, VerdictKind::kCorrect) << text;
  }
  EXPECT_EQ(Judge("3/5", "5 3", "3/5").kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge("1/3*3", "1 3 3", "1").kind, VerdictKind::kCorrect);  // exact, no rounding
  EXPECT_EQ(Judge("3-5", "3 5", "-2").kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge("8-3-2", "8 3 2", "3").kind, VerdictKind::kCorrect);  // to the left
  EXPECT_EQ(Judge("8/4/2", "8 4 2", "1").kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge("1.5*2", "2 1.5", "3").kind, VerdictKind::kCorrect);
}

TEST(ExpressionScorerTest, NumbersAreAListOrWords) {
  for (const char* numbers :
       {"3 5 7", "[3, 5, 7]", " [3,5,7]\n", "[\"3\", \"5\", \"7\"]", "3, 5, 7", "3,5,7", "[3.0, 5, 7]"}) {
    EXPECT_EQ(Judge("3*5+7", numbers, "22").kind, VerdictKind::kCorrect) << numbers;
  }
  ScoreItem item;
  item.completion = "3*5+7";
  item.fields = {{"nums", "[3, 5, 7]"}, {"target", "22"}};
  EXPECT_EQ(ExpressionItemScorer().Judge(item).kind, VerdictKind::kCorrect);
}

TEST(ExpressionScorerTest, AnswerIsWhatTheLastTagAfterTheReasoningHolds) {
  for (const char* right :
       {"<think>3+5</think> <answer>3*5+7</answer>", "So.\n<answer> 3*5+7 </answer> done",
        "<answer>3+5+7</answer> no: <answer>3*5+7</answer>", "<think>3 <answer>3</answer></think>3*5+7",
        "opened by the prompt </think> <answer>3*5+7</answer>", "<answer>3*5+7"}) {
    EXPECT_EQ(Judge(right, "3 5 7", "22").kind, VerdictKind::kCorrect) << right;
  }
  for (const char* wrong :
       {"<answer>3*5+7</answer> <answer></answer>", "<think><answer>3*5+7</answer></think>", "<think>3*5+7",
        "<answer>3*5+7</answer></think>", "<answer>3*5+7 or 3+5+7</answer>", "it is 3*5+7"}) {
    EXPECT_EQ(Judge(wrong, "3 5 7", "22").outcome, "malformed") << wrong;
  }
}

TEST(ExpressionScorerTest, StatesItsClass) {
  EXPECT_EQ(Judge("3*5+7", "3 5 7", "22").outcome, "right");
  EXPECT_EQ(Judge("3*5-7", "3 5 7", "22").outcome, "wrong_value");
  EXPECT_EQ(Judge("22", "3 5 7", "22").outcome, "wrong_numbers");
  EXPECT_EQ(Judge("3/(5-5)", "3 5 5", "1").outcome, "malformed");
  EXPECT_EQ(Judge("3", "x", "3").outcome, "invalid_row");
}

TEST(ExpressionScorerTest, CharactersOfOtherScriptsAreNamedAsTheyAre) {
  EXPECT_THAT(Judge("3\xC3\x97"
                    "5",
                    "3 5", "15")
                  .detail,
              HasSubstr("malformed: '\xC3\x97' at byte 2"));
  EXPECT_THAT(Judge("3*", "3 5", "15").detail, HasSubstr("ends too early"));
}

TEST(ExpressionScorerTest, WrongExpressionSaysWhy) {
  EXPECT_THAT(Judge("3*5-7", "3 5 7", "22").detail, HasSubstr("wrong value \"8\""));
  EXPECT_THAT(Judge("3*5+7+0", "3 5 7", "22").detail, HasSubstr("wrong numbers"));
  EXPECT_THAT(Judge("22", "3 5 7", "22").detail, HasSubstr("wrong numbers"));
  EXPECT_THAT(Judge("15+7", "3 5 7", "22").detail, HasSubstr("wrong numbers"));
  EXPECT_THAT(Judge("3+3", "3", "6").detail, HasSubstr("wrong numbers"));
  EXPECT_THAT(Judge("3/(5-5)", "3 5 5", "1").detail, HasSubstr("division by zero"));
  for (const char* text :
       {"", " ", "3*5+7=22", "3*5+", "(3*5+7", "3*5+7)", "-3*5+7", "3**5+7", "3 5 7", "3x5+7", "f(3)",
        "3*5+7;", "3*5+\xFF", "()", "3()5", "1e3", "3.", ".5", "3*5+7 is 22"}) {
    ItemJudgement j = Judge(text, "3 5 7", "22");
    EXPECT_EQ(j.kind, VerdictKind::kWrong) << text;
    EXPECT_THAT(j.detail, HasSubstr("malformed")) << text;
  }
}

TEST(ExpressionScorerTest, BadFieldsAreUndecided) {
  EXPECT_EQ(Judge("3", "", "3").kind, VerdictKind::kUndecided);
  EXPECT_EQ(Judge("3", "3 x", "3").kind, VerdictKind::kUndecided);
  for (const char* numbers : {"-3", "[]", "[3", "[3,]", "[[3]]", "[null]", "[3] 3", "3;3", "1e3"})
    EXPECT_EQ(Judge("3", numbers, "3").kind, VerdictKind::kUndecided) << numbers;
  EXPECT_EQ(Judge("3", "3", "x").kind, VerdictKind::kUndecided);
  std::string many;
  for (int i = 0; i < 65; ++i) many += "1 ";
  EXPECT_EQ(Judge("3", many, "3").kind, VerdictKind::kUndecided);
  ScoreItem item;
  EXPECT_THAT(ExpressionItemScorer().Judge(item).detail, HasSubstr("\"numbers\""));
  item.fields["numbers"] = "3";
  EXPECT_THAT(ExpressionItemScorer().Judge(item).detail, HasSubstr("\"target\""));
}

TEST(ExpressionTest, DepthAndLengthAreBounded) {
  auto nested = [](int depth) { return std::string(depth, '(') + "1" + std::string(depth, ')'); };
  EXPECT_TRUE(EvaluateExpression(nested(kMaxExpressionDepth)).ok());
  EXPECT_THAT(std::string(EvaluateExpression(nested(kMaxExpressionDepth + 1)).status().message()),
              HasSubstr("deeper"));
  EXPECT_THAT(std::string(EvaluateExpression(std::string(1 << 20, '(')).status().message()),
              HasSubstr("longer"));
  std::string product = std::string(2000, '9') + "*" + std::string(2000, '9');
  EXPECT_TRUE(EvaluateExpression(product).ok());
}

}  // namespace
}  // namespace sluice
