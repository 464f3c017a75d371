#include "reward/code/function_judge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "reward/code/checker.h"
#include "reward/code/comparison.h"
#include "reward/code/harness.h"
#include "reward/code/message_channel.h"
#include "reward/code/outcome.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

// The message's value, with what stands for types of the standard library read as the built-in ones that they
// equal in Python.
TypedValue Unwrapped(const TypedValue& value) {
  const auto& items = value.items;
  bool special =
      value.kind == TypedValue::kTuple && items.size() == 3 && items[0].kind == TypedValue::kEllipsis;
  if (special && (items[1].IsText("Counter") || items[1].IsText("defaultdict") || items[1].IsText("tuple"))) {
    return Unwrapped(items[2]);
  }
  TypedValue out = value;
  if (special && items[1].IsText("OrderedDict") && items[2].kind == TypedValue::kList) {
    out = {TypedValue::kDict};
    for (const TypedValue& pair : items[2].items) {
      if (pair.items.size() != 2) return value;
      out.items.push_back(Unwrapped(pair.items[0]));
      out.items.push_back(Unwrapped(pair.items[1]));
    }
    return out;
  }
  for (TypedValue& item : out.items) item = Unwrapped(item);
  return out;
}

// An answer of the candidate's process that is an exception.
TestResult ExceptionResult(const TypedValue& answer, absl::string_view when, const RunResult& run) {
  const TypedValue& names = answer.items[1];
  std::string name = TextAt(names, 0);
  std::string text = TextAt(answer, 3);
  return MakeResult(OutcomeOfException(name, text),
                    absl::StrCat(when, Quotation(absl::StrCat(name, ": ", text))), run);
}

class PythonProgram final : public FunctionProgram {
 public:
  PythonProgram(const CodeScorerSpec& spec, const std::string& source, const std::string& entry_point,
                JudgeBoxes& boxes)
      : limits_(TestLimits(spec)), source_(source), entry_point_(entry_point), boxes_(boxes) {}

  absl::StatusOr<Answer> Call(const FunctionCase& test) override {
    absl::Time deadline = absl::Now() + limits_.wall + absl::Seconds(2);
    SLUICE_ASSIGN_OR_RETURN(SandboxBox * box, boxes_.candidate());
    SLUICE_ASSIGN_OR_RETURN(HarnessRun run, HarnessRun::Start(*box, HarnessRole::kCandidate, limits_));
    TypedValue order =
        TypedValue::Tuple({TypedValue::Text("function"), TypedValue::List({TypedValue::Text(source_)}),
                           TypedValue::Text(entry_point_), test.args, test.kwargs});
    absl::Status sent = run.channel().Send(order, deadline);
    absl::StatusOr<TypedValue> answer = sent.ok() ? run.channel().Receive(deadline) : sent;
    return Answer{std::move(answer), run.Stop()};
  }

 private:
  const SandboxLimits limits_;
  const std::string& source_;
  const std::string& entry_point_;
  JudgeBoxes& boxes_;
};

class FunctionJudge {
 public:
  FunctionJudge(const CodeScorerSpec& spec, FunctionProgram& program, const FunctionTests& tests,
                const std::string& checker, JudgeBoxes& boxes)
      : spec_(spec), program_(program), tests_(tests), checker_(checker), boxes_(boxes) {}

  absl::StatusOr<JudgedProgram> Judge() {
    for (const FunctionCase& test : tests_.cases) {
      SLUICE_RETURN_IF_ERROR(RunCase(test));
      bool done = judged_.tests.size() == tests_.cases.size() || !judged_.undecided.empty();
      if (done || GivesUp(spec_, tests_.cases.size(), judged_)) break;
    }
    return std::move(judged_);
  }

 private:
  absl::Status RunCase(const FunctionCase& test) {
    SLUICE_ASSIGN_OR_RETURN(FunctionProgram::Answer answer, program_.Call(test));
    if (LimitOf(answer.run) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(answer.run));
    return Record(test, answer.message, answer.run);
  }

  absl::Status Record(const FunctionCase& test, const absl::StatusOr<TypedValue>& answer,
                      const RunResult& run) {
    size_t count = tests_.cases.size();
    if (answer.ok() && Says(*answer, "broken", 2)) {
      FillResults(count, MakeResult(outcome::kCompileError, Quotation(TextAt(*answer, 1)), run), judged_);
    } else if (!LimitOf(run).empty()) {
      judged_.tests.push_back(MakeResult(LimitOf(run), DescribeEnd(run), run));
    } else if (answer.ok() && Says(*answer, "unfit", 2)) {
      judged_.tests.push_back(MakeResult(outcome::kCompileError, Quotation(TextAt(*answer, 1)), run));
    } else if (!answer.ok()) {
      judged_.tests.push_back(Unanswered(answer.status(), run));
    } else if (Says(*answer, "failed", 4)) {
      FillResults(count, ExceptionResult(*answer, "when it was loaded: ", run), judged_);
    } else if (Says(*answer, "raise", 4)) {
      judged_.tests.push_back(ExceptionResult(*answer, "", run));
    } else if (Says(*answer, "value", 5)) {
      return Compare(test, *answer, run);
    } else {
      judged_.tests.push_back(
          MakeResult(outcome::kWrongAnswer, "an answer that is neither value nor exception", run));
    }
    return absl::OkStatus();
  }

  absl::Status Compare(const FunctionCase& test, const TypedValue& answer, const RunResult& run) {
    bool special = answer.items[1].kind == TypedValue::kBool && answer.items[1].integer != 0;
    TypedValue value = special ? Unwrapped(answer.items[2]) : answer.items[2];
    if (spec_.comparison == CodeComparison::kChecker) {
      std::string input = TypedValueToJson(test.kwargs.items.empty() ? test.args : Both(test));
      CheckedOutput output{input, TypedValueToJson(test.expected), TypedValueToJson(value)};
      return RecordChecked(spec_, checker_, output, boxes_, run, judged_);
    }
    ComparisonRule rule{spec_.comparison, spec_.absolute_tolerance, spec_.relative_tolerance};
    bool equal = ValueEquals(rule, test.expected, value) ||
                 (test.wrapped && ValueEquals(rule, test.expected.items[0], value));
    std::string detail = equal ? "" : absl::StrCat("the value is ", Quotation(TypedValueToJson(value)));
    judged_.tests.push_back(MakeResult(equal ? outcome::kPassed : outcome::kWrongAnswer, detail, run));
    return absl::OkStatus();
  }

  static TypedValue Both(const FunctionCase& test) {
    return {TypedValue::kDict,
            0,
            0,
            "",
            {TypedValue::Text("args"), test.args, TypedValue::Text("kwargs"), test.kwargs}};
  }

  static TestResult Unanswered(const absl::Status& why, const RunResult& run) {
    absl::string_view how = absl::IsResourceExhausted(why)  ? outcome::kOutputLimit
                            : absl::IsInvalidArgument(why)  ? outcome::kWrongAnswer
                            : absl::IsDeadlineExceeded(why) ? outcome::kTimeLimit
                                                            : outcome::kRuntimeError;
    bool ended = how == outcome::kRuntimeError;
    return MakeResult(
        how,
        ended ? absl::StrCat("it ended without an answer: ", DescribeEnd(run)) : std::string(why.message()),
        run);
  }

  const CodeScorerSpec& spec_;
  FunctionProgram& program_;
  const FunctionTests& tests_;
  const std::string& checker_;
  JudgeBoxes& boxes_;
  JudgedProgram judged_;
};

}  // namespace

std::unique_ptr<FunctionProgram> PythonFunctionProgram(const CodeScorerSpec& spec, const std::string& source,
                                                       const std::string& entry_point, JudgeBoxes& boxes) {
  return std::make_unique<PythonProgram>(spec, source, entry_point, boxes);
}

absl::StatusOr<JudgedProgram> JudgeByFunction(const CodeScorerSpec& spec, FunctionProgram& program,
                                              const FunctionTests& tests, const std::string& checker,
                                              JudgeBoxes& boxes) {
  return FunctionJudge(spec, program, tests, checker, boxes).Judge();
}

}  // namespace sluice
