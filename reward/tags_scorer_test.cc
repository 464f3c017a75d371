#include "reward/tags_scorer.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

ItemJudgement Judge(const std::string& completion, bool nothing_outside = false,
                    bool all_or_nothing = false) {
  ScoreItem item;
  item.completion = completion;
  return TagsItemScorer({{"think", "answer"}, nothing_outside, all_or_nothing}).Judge(item);
}

TEST(TagsScorer, PaysTheShareOfTagsThatStandAsAsked) {
  const struct {
    const char* completion;
    double value;
  } cases[] = {
      {"<think>a</think> <answer>b</answer>", 1},
      {"before <think>a</think> between <answer>b</answer> after", 1},
      {"<think>a</think>", 0.5},
      {"<answer>b</answer> <think>a</think>", 0.5},                 // one of them keeps the order
      {"<think>a <answer>b</answer> </think>", 0.5},                // overlap
      {"<think>a</think><think>a</think><answer>b</answer>", 0.5},  // twice
      {"<think>a</think></think><answer>b</answer>", 0.5},
      {"</think>a<think><answer>b</answer>", 0.5},
      {"<think></think><answer></answer>", 0},  // nothing in them
      {"<think> \n\t</think><answer>b</answer>", 0.5},
      {"<think>\xE2\x80\x8B\xC2\xA0\xE3\x85\xA4\xE2\xA0\x80\xC2\xAD</think><answer>b</answer>",
       0.5},  // nothing that shows
      {"<think>\xE6\x88\x91</think><answer>.</answer>", 1},
      {"<think>a<answer>b", 0},
      {"<THINK>a</THINK>", 0},
      {"think answer", 0},
      {"", 0},
  };
  for (const auto& c : cases) {
    const ItemJudgement judged = Judge(c.completion);
    EXPECT_DOUBLE_EQ(judged.value, c.value) << c.completion;
    EXPECT_EQ(judged.kind, c.value == 1   ? VerdictKind::kCorrect
                           : c.value == 0 ? VerdictKind::kWrong
                                          : VerdictKind::kGraded)
        << c.completion;
  }
}

TEST(TagsScorer, CountsTextOutsideWhereItIsAskedFor) {
  EXPECT_EQ(Judge(" <think>a</think>\n<answer>b</answer>\n", true).value, 1);
  EXPECT_DOUBLE_EQ(Judge("so: <think>a</think><answer>b</answer>", true).value, 2.0 / 3);
  EXPECT_DOUBLE_EQ(Judge("<think>a</think>x<answer>b</answer>", true).value, 2.0 / 3);
  EXPECT_EQ(Judge("<think>a</think><answer>b</answer> x", true, true).value, 0);
  EXPECT_EQ(Judge("<think>a</think>", false, true).value, 0);
  EXPECT_EQ(Judge("<think>a</think><answer>b</answer>", true, true).value, 1);
}

TEST(TagsScorer, PaysNothingForSilence) {
  EXPECT_EQ(Judge("", true).value, 0);
  EXPECT_EQ(Judge(" \n", true).value, 0);
  EXPECT_EQ(Judge("<think></think><answer></answer>", true).value, 0);
}

TEST(TagsScorer, StatesItsClass) {
  EXPECT_EQ(Judge("<think>a</think><answer>b</answer>", true).outcome, "as_asked");
  EXPECT_EQ(Judge("<think>a</think><answer>b</answer>!", true).outcome, "text_outside");
  EXPECT_EQ(Judge("<think></think><answer>b</answer>").outcome, "empty_tag");
  EXPECT_EQ(Judge("<answer>b</answer>").outcome, "missing_tag");
  EXPECT_EQ(Judge("").outcome, "missing_tag");
}

TEST(TagsScorer, FindsTheLongestRunAmongMany) {
  ScoreItem item;
  item.completion = "<c>1</c> <a>2</a> <b>3</b>";
  EXPECT_DOUBLE_EQ(TagsItemScorer({{"a", "b", "c"}}).Judge(item).value, 2.0 / 3);
}

}  // namespace
}  // namespace sluice
