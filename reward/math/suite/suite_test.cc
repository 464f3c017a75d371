// Every row of the suite and of the given examples, judged as a job would judge it. Each clear row holds but
// those that are known to be wrong, which fail once they are right; rows that people differ on are printed
// and not asserted.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "gtest/gtest.h"
#include "reward/math/suite/rows.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

struct Tally {
  int rows = 0, right = 0, false_positives = 0, undecided = 0, known = 0;
};

const char* Name(Answer answer) {
  return answer == Answer::kEqual ? "EQUAL" : answer == Answer::kDifferent ? "DIFFERENT" : "UNDECIDED";
}

void Print(const char* name, const Tally& tally) {
  std::printf("  %-22s %5d rows %5d right %3d false positives %3d undecided\n", name, tally.rows, tally.right,
              tally.false_positives, tally.undecided);
}

using Judgement = Explanation (*)(absl::string_view, absl::string_view, const EquivalenceOptions&);

// An undecided row counts as right where the answer is wrong: it pays nothing.
Tally Judge(const std::vector<SuiteRow>& rows, Judgement judge) {
  std::map<std::string, Tally> categories;
  Tally all, debatable;
  for (const SuiteRow& row : rows) {
    const Explanation told = judge(row.gold, row.answer, {});
    const Answer answer = told.decision.answer;
    const bool right = (answer == Answer::kEqual) == row.expected;
    for (Tally* tally : {row.clear ? &all : &debatable, &categories[row.category]}) {
      if (!row.clear && tally != &debatable) continue;
      ++tally->rows;
      tally->right += right;
      tally->false_positives += answer == Answer::kEqual && !row.expected;
      tally->undecided += answer == Answer::kUndecided;
    }
    if (row.clear && row.known) {
      ++all.known;
      EXPECT_FALSE(right) << "line " << row.line << " is judged right: it is not \"known\" any more";
    }
    if (row.clear && !row.known) {
      EXPECT_TRUE(right) << "line " << row.line;
    }
    if (right) continue;
    std::printf("%s line %d [%s] gold {%s} answer {%s} expected %s, is %s by %s%s\n",
                row.clear ? "WRONG" : "differs", row.line, row.category.c_str(), row.gold.c_str(),
                row.answer.c_str(), row.expected ? "EQUAL" : "not EQUAL", Name(answer),
                told.decision.rule.c_str(), told.reason.empty() ? "" : (": " + told.reason).c_str());
  }
  for (const auto& [name, tally] : categories) Print(name.c_str(), tally);
  Print("all clear rows", all);
  Print("debatable rows", debatable);
  return all;
}

TEST(MathSuiteTest, PairsAreJudgedAsACarefulPersonWould) {
  const auto rows = ReadSuite(SLUICE_SOURCE_DIR "/reward/math/suite/pairs.jsonl");
  ASSERT_GE(rows.size(), 500u);
  const Tally tally = Judge(rows, ComparePair);
  EXPECT_EQ(tally.false_positives, 0);
  EXPECT_LE(tally.known, 0.015 * tally.rows);
}

TEST(MathSuiteTest, CompletionsAreJudgedAsACarefulPersonWould) {
  const auto rows = ReadSuite(SLUICE_SOURCE_DIR "/reward/math/suite/completions.jsonl");
  ASSERT_GE(rows.size(), 120u);
  const Tally tally = Judge(rows, JudgeCompletion);
  EXPECT_EQ(tally.false_positives, 0);
  EXPECT_LE(tally.known, 0.015 * tally.rows);
}

TEST(MathSuiteTest, GivenExamplesAreAllRight) {
  const char* folder = std::getenv("SLUICE_DATA_DIR");
  if (folder == nullptr) GTEST_SKIP() << "SLUICE_DATA_DIR is not set: the given examples are not there";
  const auto rows = ReadSuite(std::string(folder) + "/math_equivalence_examples.jsonl");
  const Tally tally = Judge(rows, ComparePair);
  EXPECT_EQ(tally.rows, 60);
  EXPECT_EQ(tally.right, tally.rows);
}

// In a box of a completion a pair is judged as it is bare.
TEST(MathSuiteTest, PairsInABoxAreJudgedAsBareOnes) {
  int boxed = 0, same = 0;
  for (const SuiteRow& row : ReadSuite(SLUICE_SOURCE_DIR "/reward/math/suite/pairs.jsonl")) {
    if (!row.clear || row.category == "malformed" || row.answer.empty()) continue;
    if (row.answer.find_first_of("$\n`*") != std::string::npos) continue;
    if (row.answer.find("boxed") != std::string::npos || row.answer.back() == '\\') continue;
    ++boxed;
    const std::string completion = "Adding 3 and 4 we get 7, so \\boxed{" + row.answer + "} as asked.";
    const Answer bare = ComparePair(row.gold, row.answer).decision.answer;
    const Answer in_box = JudgeCompletion(row.gold, completion).decision.answer;
    same += bare == in_box;
    EXPECT_FALSE(in_box == Answer::kEqual && !row.expected) << row.gold << " against " << row.answer;
    if (bare != in_box) std::printf("boxed differs: {%s} {%s}\n", row.gold.c_str(), row.answer.c_str());
  }
  EXPECT_GT(boxed, 1000);
  EXPECT_GE(same, 0.995 * boxed);
}

}  // namespace
}  // namespace sluice::math
