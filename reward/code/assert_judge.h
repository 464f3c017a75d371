// Judges Python programs by code that calls them: the tests' code runs in the row's box, the program in the
// candidate's, and every value between them passes through here as data.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "reward/code/judging.h"

namespace sluice {

struct AssertJob {
  std::vector<std::string> sources;  // the first that is Python is the program
  std::string setup;
  std::vector<std::string> tests;
  std::string prompt, entry_point;  // of HUMANEVAL: check(entry_point) is called after the test
};

// Tests that need the program's objects themselves (instances of its classes, functions as arguments) run
// together with it.
absl::StatusOr<JudgedProgram> JudgeByAsserts(const CodeScorerSpec& spec, const AssertJob& job,
                                             JudgeBoxes& boxes);

}  // namespace sluice
