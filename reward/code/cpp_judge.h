// Judges C++ programs.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "reward/code/code_runner.h"
#include "reward/code/judging.h"
#include "reward/code/test_set.h"

namespace sluice {

absl::StatusOr<JudgedProgram> JudgeCppByStdio(const CodeScorerSpec& spec, const std::string& program,
                                              const StdioTests& tests, const std::string& checker,
                                              CodeRunner& runner, JudgeBoxes& boxes);

// Program and tests are one process, hence stamped "tests_visible": it passes where it proves, by a key of
// this one run, that main came to its end.
absl::StatusOr<JudgedProgram> JudgeCppContinuation(const CodeScorerSpec& spec, const std::string& completion,
                                                   const HumanEvalTest& row, CodeRunner& runner,
                                                   JudgeBoxes& boxes);

}  // namespace sluice
