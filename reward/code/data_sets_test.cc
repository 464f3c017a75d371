// The rows of the data sets: their solutions pass.
#include "gmock/gmock.h"
#include "reward/code/code_test_bench.h"

namespace sluice {
namespace {

class DataSets : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (DataFolder().empty()) GTEST_SKIP() << "the data sets are not here; set SLUICE_DATA_DIR";
  }
};

constexpr int kParts = 5;

TEST_P(DataSets, MbppReferencesPass) {
  auto rows = RowsOf(DataFolder() + "/mbpp/mbpp.jsonl");
  ASSERT_EQ(rows.size(), 500u);
  CodeScorerSpec spec;
  for (size_t i = static_cast<size_t>(GetParam()); i < rows.size(); i += kParts) {
    std::string fenced = "Here it is:\n```python\n" + rows[i]["reference"].get<std::string>() + "\n```\n";
    ItemJudgement judged = CodeTestBench::Get().Judge(spec, fenced, FieldsOf(rows[i]));
    EXPECT_EQ(judged.kind, VerdictKind::kCorrect) << rows[i]["id"] << " " << judged.detail;
    EXPECT_EQ(judged.tests.size(), rows[i]["tests"].size());
    bool visible = rows[i]["id"] == "mbpp-367";
    EXPECT_EQ(judged.stamps,
              visible ? std::vector<std::string>{"tests_visible"} : std::vector<std::string>{});
  }
}

TEST_P(DataSets, HumanEvalSolutionsPass) {
  auto rows = RowsOf(DataFolder() + "/humaneval/humaneval.jsonl");
  ASSERT_EQ(rows.size(), 82u);
  CodeScorerSpec spec;
  spec.tests = CodeTests::kHumanEval;
  for (size_t i = static_cast<size_t>(GetParam()); i < rows.size(); i += kParts) {
    std::string prompt = rows[i]["prompt"], body = rows[i]["canonical_solution"];
    for (const std::string& completion : {body, "```python\n" + prompt + body + "```"}) {
      ItemJudgement judged = CodeTestBench::Get().Judge(spec, completion, FieldsOf(rows[i]));
      EXPECT_EQ(judged.kind, VerdictKind::kCorrect) << rows[i]["task_id"] << " " << judged.detail;
      EXPECT_TRUE(judged.stamps.empty()) << rows[i]["task_id"];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, DataSets, ::testing::Range(0, kParts));

}  // namespace
}  // namespace sluice
