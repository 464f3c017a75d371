// Judges programs by values of a function: arguments go into the candidate's box, the result comes out as
// data and is compared here.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "reward/code/judging.h"
#include "reward/code/test_set.h"

namespace sluice {

// A program whose function is called, in a fresh process each time.
class FunctionProgram {
 public:
  virtual ~FunctionProgram() = default;
  struct Answer {
    // ("value", special, value, ...), ("raise" or "failed", classes, arguments, text), ("broken", why it is
    // no program), ("unfit", why it cannot be called so); or why there is none.
    absl::StatusOr<TypedValue> message;
    RunResult run;
  };
  // A status is the sandbox's failure.
  virtual absl::StatusOr<Answer> Call(const FunctionCase& test) = 0;
};

// All are borrowed.
std::unique_ptr<FunctionProgram> PythonFunctionProgram(const CodeScorerSpec& spec, const std::string& source,
                                                       const std::string& entry_point, JudgeBoxes& boxes);

absl::StatusOr<JudgedProgram> JudgeByFunction(const CodeScorerSpec& spec, FunctionProgram& program,
                                              const FunctionTests& tests, const std::string& checker,
                                              JudgeBoxes& boxes);

}  // namespace sluice
