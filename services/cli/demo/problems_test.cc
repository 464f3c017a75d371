#include "services/cli/demo/problems.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {
namespace {

const DemoTask kSmall{.training_problems = 500, .held_out_per_kind = 30, .warm_rows = 600};

// The digits of a prompt or a completion, in rising order.
std::string SetOf(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c >= '1' && c <= '9') out += c;
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(ProblemsTest, AsksForTheDigitsInRisingOrder) {
  const Problem problem{{5, 2, 8}};
  EXPECT_EQ(problem.prompt(), "5 2 8:");
  EXPECT_EQ(problem.answer(), "258");
  EXPECT_EQ(problem.kind(), "three digits");
}

TEST(ProblemsTest, SharesNoDigitSetBetweenTrainingAndHeldOut) {
  const ProblemSet set = MakeProblems(kSmall, 1);
  std::set<std::string> seen;
  for (const Problem& p : set.training) seen.insert(SetOf(p.prompt()));
  for (const WarmRow& row : set.warm) seen.insert(SetOf(row.prompt));
  for (const Problem& p : set.held_out) EXPECT_EQ(seen.count(SetOf(p.prompt())), 0u) << p.prompt();
}

TEST(ProblemsTest, HasEachKindAndDistinctHeldOutProblems) {
  const ProblemSet set = MakeProblems(kSmall, 3);
  std::map<std::string, int> kinds;
  std::set<std::string> prompts;
  for (const Problem& p : set.held_out) {
    ++kinds[p.kind()];
    prompts.insert(p.prompt());
  }
  EXPECT_EQ(kinds,
            (std::map<std::string, int>{{"three digits", 30}, {"four digits", 30}, {"five digits", 30}}));
  EXPECT_EQ(prompts.size(), 90u);
  std::map<std::string, int> training;
  for (const Problem& p : set.training) ++training[p.kind()];
  for (const auto& [kind, count] : training) EXPECT_NEAR(count, 500 / 3, 50) << kind;
}

TEST(ProblemsTest, IsAFunctionOfTheSeed) {
  const ProblemSet a = MakeProblems(kSmall, 4), b = MakeProblems(kSmall, 4), c = MakeProblems(kSmall, 5);
  EXPECT_EQ(PromptRows(a.training, "t"), PromptRows(b.training, "t"));
  EXPECT_EQ(WarmRows(a.warm), WarmRows(b.warm));
  EXPECT_NE(PromptRows(a.training, "t"), PromptRows(c.training, "t"));
  EXPECT_NE(PromptRows(a.held_out, "t"), PromptRows(c.held_out, "t"));
}

TEST(ProblemsTest, ShowsRandomOrdersInTheWarmUp) {
  const ProblemSet set = MakeProblems(kSmall, 6);
  int right = 0;
  for (const WarmRow& row : set.warm) {
    EXPECT_EQ(SetOf(row.completion), SetOf(row.prompt));
    EXPECT_EQ(row.completion.size(), SetOf(row.prompt).size());
    right += row.completion == SetOf(row.prompt);
  }
  // By chance (1/6 + 1/24 + 1/120) / 3, about 7 in 100, are sorted: 43 of 600, standard deviation 6.3.
  EXPECT_GT(right, 15);
  EXPECT_LT(right, 75);
}

TEST(ProblemsTest, WritesRowsWithDistinctIds) {
  const ProblemSet set = MakeProblems(kSmall, 7);
  std::set<std::string> ids;
  for (absl::string_view line : absl::StrSplit(PromptRows(set.training, "train"), '\n', absl::SkipEmpty())) {
    const auto row = nlohmann::json::parse(line.begin(), line.end());
    ids.insert(row["id"].get<std::string>());
    EXPECT_TRUE(row["answer"].is_string() && row["kind"].is_string());
  }
  EXPECT_EQ(ids.size(), set.training.size());
}

}  // namespace
}  // namespace sluice::cli
