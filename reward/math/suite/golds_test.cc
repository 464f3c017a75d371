// Every gold of MATH and GSM8K rewritten: another spelling of the value is the same answer, another value
// never is.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reward/math/suite/rewrites.h"
#include "reward/math/suite/rows.h"
#include "reward/math/verifier.h"

namespace sluice::math {
namespace {

struct Count {
  int total = 0, missed = 0, undecided = 0;
};

class GoldsTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("SLUICE_DATA_DIR");
    if (folder == nullptr) GTEST_SKIP() << "SLUICE_DATA_DIR is not set: the golds are not there";
    folder_ = folder;
  }

  void Check(const std::string& gold, const Rewritten& other, bool same) {
    const Explanation told = ComparePair(gold, other.text);
    Count& count = same ? same_ : other_;
    ++count.total;
    count.undecided += told.decision.answer == Answer::kUndecided;
    if ((told.decision.answer == Answer::kEqual) == same) return;
    ++count.missed;
    std::printf("%s by \"%s\": {%s} against {%s}, %s %s\n", same ? "NOT EQUAL" : "EQUAL", other.by.c_str(),
                gold.c_str(), other.text.c_str(), told.decision.rule.c_str(), told.reason.c_str());
  }

  void ExpectAllRight(int least) const {
    std::printf("%d same: %d missed; %d others: %d taken for equal, %d undecided\n", same_.total,
                same_.missed, other_.total, other_.missed, other_.undecided);
    EXPECT_GT(same_.total, least);
    EXPECT_GT(other_.total, least);
    EXPECT_EQ(same_.missed, 0);
    EXPECT_EQ(other_.missed, 0);
    EXPECT_LT(other_.undecided, 0.01 * other_.total);
  }

  std::string folder_;
  Count same_, other_;
};

TEST_F(GoldsTest, MathGoldsAreThemselvesRewrittenAndNothingElse) {
  for (const std::string& gold : ReadMember(folder_ + "/math/test.jsonl", "answer")) {
    Check(gold, {"itself", gold}, true);
    for (const Rewritten& other : SameValue(gold)) Check(gold, other, true);
    for (const Rewritten& other : OtherValue(gold)) Check(gold, other, false);
  }
  ExpectAllRight(5000);
}

TEST_F(GoldsTest, GradeSchoolGoldsAreThemselvesAsPeopleWriteNumbers) {
  for (const char* file : {"/gsm8k/test.jsonl", "/gsm8k/train.jsonl"}) {
    for (const std::string& gold : ReadMember(folder_ + file, "answer")) {
      for (const Rewritten& other : SameValue(gold)) Check(gold, other, true);
      for (const char* form : {"$%", "\\$%", "%.00", "$%.00", "%.", "% dollars", "%\\text{ apples}", "**%**",
                               "%\\,\\text{cm}", "%.0", "#### %", "x = %", "The answer is %."}) {
        std::string text = form;
        Check(gold, {form, text.replace(text.find('%'), 1, gold)}, true);
      }
      for (const Rewritten& other : OtherValue(gold)) Check(gold, other, false);
    }
  }
  ExpectAllRight(5000);
}

// The whole solution, its answer last, as the reward of a job sees it.
TEST_F(GoldsTest, GradeSchoolSolutionsAreJudgedByTheirLastLine) {
  int rows = 0;
  const std::string path = folder_ + "/gsm8k/test.jsonl";
  const auto golds = ReadMember(path, "answer"), solutions = ReadMember(path, "solution");
  for (size_t i = 0; i < golds.size(); ++i, ++rows) {
    EXPECT_EQ(JudgeCompletion(golds[i], solutions[i]).decision.answer, Answer::kEqual) << solutions[i];
    EXPECT_NE(JudgeCompletion(golds[i] + "1", solutions[i]).decision.answer, Answer::kEqual) << solutions[i];
    EXPECT_EQ(
        JudgeCompletion(solutions[i], absl::StrCat("So it is \\boxed{", golds[i], "}.")).decision.answer,
        Answer::kEqual)
        << solutions[i];
  }
  EXPECT_EQ(rows, 300);
}

}  // namespace
}  // namespace sluice::math
