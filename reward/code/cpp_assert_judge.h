// Judges C++ programs by asserts about their functions. Program and asserts run in boxes of their own; what
// the asserts call passes here as data.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "reward/code/code_runner.h"
#include "reward/code/judging.h"
#include "reward/code/test_set.h"

namespace sluice {

absl::StatusOr<JudgedProgram> JudgeCppByAsserts(const CodeScorerSpec& spec, const std::string& program,
                                                const AssertTests& tests, CodeRunner& runner,
                                                JudgeBoxes& boxes);

}  // namespace sluice
