#include "reward/code/cpp_judge.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include "reward/code/cpp_continuation.h"
#include "reward/code/message_channel.h"
#include "reward/code/outcome.h"
#include "reward/code/secret.h"
#include "reward/code/stdio_judge.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

TestResult CompileFailure(const CompiledCpp& compiled) {
  return {std::string(outcome::kCompileError), absl::ToDoubleSeconds(compiled.wall),
          compiled.peak_memory_bytes, Quotation(compiled.error)};
}

std::string Xor(std::string a, absl::string_view b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<char>(a[i] ^ b[i]);
  return a;
}

// 32 bytes that belong to these tests.
std::string TagOf(const CodeRunner& runner, const HumanEvalTest& row) {
  return absl::HexStringToBytes(Sha256Hex(absl::StrCat(runner.secret(), row.prompt, row.test)));
}

TestResult ResultOf(const absl::StatusOr<TypedValue>& answer, const std::string& proof,
                    const RunResult& run) {
  bool proven = answer.ok() && answer->kind == TypedValue::kBytes && answer->text == proof;
  if (proven && LimitOf(run).empty()) return MakeResult(outcome::kPassed, "", run);
  if (!LimitOf(run).empty()) return MakeResult(LimitOf(run), DescribeEnd(run), run);
  if (answer.ok() && answer->kind == TypedValue::kBytes && answer->text.empty()) {
    return MakeResult(outcome::kWrongAnswer, "an assertion failed", run);
  }
  return MakeResult(outcome::kRuntimeError, absl::StrCat("it ended before the tests did: ", DescribeEnd(run)),
                    run);
}

absl::StatusOr<TestResult> RunProving(const CodeScorerSpec& spec, const std::string& tag, SandboxBox& box) {
  RunRequest request;
  request.argv = {"./program"};
  request.limits = TestLimits(spec);
  request.channel = true;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxRun> run, box.Start(request));
  std::string key = FreshSecret();
  MessageChannel channel(run->channel());
  (void)channel.Send(TypedValue::Bytes(key),
                     absl::Now() + absl::Seconds(1));  // where it fails there is no proof
  RunResult end = run->Wait();
  if (LimitOf(end) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(end));
  return ResultOf(channel.Receive(absl::Now()), Xor(key, tag), end);
}

// The first reading of the completion that compiles with the tests.
absl::StatusOr<CompiledCpp> CompileContinuation(const CppContinuation& program, CodeRunner& runner,
                                                const JudgeLimits& limits, std::string& row_error) {
  CppSource tests{program.tests, {}, {}, true};
  SLUICE_ASSIGN_OR_RETURN(CompiledCpp object, runner.compiler().Compile(tests, limits));
  if (!object.error.empty()) {
    row_error = absl::StrCat("field \"tests\" does not compile: ", Quotation(object.error));
    return object;
  }
  CompiledCpp first;
  for (const std::string& candidate : program.candidates) {
    CppSource source{candidate, {"-Wl,--wrap=main"}, {object.binary}, false};
    SLUICE_ASSIGN_OR_RETURN(CompiledCpp compiled, runner.compiler().Compile(source, limits));
    if (compiled.error.empty()) return compiled;
    if (first.error.empty()) first = std::move(compiled);
  }
  return first;
}

}  // namespace

absl::StatusOr<JudgedProgram> JudgeCppByStdio(const CodeScorerSpec& spec, const std::string& program,
                                              const StdioTests& tests, const std::string& checker,
                                              CodeRunner& runner, JudgeBoxes& boxes) {
  JudgedProgram judged;
  SLUICE_ASSIGN_OR_RETURN(CompiledCpp compiled, runner.compiler().Compile({program}, boxes.limits()));
  if (!compiled.error.empty()) {
    FillResults(tests.tests.size(), CompileFailure(compiled), judged);
    return judged;
  }
  SLUICE_ASSIGN_OR_RETURN(SandboxBox * box, boxes.candidate());
  SLUICE_RETURN_IF_ERROR(box->WriteFile("program", compiled.binary, true));
  return JudgeByStdio(spec, *CompiledStdioProgram(*box), tests, checker, boxes);
}

absl::StatusOr<JudgedProgram> JudgeCppContinuation(const CodeScorerSpec& spec, const std::string& completion,
                                                   const HumanEvalTest& row, CodeRunner& runner,
                                                   JudgeBoxes& boxes) {
  JudgedProgram judged;
  judged.tests_visible = true;
  std::string tag = TagOf(runner, row);
  auto program = ContinueCpp(row, completion, tag);
  if (!program.ok()) {
    judged.undecided = std::string(program.status().message());
    return judged;
  }
  SLUICE_ASSIGN_OR_RETURN(CompiledCpp compiled,
                          CompileContinuation(*program, runner, boxes.limits(), judged.undecided));
  if (!judged.undecided.empty()) return judged;
  if (!compiled.error.empty()) {
    FillResults(1, CompileFailure(compiled), judged);
    return judged;
  }
  SLUICE_ASSIGN_OR_RETURN(SandboxBox * box, boxes.candidate());
  SLUICE_RETURN_IF_ERROR(box->WriteFile("program", compiled.binary, true));
  SLUICE_ASSIGN_OR_RETURN(TestResult result, RunProving(spec, tag, *box));
  judged.tests.push_back(std::move(result));
  return judged;
}

}  // namespace sluice
