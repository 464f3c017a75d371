// The typed classes of what became of a test (proto VerdictComponent.outcome). Pure and thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/rl/types.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

namespace outcome {
inline constexpr absl::string_view kPassed = "passed", kWrongAnswer = "wrong_answer",
                                   kRuntimeError = "runtime_error", kTimeLimit = "time_limit",
                                   kMemoryLimit = "memory_limit", kOutputLimit = "output_limit",
                                   kProcessLimit = "process_limit", kCompileError = "compile_error",
                                   kInfrastructure = "infrastructure";
}  // namespace outcome

// The limit that a run met, infrastructure, or empty where it ended in another way.
absl::string_view LimitOf(const RunResult& run);
// As LimitOf, and runtime_error where it ended with a signal or an exit status other than 0; empty: it ended
// well.
absl::string_view FailureOf(const RunResult& run);
// Of an exception that ended a Python program, by its class's name and text.
absl::string_view OutcomeOfException(absl::string_view name, absl::string_view text);
// "exit status 1: ValueError: ...", "signal 11", "the sandbox: ..."; the last line of standard error is
// quoted.
std::string DescribeEnd(const RunResult& run);

TestResult MakeResult(absl::string_view outcome, std::string detail, const RunResult& run);

}  // namespace sluice
