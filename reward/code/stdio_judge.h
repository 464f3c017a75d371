// Judges programs by their standard output for given standard inputs.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "reward/code/judging.h"
#include "reward/code/test_set.h"

namespace sluice {

// A program that is run anew for each test.
class StdioProgram {
 public:
  virtual ~StdioProgram() = default;
  struct End {
    RunResult run;
    std::string compile_error;  // why it is no program; empty: it ran
  };
  virtual absl::StatusOr<End> Run(const std::string& input, const SandboxLimits& limits) = 0;
};

// Python source in a warm interpreter, as __main__.
std::unique_ptr<StdioProgram> PythonStdioProgram(SandboxBox& box, std::string source);
// "./program" of the box.
std::unique_ptr<StdioProgram> CompiledStdioProgram(SandboxBox& box);

absl::StatusOr<JudgedProgram> JudgeByStdio(const CodeScorerSpec& spec, StdioProgram& program,
                                           const StdioTests& tests, const std::string& checker,
                                           JudgeBoxes& boxes);

}  // namespace sluice
