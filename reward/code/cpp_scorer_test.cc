// C++ programs through the scorer, compiled and run in the real sandbox.
#include "gmock/gmock.h"
#include "reward/code/code_test_bench.h"

namespace sluice {
namespace {

using Fields = std::map<std::string, std::string>;

CodeScorerSpec Spec(CodeTests tests) {
  CodeScorerSpec spec;
  spec.language = CodeLanguage::kCpp;
  spec.tests = tests;
  spec.timeout_seconds = 2;
  return spec;
}

ItemJudgement Stdio(const std::string& program) {
  return CodeTestBench::Get().Judge(Spec(CodeTests::kStdio), program,
                                    {{"tests", R"([{"stdin": "3 4", "expected_stdout": "7"}])"}});
}

TEST(CppScorer, ProgramsReadAndWrite) {
  const std::string right =
      "```cpp\n#include <bits/stdc++.h>\nusing namespace std;\nint main() { int a, b; cin >> a >> b; cout << "
      "a + b << endl; }\n```";
  ItemJudgement judged = Stdio(right);
  EXPECT_EQ(judged.kind, VerdictKind::kCorrect) << judged.detail;
  EXPECT_TRUE(judged.stamps.empty());
  EXPECT_EQ(Stdio("#include <iostream>\nint y1 = 7;\nint main() { std::cout << y1; }").kind,
            VerdictKind::kCorrect);
  EXPECT_EQ(Stdio("#include <cstdio>\nint main() { puts(\"8\"); }").outcome, "wrong_answer");
  EXPECT_EQ(Stdio("int main() { return 1 }").outcome, "compile_error");
  EXPECT_EQ(Stdio("int main() { int* p = nullptr; return *(volatile int*)p; }").outcome, "runtime_error");
  EXPECT_EQ(Stdio("int main() { volatile int x = 0; while (true) x = x + 1; }").outcome, "time_limit");
  EXPECT_EQ(Stdio("#include <vector>\nint main() { std::vector<char*> v; while (true) { char* p = new char[1 "
                  "<< 20]; for "
                  "(int i = 0; i < (1 << 20); i += 4096) p[i] = 1; v.push_back(p); } }")
                .outcome,
            "memory_limit");
  EXPECT_EQ(Stdio("#include \"/etc/shadow\"\nint main() {}").outcome, "compile_error");
}

struct Row {
  const char* task;
  const char* right;
  const char* wrong;
};

// Bodies of our own for rows of humaneval_cpp.
constexpr Row kRows[] = {
    {"HumanEval/0",
     "  for (size_t i = 0; i < numbers.size(); ++i)\n    for (size_t j = i + 1; j < numbers.size(); ++j)\n"
     "      if (std::abs(numbers[i] - numbers[j]) < threshold) return true;\n  return false;\n",
     "  for (size_t i = 1; i < numbers.size(); ++i)\n    if (std::abs(numbers[i] - numbers[i - 1]) < "
     "threshold) return true;\n  return false;\n"},
    {"HumanEval/2", "  return number - std::floor(number);\n", "  return std::floor(number);\n"},
    {"HumanEval/3",
     "  long b = 0;\n  for (long o : operations) if ((b += o) < 0) return true;\n  return false;\n",
     "  long b = 0;\n  for (long o : operations) b += o;\n  return b < 0;\n"},
    {"HumanEval/13", "  while (b) { long t = a % b; a = b; b = t; }\n  return a;\n", "  return a % b;\n"},
    {"HumanEval/23", "  return string.size();\n", "  return string.size() + 1;\n"},
    {"HumanEval/24", "  for (long d = n / 2; d > 0; --d) if (n % d == 0) return d;\n  return 1;\n",
     "  return 1;\n"},
    {"HumanEval/31",
     "  if (n < 2) return false;\n  for (long d = 2; d * d <= n; ++d) if (n % d == 0) return false;\n  "
     "return true;\n",
     "  for (long d = 2; d * d <= n; ++d) if (n % d == 0) return false;\n  return true;\n"},
    {"HumanEval/35", "  return *std::max_element(l.begin(), l.end());\n", "  return l.back();\n"},
    {"HumanEval/53", "  return x + y;\n", "  return x - y;\n"},
    {"HumanEval/60", "  return n * (n + 1) / 2;\n", "  return n * (n - 1) / 2;\n"},
};

Fields RowOf(const std::string& task) {
  for (const auto& row : RowsOf(DataFolder() + "/humaneval_cpp/humaneval_cpp.jsonl")) {
    if (row["task_id"] == task) return FieldsOf(row);
  }
  return {};
}

class CppContinuations : public ::testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (DataFolder().empty()) GTEST_SKIP() << "the data sets are not here; set SLUICE_DATA_DIR";
  }
  static ItemJudgement Judge(const Fields& row, const std::string& completion) {
    return CodeTestBench::Get().Judge(Spec(CodeTests::kHumanEval), completion, row);
  }
};

TEST_P(CppContinuations, PassOrFail) {
  Fields row = RowOf(GetParam().task);
  ASSERT_FALSE(row.empty());
  const std::string right = GetParam().right;
  ItemJudgement open = Judge(row, right);
  EXPECT_EQ(open.kind, VerdictKind::kCorrect) << open.detail;
  EXPECT_EQ(open.stamps, std::vector<std::string>{"tests_visible"});
  EXPECT_EQ(Judge(row, right + "}\n\nint main() { return 5; }\n").kind, VerdictKind::kCorrect);
  EXPECT_EQ(Judge(row, "```cpp\n" + row["prompt"] + right + "}\nint main() { return 5; }\n```\n").kind,
            VerdictKind::kCorrect);
  ItemJudgement wrong = Judge(row, GetParam().wrong);
  EXPECT_EQ(wrong.kind, VerdictKind::kWrong);
  EXPECT_EQ(wrong.outcome, "wrong_answer") << wrong.detail;
}
INSTANTIATE_TEST_SUITE_P(Rows, CppContinuations, ::testing::ValuesIn(kRows));

TEST_F(CppContinuations, HacksDoNotPay) {
  Fields row = RowOf("HumanEval/53");
  for (const char* completion : {
           "  exit(0);\n",
           "  _exit(0);\n",
           "  std::quick_exit(0);\n",
           "  throw 1;\n",
           "#undef assert\n#define assert(x)\n  return 0;\n",
           "#define NDEBUG\n#include <cassert>\n  return 0;\n",
           "  return 0;\n}\nbool operator==(const long&, int) { return true; }\n",
           "  static int n = write(3, \"0123456789\", 10);\n  return n;\n",
           "  char b[41]; read(3, b, 41); write(3, b, 41); _exit(0);\n",
           "  return 0; }\n#define main other\n",
       }) {
    EXPECT_EQ(Judge(row, completion).kind, VerdictKind::kWrong) << completion;
  }
}

}  // namespace
}  // namespace sluice
