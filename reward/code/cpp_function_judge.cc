#include "reward/code/cpp_function_judge.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "reward/code/cpp_function.h"
#include "reward/code/integer.h"
#include "reward/code/message_channel.h"
#include "reward/code/outcome.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

void ReadStrings(TypedValue& value) {
  if (value.kind == TypedValue::kBytes && IsUnicode(value.text)) value.kind = TypedValue::kText;
  for (TypedValue& item : value.items) ReadStrings(item);
}

bool HasIntegerBeyond64Bits(const TypedValue& value) {
  if (value.kind == TypedValue::kBigInteger) {
    mpz_class magnitude = abs(ExactInteger(value));
    size_t bits = mpz_sizeinbase(magnitude.get_mpz_t(), 2);
    return bits > 64 || (value.integer < 0 && bits > 63);
  }
  for (const TypedValue& item : value.items) {
    if (HasIntegerBeyond64Bits(item)) return true;
  }
  return false;
}

// What no program of C++ could be called with.
std::string RowFault(const FunctionTests& tests) {
  for (size_t i = 0; i < tests.cases.size(); ++i) {
    const FunctionCase& test = tests.cases[i];
    if (!test.kwargs.items.empty()) {
      return absl::StrCat("tests.cases[", i,
                          "].kwargs: C++ has no arguments by name; \"args\", a list, is expected");
    }
    if (HasIntegerBeyond64Bits(test.args)) {
      return absl::StrCat(
          "tests.cases[", i,
          "].args: an integer beyond 64 bits, which no type of C++ holds; a string is expected "
          "in its place");
    }
  }
  return "";
}

class CppFunctionProgram final : public FunctionProgram {
 public:
  CppFunctionProgram(const SandboxLimits& limits, std::string entry, SandboxBox& box)
      : limits_(limits), entry_(std::move(entry)), box_(box) {}

  absl::StatusOr<Answer> Call(const FunctionCase& test) override {
    absl::Time deadline = absl::Now() + limits_.wall + absl::Seconds(2);
    SLUICE_ASSIGN_OR_RETURN(CppCallRun run, CppCallRun::Start(box_, limits_));
    auto message = run.Ask("call", entry_, test.args, deadline);
    RunResult end = run.Stop(message.status());
    return Answer{std::move(message), std::move(end)};
  }

 private:
  const SandboxLimits limits_;
  const std::string entry_;
  SandboxBox& box_;
};

}  // namespace

absl::StatusOr<CompiledCpp> CompileFirst(const std::vector<std::string>& readings, CodeRunner& runner,
                                         const JudgeLimits& limits) {
  CompiledCpp first;
  for (const std::string& reading : readings) {
    SLUICE_ASSIGN_OR_RETURN(CompiledCpp compiled, runner.compiler().Compile({reading}, limits));
    if (compiled.error.empty()) return compiled;
    if (first.error.empty()) first = std::move(compiled);
  }
  return first;
}

absl::StatusOr<CppCallRun> CppCallRun::Start(SandboxBox& box, const SandboxLimits& limits) {
  RunRequest request;
  request.argv = {"./program"};
  request.limits = limits;
  request.channel = true;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxRun> run, box.Start(request));
  return CppCallRun(std::move(run));
}

absl::StatusOr<TypedValue> CppCallRun::Ask(absl::string_view request, const std::string& name,
                                           const TypedValue& arguments, absl::Time deadline) {
  TypedValue order = TypedValue::Tuple({TypedValue::Text(request), TypedValue::Text(name), arguments});
  SLUICE_RETURN_IF_ERROR(channel_.Send(order, deadline));
  SLUICE_ASSIGN_OR_RETURN(TypedValue message, channel_.Receive(deadline));
  ReadStrings(message);
  return message;
}

RunResult CppCallRun::Stop(const absl::Status& answer) {
  if (!absl::IsUnavailable(answer)) run_->Kill();
  return run_->Wait();
}

absl::StatusOr<JudgedProgram> JudgeCppByFunction(const CodeScorerSpec& spec, const std::string& program,
                                                 const FunctionTests& tests, const std::string& checker,
                                                 CodeRunner& runner, JudgeBoxes& boxes) {
  JudgedProgram judged;
  auto entry = ReadCppEntry(tests.entry_point, program);
  judged.undecided = entry.ok() ? RowFault(tests) : std::string(entry.status().message());
  if (!judged.undecided.empty()) return judged;
  for (const FunctionCase& test : tests.cases) entry->arities.insert(test.args.items.size());
  SLUICE_ASSIGN_OR_RETURN(CompiledCpp compiled,
                          CompileFirst(CallableCpp(program, {*entry}), runner, boxes.limits()));
  if (!compiled.error.empty()) {
    TestResult failure{std::string(outcome::kCompileError), absl::ToDoubleSeconds(compiled.wall),
                       compiled.peak_memory_bytes, Quotation(compiled.error)};
    FillResults(tests.cases.size(), failure, judged);
    return judged;
  }
  SLUICE_ASSIGN_OR_RETURN(SandboxBox * box, boxes.candidate());
  SLUICE_RETURN_IF_ERROR(box->WriteFile("program", compiled.binary, true));
  CppFunctionProgram callable(TestLimits(spec), entry->name, *box);
  return JudgeByFunction(spec, callable, tests, checker, boxes);
}

}  // namespace sluice
