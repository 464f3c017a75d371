#include "reward/code/stdio_judge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "reward/code/checker.h"
#include "reward/code/comparison.h"
#include "reward/code/harness.h"
#include "reward/code/outcome.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

class PythonProgram final : public StdioProgram {
 public:
  PythonProgram(SandboxBox& box, std::string source) : box_(box), source_(std::move(source)) {}

  absl::StatusOr<End> Run(const std::string& input, const SandboxLimits& limits) override {
    SLUICE_ASSIGN_OR_RETURN(HarnessRun run, HarnessRun::Start(box_, HarnessRole::kProgram, limits, input));
    absl::Time deadline = absl::Now() + limits.wall + absl::Seconds(2);
    // Where this fails the run's end says why.
    (void)run.channel().Send(TypedValue::Tuple({TypedValue::Text("program"), TypedValue::Text(source_)}),
                             deadline);
    End end{run.Wait()};
    auto said = run.channel().Receive(absl::Now());
    if (said.ok() && said->items.size() == 2 && said->items[0].IsText("broken")) {
      end.compile_error = said->items[1].text;
    }
    return end;
  }

 private:
  SandboxBox& box_;
  const std::string source_;
};

class CompiledProgram final : public StdioProgram {
 public:
  explicit CompiledProgram(SandboxBox& box) : box_(box) {}

  absl::StatusOr<End> Run(const std::string& input, const SandboxLimits& limits) override {
    RunRequest request;
    request.argv = {"./program"};
    request.standard_input = input;
    request.limits = limits;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxRun> run, box_.Start(request));
    return End{run->Wait()};
  }

 private:
  SandboxBox& box_;
};

absl::Status RunTest(const CodeScorerSpec& spec, StdioProgram& program, const StdioTest& test,
                     const std::string& checker, JudgeBoxes& boxes, JudgedProgram& judged, size_t count) {
  SLUICE_ASSIGN_OR_RETURN(StdioProgram::End end, program.Run(test.input, TestLimits(spec)));
  const RunResult& run = end.run;
  absl::string_view failure = FailureOf(run);
  if (failure == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(run));
  if (!end.compile_error.empty()) {
    FillResults(count, MakeResult(outcome::kCompileError, Quotation(end.compile_error), run), judged);
    return absl::OkStatus();
  }
  if (!failure.empty()) {
    judged.tests.push_back(MakeResult(failure, DescribeEnd(run), run));
    return absl::OkStatus();
  }
  if (spec.comparison == CodeComparison::kChecker) {
    return RecordChecked(spec, checker, {test.input, test.expected, run.output}, boxes, run, judged);
  }
  ComparisonRule rule{spec.comparison, spec.absolute_tolerance, spec.relative_tolerance};
  bool equal = OutputEquals(rule, test.expected, run.output);
  std::string detail = equal ? "" : absl::StrCat("the output is ", Quotation(run.output));
  judged.tests.push_back(MakeResult(equal ? outcome::kPassed : outcome::kWrongAnswer, detail, run));
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<StdioProgram> PythonStdioProgram(SandboxBox& box, std::string source) {
  return std::make_unique<PythonProgram>(box, std::move(source));
}

std::unique_ptr<StdioProgram> CompiledStdioProgram(SandboxBox& box) {
  return std::make_unique<CompiledProgram>(box);
}

absl::StatusOr<JudgedProgram> JudgeByStdio(const CodeScorerSpec& spec, StdioProgram& program,
                                           const StdioTests& tests, const std::string& checker,
                                           JudgeBoxes& boxes) {
  JudgedProgram judged;
  size_t count = tests.tests.size();
  for (const StdioTest& test : tests.tests) {
    SLUICE_RETURN_IF_ERROR(RunTest(spec, program, test, checker, boxes, judged, count));
    bool done = judged.tests.size() == count || !judged.undecided.empty();
    if (done || GivesUp(spec, count, judged)) break;
  }
  return judged;
}

}  // namespace sluice
