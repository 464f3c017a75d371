#include "reward/code/code_scorer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "reward/code/assert_judge.h"
#include "reward/code/code_runner.h"
#include "reward/code/cpp_assert_judge.h"
#include "reward/code/cpp_function_judge.h"
#include "reward/code/cpp_judge.h"
#include "reward/code/function_judge.h"
#include "reward/code/outcome.h"
#include "reward/code/program.h"
#include "reward/code/python_program.h"
#include "reward/code/stdio_judge.h"
#include "reward/code/test_set.h"

namespace sluice {
namespace {

// A place of the runner for as long as it lives.
class Place {
 public:
  explicit Place(CodeRunner& runner) : runner_(runner) {}
  ~Place() { runner_.GivePlace(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  CodeRunner& runner_;
};

// Hands a program to the judge of its tests' form.
struct JudgeProgram {
  const CodeScorerSpec& spec;
  const Program& program;
  const std::string& checker;
  CodeRunner& runner;
  JudgeBoxes& boxes;

  using Judged = absl::StatusOr<JudgedProgram>;
  Judged operator()(const AssertTests& tests) const {
    if (spec.language == CodeLanguage::kCpp) {
      return JudgeCppByAsserts(spec, program.source, tests, runner, boxes);
    }
    return JudgeByAsserts(spec, {{program.source}, tests.setup, tests.asserts, "", ""}, boxes);
  }
  Judged operator()(const StdioTests& tests) const {
    if (spec.language == CodeLanguage::kCpp) {
      return JudgeCppByStdio(spec, program.source, tests, checker, runner, boxes);
    }
    SLUICE_ASSIGN_OR_RETURN(SandboxBox * box, boxes.candidate());
    return JudgeByStdio(spec, *PythonStdioProgram(*box, program.source), tests, checker, boxes);
  }
  Judged operator()(const FunctionTests& tests) const {
    if (spec.language == CodeLanguage::kCpp) {
      return JudgeCppByFunction(spec, program.source, tests, checker, runner, boxes);
    }
    return JudgeByFunction(spec, *PythonFunctionProgram(spec, program.source, tests.entry_point, boxes),
                           tests, checker, boxes);
  }
  Judged operator()(const HumanEvalTest& test) const {
    if (spec.language == CodeLanguage::kCpp) {
      return JudgeCppContinuation(spec, program.source, test, runner, boxes);
    }
    AssertJob job{ContinuedSources(test.prompt, program.source, test.entry_point),
                  "",
                  {test.test},
                  test.prompt,
                  test.entry_point};
    return JudgeByAsserts(spec, job, boxes);
  }
};

std::string Detail(const std::vector<TestResult>& tests, size_t passed) {
  std::string detail = absl::StrCat(passed, " of ", tests.size(), " tests passed");
  auto failed = std::find_if(tests.begin(), tests.end(),
                             [](const TestResult& t) { return t.outcome != outcome::kPassed; });
  if (failed == tests.end()) return detail;
  absl::StrAppend(&detail, "; test ", failed - tests.begin() + 1, ": ", failed->outcome);
  return failed->detail.empty() ? detail : absl::StrCat(detail, ", ", failed->detail);
}

// All tests given were executed, or stand here as failed.
ItemJudgement JudgementOf(const CodeScorerSpec& spec, JudgedProgram judged, std::vector<std::string> stamps) {
  auto is_passed = [](const TestResult& test) { return test.outcome == outcome::kPassed; };
  size_t passed = static_cast<size_t>(std::count_if(judged.tests.begin(), judged.tests.end(), is_passed));
  bool all = passed == judged.tests.size();
  ItemJudgement out = all ? Correct(Detail(judged.tests, passed)) : Wrong(Detail(judged.tests, passed));
  if (!all && passed > 0 && spec.credit == CodeCredit::kShare) {
    out.kind = VerdictKind::kGraded;
    out.value = static_cast<double>(passed) / static_cast<double>(judged.tests.size());
  }
  auto failed = std::find_if_not(judged.tests.begin(), judged.tests.end(), is_passed);
  out.outcome = failed == judged.tests.end() ? std::string(outcome::kPassed) : failed->outcome;
  out.stamps = std::move(stamps);
  if (judged.tests_visible) out.stamps.push_back("tests_visible");
  out.tests = std::move(judged.tests);
  return out;
}

ItemJudgement NoProgram(const CodeScorerSpec& spec, size_t tests, std::string why) {
  JudgedProgram judged;
  FillResults(tests, {std::string(outcome::kCompileError), 0, 0, std::move(why)}, judged);
  return JudgementOf(spec, std::move(judged), {});
}

ItemJudgement InfrastructureFailure(const absl::Status& status) {
  ItemJudgement out = Infrastructure(std::string(status.message()));
  out.outcome = std::string(outcome::kInfrastructure);
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ItemScorer>> CodeItemScorer::Create(const CodeScorerSpec& spec,
                                                                   std::shared_ptr<CodeRunner> runner) {
  return std::unique_ptr<ItemScorer>(new CodeItemScorer(spec, std::move(runner)));
}

ItemJudgement CodeItemScorer::Judge(const ScoreItem& item) const { return JudgeWithin(item, {}); }

ItemJudgement CodeItemScorer::JudgeWithin(const ScoreItem& item, const JudgeLimits& limits) const {
  auto tests = ReadTests(spec_, item);
  if (!tests.ok()) return InvalidRow(std::string(tests.status().message()));
  std::string checker;
  if (spec_.comparison == CodeComparison::kChecker) {
    auto field = item.fields.find("checker");
    if (field == item.fields.end()) {
      return InvalidRow("field \"checker\" is missing: the source of a Python program is expected");
    }
    checker = field->second;
  }
  Program program = FindProgram(item.completion, spec_.language);
  if (program.missing.empty() && !IsUnicode(program.source)) program.missing = "the program is not UTF-8";
  if (!program.missing.empty()) return NoProgram(spec_, CountTests(*tests), program.missing);
  absl::Status taken = runner_->TakePlace(limits.deadline);
  if (!taken.ok()) return InfrastructureFailure(taken);
  Place place(*runner_);
  JudgeBoxes boxes(runner_->sandbox(), runner_->row_boxes(), runner_->open_timeout(), limits);
  auto judged = std::visit(JudgeProgram{spec_, program, checker, *runner_, boxes}, *tests);
  if (!judged.ok()) return InfrastructureFailure(judged.status());
  absl::Status in_time = boxes.InTime();  // what was cut off is no verdict
  if (!in_time.ok()) return InfrastructureFailure(in_time);
  if (!judged->undecided.empty()) return InvalidRow(judged->undecided);
  return JudgementOf(spec_, *std::move(judged), runner_->stamps());
}

ScorerRegistry::Factory CodeScorerFactory(std::shared_ptr<CodeRunner> runner) {
  return [runner](const ScorerSpec& spec) {
    return CodeItemScorer::Create(std::get<CodeScorerSpec>(spec), runner);
  };
}

}  // namespace sluice
