#include "reward/code/cpp_assert_judge.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "reward/code/cpp_asserts.h"
#include "reward/code/cpp_function_judge.h"
#include "reward/code/cpp_scanner.h"
#include "reward/code/outcome.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(2);  // of a reply after the sandbox's own limits

class CppAssertJudge {
 public:
  CppAssertJudge(const CodeScorerSpec& spec, const AssertTests& tests, CodeRunner& runner, JudgeBoxes& boxes)
      : spec_(spec), tests_(tests), runner_(runner), boxes_(boxes), limits_(TestLimits(spec)) {}

  absl::StatusOr<JudgedProgram> Judge(const std::string& program) {
    auto entries = CallsOfAsserts(tests_, program);
    judged_.undecided = entries.ok() ? RowFault() : std::string(entries.status().message());
    if (!judged_.undecided.empty()) return std::move(judged_);
    entries_ = *std::move(entries);
    SLUICE_RETURN_IF_ERROR(Build(program));
    while (judged_.tests.size() < tests_.asserts.size() && judged_.undecided.empty()) {
      SLUICE_RETURN_IF_ERROR(RunTest());
      if (GivesUp(spec_, tests_.asserts.size(), judged_)) break;
    }
    return std::move(judged_);
  }

 private:
  std::string RowFault() const {
    for (size_t i = 0; i < tests_.asserts.size(); ++i) {
      bool asserts = absl::StrContains(CodeOnly(tests_.setup), "assert") ||
                     absl::StrContains(CodeOnly(tests_.asserts[i]), "assert");
      if (!asserts) return absl::StrCat("tests.asserts[", i, "]: a statement with assert(...) is expected");
    }
    return "";
  }

  // Compiles program and tests. Where that fails all tests have their result.
  absl::Status Build(const std::string& program) {
    if (entries_.empty()) {
      Fail("the program defines none of the functions that the tests call");
      return absl::OkStatus();
    }
    SLUICE_ASSIGN_OR_RETURN(CompiledCpp compiled,
                            CompileFirst(CallableCpp(program, entries_), runner_, boxes_.limits()));
    if (!compiled.error.empty()) {
      Fail(Quotation(compiled.error));
      return absl::OkStatus();
    }
    SLUICE_ASSIGN_OR_RETURN(candidate_, boxes_.candidate());
    SLUICE_RETURN_IF_ERROR(candidate_->WriteFile("program", compiled.binary, true));
    SLUICE_RETURN_IF_ERROR(ReadSignatures());
    return judged_.tests.empty() ? BuildTests() : absl::OkStatus();
  }

  absl::Status ReadSignatures() {
    SLUICE_ASSIGN_OR_RETURN(CppCallRun run, CppCallRun::Start(*candidate_, limits_));
    absl::Time deadline = Deadline();
    for (const CppEntry& entry : entries_) {
      auto answer = run.Ask("describe", entry.name, TypedValue::None(), deadline);
      absl::StatusOr<CppSignature> signature = answer.ok() ? ReadCppSignature(*answer) : answer.status();
      if (signature.ok()) {
        signatures_.push_back(*std::move(signature));
        continue;
      }
      RunResult end = run.Stop(answer.status());
      if (LimitOf(end) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(end));
      FillResults(tests_.asserts.size(), Undescribed(answer, end), judged_);
      return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  static TestResult Undescribed(const absl::StatusOr<TypedValue>& answer, const RunResult& end) {
    if (answer.ok() && Says(*answer, "unfit", 2)) {
      return MakeResult(outcome::kCompileError, Quotation(TextAt(*answer, 1)), end);
    }
    absl::string_view limit = LimitOf(end);
    return MakeResult(limit.empty() ? outcome::kRuntimeError : limit,
                      absl::StrCat("the program ended while it was loaded: ", DescribeEnd(end)), end);
  }

  absl::Status BuildTests() {
    SLUICE_ASSIGN_OR_RETURN(
        CompiledCpp compiled,
        runner_.compiler().Compile({AssertsUnit(tests_, entries_, signatures_)}, boxes_.limits()));
    if (absl::StrContains(compiled.error, "error: expected")) {  // no type of the program changes what is C++
      judged_.undecided = absl::StrCat("field \"tests\" is no C++: ", Quotation(compiled.error));
    } else if (!compiled.error.empty()) {
      Fail(absl::StrCat("the tests do not compile with it: ", Quotation(compiled.error)));
    } else {
      SLUICE_ASSIGN_OR_RETURN(RowBox * row, boxes_.row());
      row_ = &row->Bare();
      SLUICE_RETURN_IF_ERROR(row_->WriteFile("tests", compiled.binary, true));
    }
    return absl::OkStatus();
  }

  void Fail(std::string why) {
    FillResults(tests_.asserts.size(), {std::string(outcome::kCompileError), 0, 0, std::move(why)}, judged_);
  }

  absl::Time Deadline() const {
    return std::min(absl::Now() + limits_.wall, boxes_.limits().deadline) + kGrace;
  }

  absl::Status RunTest() {
    SLUICE_RETURN_IF_ERROR(boxes_.InTime());
    SLUICE_ASSIGN_OR_RETURN(CppCallRun program, CppCallRun::Start(*candidate_, limits_));
    RunRequest request;
    request.argv = {"./tests"};
    request.limits = RowLimits(spec_);
    request.channel = true;
    SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxRun> tests, row_->Start(request));
    MessageChannel channel(tests->channel());
    absl::Status lost;  // why the program does not answer
    auto end = Relay(channel, program, lost);
    RunResult run = program.Stop(lost);
    tests->Kill();
    RunResult row = tests->Wait();
    if (LimitOf(run) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(run));
    if (LimitOf(row) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(row));
    judged_.tests.push_back(end.ok() ? Ended(*end, lost, run) : Broken(end.status(), run, row));
    return absl::OkStatus();
  }

  // Hands calls and answers over until the test ends; its last message.
  absl::StatusOr<TypedValue> Relay(MessageChannel& tests, CppCallRun& program, absl::Status& lost) {
    absl::Time deadline = Deadline();
    TypedValue order = TypedValue::Tuple(
        {TypedValue::Text("test"), TypedValue::Integer(static_cast<int64_t>(judged_.tests.size()))});
    SLUICE_RETURN_IF_ERROR(tests.Send(order, deadline));
    while (true) {
      SLUICE_ASSIGN_OR_RETURN(TypedValue request, tests.Receive(deadline));
      if (!Says(request, "call", 3)) return request;
      absl::StatusOr<TypedValue> answer = program.Ask("call", TextAt(request, 1), request.items[2], deadline);
      bool shaped = answer.ok() &&
                    (Says(*answer, "value", 5) || Says(*answer, "raise", 4) || Says(*answer, "unfit", 2));
      if (answer.ok() && !shaped)
        answer = absl::InvalidArgumentError("an answer that is neither value nor exception");
      if (!answer.ok()) {
        lost = answer.status();
        answer = TypedValue::Tuple({TypedValue::Text("lost"), TypedValue::Text("")});
      }
      SLUICE_RETURN_IF_ERROR(tests.Send(*answer, deadline));
    }
  }

  static TestResult Ended(const TypedValue& end, const absl::Status& lost, const RunResult& run) {
    std::string how = TextAt(end, 1);
    std::string text(end.items.size() > 2 ? end.items[2].text : "");
    if (!LimitOf(run).empty()) return MakeResult(LimitOf(run), DescribeEnd(run), run);
    if (how == "passed") return MakeResult(outcome::kPassed, "", run);
    if (how == "failed")
      return MakeResult(outcome::kWrongAnswer, absl::StrCat("not so: ", Quotation(text)), run);
    if (how == "unfit") return MakeResult(outcome::kCompileError, Quotation(text), run);
    if (how == "raised") return MakeResult(OutcomeOfException(text, ""), Quotation(text), run);
    if (absl::IsResourceExhausted(lost))
      return MakeResult(outcome::kOutputLimit, std::string(lost.message()), run);
    if (absl::IsDeadlineExceeded(lost))
      return MakeResult(outcome::kTimeLimit, std::string(lost.message()), run);
    return MakeResult(outcome::kRuntimeError,
                      absl::StrCat("the program ended before the test did: ", DescribeEnd(run)), run);
  }

  // The process of the tests did not say how the test ended: they stumbled over a value.
  static TestResult Broken(const absl::Status& why, const RunResult& run, const RunResult& row) {
    absl::string_view limit = LimitOf(run).empty() ? LimitOf(row) : LimitOf(run);
    if (limit.empty()) limit = absl::IsDeadlineExceeded(why) ? outcome::kTimeLimit : outcome::kRuntimeError;
    return MakeResult(limit, absl::StrCat("while the test used the program's values: ", DescribeEnd(row)),
                      run);
  }

  const CodeScorerSpec& spec_;
  const AssertTests& tests_;
  CodeRunner& runner_;
  JudgeBoxes& boxes_;
  const SandboxLimits limits_;
  std::vector<CppEntry> entries_;
  std::vector<CppSignature> signatures_;
  SandboxBox* candidate_ = nullptr;  // of boxes_, as is row_
  SandboxBox* row_ = nullptr;
  JudgedProgram judged_;
};

}  // namespace

absl::StatusOr<JudgedProgram> JudgeCppByAsserts(const CodeScorerSpec& spec, const std::string& program,
                                                const AssertTests& tests, CodeRunner& runner,
                                                JudgeBoxes& boxes) {
  return CppAssertJudge(spec, tests, runner, boxes).Judge(program);
}

}  // namespace sluice
