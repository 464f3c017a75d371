// A Python test in one process with the program, for tests that need its objects. Stamped "tests_visible".
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/types.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

struct TogetherTest {
  std::vector<std::string> sources;
  std::string setup, test, prompt, entry_point;
};

// Passed only where the process proves it with a key of this one test; exit codes prove nothing.
absl::StatusOr<TestResult> JudgeTogether(const TogetherTest& test, const SandboxLimits& limits,
                                         SandboxBox& box);

}  // namespace sluice
