// A row's own checker: Python that says whether an output is right (harness/checker.py has its contract). It
// runs in the row's box.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "reward/code/judging.h"

namespace sluice {

struct CheckedOutput {
  std::string input, expected, actual;
};

// Adds the result of a test whose program ended well with this output. A checker that fails is the row's
// fault where it also fails on the expected output, else the output's.
absl::Status RecordChecked(const CodeScorerSpec& spec, const std::string& checker,
                           const CheckedOutput& output, JudgeBoxes& boxes, const RunResult& run,
                           JudgedProgram& judged);

}  // namespace sluice
