// Judges Python programs by values of a function: arguments go into the candidate's box, the result comes out
// as data and is compared here.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "reward/code/judging.h"
#include "reward/code/test_set.h"

namespace sluice {

absl::StatusOr<JudgedProgram> JudgeByFunction(const CodeScorerSpec& spec, const std::string& program,
                                              const FunctionTests& tests, const std::string& checker,
                                              JudgeBoxes& boxes);

}  // namespace sluice
