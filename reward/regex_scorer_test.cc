#include "reward/regex_scorer.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

ItemJudgement Search(const std::string& pattern, const std::string& completion) {
  auto scorer = RegexItemScorer::Create(pattern);
  EXPECT_TRUE(scorer.ok()) << scorer.status();
  ScoreItem item;
  item.completion = completion;
  return (*scorer)->Judge(item);
}

VerdictKind Judge(const std::string& pattern, const std::string& completion) {
  return Search(pattern, completion).kind;
}

TEST(RegexScorerTest, StatesItsClass) {
  EXPECT_EQ(Search("a", "cat").outcome, "match");
  EXPECT_EQ(Search("a", "dog").outcome, "no_match");
  EXPECT_EQ(Search("(.*a){12}b", std::string(3000, 'a') + "cb").outcome, "search_limit");
}

TEST(RegexScorerTest, PatternIsSearchedInTheCompletion) {
  EXPECT_EQ(Judge("<answer>.*</answer>", "so <answer>7</answer>."), VerdictKind::kCorrect);
  EXPECT_EQ(Judge("<answer>.*</answer>", "<answer>\n7\n</answer>"),
            VerdictKind::kCorrect);  // dot matches line ends
  EXPECT_EQ(Judge("<answer>.*</answer>", "<answer>7"), VerdictKind::kWrong);
  EXPECT_EQ(Judge("^\\d+$", "17"), VerdictKind::kCorrect);
  EXPECT_EQ(Judge("^\\d+$", "a17"), VerdictKind::kWrong);
  EXPECT_EQ(Judge("^.$", "\xC3\xA9"), VerdictKind::kCorrect);  // one character, two bytes
  EXPECT_EQ(Judge("a", ""), VerdictKind::kWrong);
  EXPECT_EQ(Judge("a.b", std::string("xa\0by", 5)), VerdictKind::kCorrect);
}

TEST(RegexScorerTest, InvalidUtf8IsSearchedAround) {
  EXPECT_EQ(Judge("answer", "\xFF\xFE answer \xC3"), VerdictKind::kCorrect);
  EXPECT_EQ(Judge("answer", "\xFF\xFE\xC3"), VerdictKind::kWrong);
}

TEST(RegexScorerTest, SearchOverTheLimitIsUndecided) {
  EXPECT_EQ(Judge("^(a+)+$", std::string(64, 'a') + "b"), VerdictKind::kUndecided);
  EXPECT_EQ(Judge("(x+x+)+y", std::string(64, 'x')), VerdictKind::kWrong);  // "y" must occur: decided at once
  EXPECT_EQ(Judge("(x+x+)+y", std::string(64, 'x') + "zy"), VerdictKind::kUndecided);
  EXPECT_EQ(Judge("(.*a){12}b", std::string(3000, 'a') + "cb"), VerdictKind::kUndecided);
}

// Each of these takes quadratic time on a text of this size where only PCRE2's own limits hold.
TEST(RegexScorerTest, SearchOfALongTextEnds) {
  std::string text(1 << 20, 'a');
  for (const char* pattern :
       {"a*+y", "[^x]*+y", "a{1,1000}y", "(?=.*a)(?=.*q)", "(a|b)*c", ".*?y", "\\w+\\s*=\\s*x"}) {
    for (const char* tail : {"", "y>q c x"}) {
      EXPECT_NE(Judge(pattern, text + tail), VerdictKind::kInfrastructure) << pattern;
    }
  }
}

TEST(RegexScorerTest, BadPatternIsRefusedWithItsPlace) {
  auto bad = RegexItemScorer::Create("a(b");
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bad.status().message()), testing::HasSubstr("at byte 3"));
  EXPECT_FALSE(RegexItemScorer::Create("").ok());
  EXPECT_FALSE(RegexItemScorer::Create("\xFF").ok());
  EXPECT_FALSE(RegexItemScorer::Create(std::string(4097, 'a')).ok());
  EXPECT_TRUE(RegexItemScorer::Create(std::string(4096, 'a')).ok());
}

}  // namespace
}  // namespace sluice
