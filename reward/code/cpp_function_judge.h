// Judges C++ programs by values of a function, which is called with data in a process that never meets the
// values expected.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "reward/code/code_runner.h"
#include "reward/code/cpp_compiler.h"
#include "reward/code/function_judge.h"
#include "reward/code/judging.h"
#include "reward/code/test_set.h"

namespace sluice {

// The first of these readings that compiles; else the first one's error.
absl::StatusOr<CompiledCpp> CompileFirst(const std::vector<std::string>& readings, CodeRunner& runner,
                                         const JudgeLimits& limits);

// A run of a compiled program that answers calls (cpp_function.h). Killed when it is destroyed. Not
// thread-safe.
class CppCallRun {
 public:
  static absl::StatusOr<CppCallRun> Start(SandboxBox& box, const SandboxLimits& limits);
  // The answer to a request, ("call", name, arguments) or ("describe", name, null), or why there is none.
  // Strings that are UTF-8 are text in it.
  absl::StatusOr<TypedValue> Ask(absl::string_view request, const std::string& name,
                                 const TypedValue& arguments, absl::Time deadline);
  // Ends it; `answer` is its last one. Where it is gone by itself the result says how.
  RunResult Stop(const absl::Status& answer);

 private:
  explicit CppCallRun(std::unique_ptr<SandboxRun> run) : run_(std::move(run)), channel_(run_->channel()) {}
  std::unique_ptr<SandboxRun> run_;
  MessageChannel channel_;
};

absl::StatusOr<JudgedProgram> JudgeCppByFunction(const CodeScorerSpec& spec, const std::string& program,
                                                 const FunctionTests& tests, const std::string& checker,
                                                 CodeRunner& runner, JudgeBoxes& boxes);

}  // namespace sluice
