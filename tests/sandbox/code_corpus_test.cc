// Whether benign programs pass and hacks do not, through the code scorer.
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "reward/code/code_scorer.h"
#include "tests/sandbox/code_corpus.h"

namespace sluice {
namespace {

class CodeCorpusTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    SandboxOptions sandbox_options;
    AddCodeHarness(sandbox_options);
    auto sandbox = Sandbox::Create(sandbox_options);
    ASSERT_TRUE(sandbox.ok()) << sandbox.status();
    sandbox_ = *std::move(sandbox);
    CodeScorerOptions options;
    cache_ = absl::StrCat(testing::TempDir(), "/sluice_corpus_XXXXXX");
    ASSERT_NE(mkdtemp(cache_.data()), nullptr);
    options.cache_directory = cache_;
    auto runner = MakeCodeRunner(*sandbox_, options);
    ASSERT_TRUE(runner.ok()) << runner.status();
    runner_ = *std::move(runner);
  }
  static void TearDownTestSuite() {
    runner_ = nullptr;
    sandbox_ = nullptr;
    std::filesystem::remove_all(cache_);
  }

  static ItemJudgement Judge(const CodeCase& row) {
    auto scorer = CodeItemScorer::Create(row.spec, runner_);
    if (!scorer.ok()) return Infrastructure(scorer.status().ToString());
    return (*scorer)->Judge(row.item);
  }

  // Two at once; `check` one at a time.
  template <typename Check>
  static void JudgeAll(const std::vector<CodeCase>& rows, Check check) {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    auto work = [&] {
      for (size_t i; (i = next++) < rows.size();) {
        ItemJudgement judgement = Judge(rows[i]);
        std::lock_guard lock(mutex);
        check(i, judgement);
      }
    };
    std::thread other(work);
    work();
    other.join();
  }

  static void ExpectNoneCorrect(const std::vector<Hack>& hacks, CodeLanguage language, CodeTests form) {
    std::vector<CodeCase> rows;
    for (const Hack& hack : hacks) rows.push_back(HackCase(hack, language, form));
    JudgeAll(rows, [&](size_t i, const ItemJudgement& judgement) {
      EXPECT_EQ(judgement.kind, VerdictKind::kWrong)
          << rows[i].name << ": " << judgement.outcome << ", " << judgement.detail;
      EXPECT_EQ(judgement.value, 0) << rows[i].name;
      const auto& allowed = hacks[i].outcomes;
      if (!allowed.empty()) {
        EXPECT_THAT(allowed, testing::Contains(judgement.outcome))
            << rows[i].name << ": " << judgement.detail;
      }
    });
    ItemJudgement solution = Judge(HackCase(Solution(language, form), language, form));
    EXPECT_EQ(solution.kind, VerdictKind::kCorrect) << "after the hacks: " << solution.detail;
  }

  static std::string cache_;
  static std::unique_ptr<Sandbox> sandbox_;
  static std::shared_ptr<CodeRunner> runner_;
};

std::string CodeCorpusTest::cache_;
std::unique_ptr<Sandbox> CodeCorpusTest::sandbox_;
std::shared_ptr<CodeRunner> CodeCorpusTest::runner_;

struct BenignTest : CodeCorpusTest {};

TEST_F(BenignTest, EveryProgramPasses) {
  std::vector<CodeCase> rows = BenignCases();
  EXPECT_GE(rows.size(), 100u);
  JudgeAll(rows, [&](size_t i, const ItemJudgement& judgement) {
    EXPECT_EQ(judgement.kind, VerdictKind::kCorrect)
        << rows[i].name << ": " << judgement.outcome << ", " << judgement.detail;
    EXPECT_EQ(judgement.outcome, "passed") << rows[i].name;
  });
}

constexpr const char* kPythonHacks[] = {"01_exit_before_the_tests.py",
                                        "02_skipped_or_interrupted.py",
                                        "03_always_equal.py",
                                        "04_reads_the_expected_value.py",
                                        "05_overwrites_the_harness.py",
                                        "06_test_frameworks_and_import_paths.py",
                                        "07_time.py",
                                        "08_outlives_the_run.py",
                                        "09_written_results.py",
                                        "10_protocol.py"};

struct PythonHackTest : CodeCorpusTest, testing::WithParamInterface<std::tuple<CodeTests, const char*>> {};

TEST_P(PythonHackTest, NoneIsCorrect) {
  auto [form, file] = GetParam();
  ExpectNoneCorrect(ReadHacks(file), CodeLanguage::kPython, form);
}

INSTANTIATE_TEST_SUITE_P(Forms, PythonHackTest,
                         testing::Combine(testing::Values(CodeTests::kAsserts, CodeTests::kStdio,
                                                          CodeTests::kFunction, CodeTests::kHumanEval),
                                          testing::ValuesIn(kPythonHacks)),
                         [](const auto& info) {
                           std::string file = std::get<1>(info.param);
                           return absl::StrCat(FormName(std::get<0>(info.param)), "_",
                                               file.substr(0, file.find('.')));
                         });

struct ObjectHackTest : CodeCorpusTest {
  static void ExpectSharedObjectsSafe(const std::string& file, CodeCase (*make)(const Hack&)) {
    std::vector<CodeCase> rows;
    for (const Hack& hack : ReadHacks(file)) rows.push_back(make(hack));
    JudgeAll(rows, [&](size_t i, const ItemJudgement& judgement) {
      EXPECT_EQ(judgement.kind, VerdictKind::kWrong)
          << rows[i].name << ": " << judgement.outcome << ", " << judgement.detail;
    });
    ItemJudgement solution = Judge(make(Solution(CodeLanguage::kPython, CodeTests::kAsserts)));
    EXPECT_EQ(solution.kind, VerdictKind::kCorrect) << solution.detail;
  }
};

TEST_F(ObjectHackTest, NoShapeOfAssertIsSatisfied) {
  std::vector<CodeCase> rows;
  for (const Hack& hack : ReadHacks("03_always_equal.py")) rows.push_back(ManyAssertsCase(hack));
  JudgeAll(rows, [&](size_t i, const ItemJudgement& judgement) {
    EXPECT_EQ(judgement.value, 0) << rows[i].name;
    for (size_t t = 0; t < judgement.tests.size(); ++t) {
      EXPECT_NE(judgement.tests[t].outcome, "passed") << rows[i].name << ", assert " << t;
      EXPECT_NE(judgement.tests[t].outcome, "infrastructure")
          << rows[i].name << ", assert " << t << ": " << judgement.tests[t].detail;
    }
  });
}

TEST_F(ObjectHackTest, NoneIsCorrectWhereTestsMakeObjectsOfTheProgram) {
  ExpectSharedObjectsSafe("11_tests_in_the_same_process.py", ObjectArgumentCase);
}

TEST_F(ObjectHackTest, NoneIsCorrectWhereTestsPassFunctions) {
  ExpectSharedObjectsSafe("12_functions_of_the_tests.py", FunctionArgumentCase);
}

struct CppHackTest : CodeCorpusTest {};

TEST_F(CppHackTest, NoProgramIsCorrect) {
  ExpectNoneCorrect(ReadHacks("cpp_programs.txt"), CodeLanguage::kCpp, CodeTests::kStdio);
}

TEST_F(CppHackTest, NoCompletionIsCorrect) {
  ExpectNoneCorrect(ReadHacks("cpp_completions.txt"), CodeLanguage::kCpp, CodeTests::kHumanEval);
}

TEST_F(CppHackTest, NoFunctionIsCorrect) {
  ExpectNoneCorrect(ReadHacks("cpp_functions.txt"), CodeLanguage::kCpp, CodeTests::kFunction);
}

TEST_F(CppHackTest, NoFunctionSatisfiesAsserts) {
  ExpectNoneCorrect(ReadHacks("cpp_functions.txt"), CodeLanguage::kCpp, CodeTests::kAsserts);
}

}  // namespace
}  // namespace sluice
