#include "reward/code/harness.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {

absl::StatusOr<HarnessRun> HarnessRun::Start(SandboxBox& box, HarnessRole role, const SandboxLimits& limits,
                                             std::string standard_input) {
  static constexpr const char* kFunctions[] = {"candidate", "tests", "program", "checker", "together"};
  RunRequest request;
  request.python_source = absl::StrCat("import ", kHarnessModule, "\n", kHarnessModule, ".",
                                       kFunctions[static_cast<int>(role)], "()\n");
  request.standard_input = std::move(standard_input);
  request.limits = limits;
  request.channel = true;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<SandboxRun> run, box.Start(request));
  return HarnessRun(std::move(run));
}

RunResult HarnessRun::Stop() {
  run_->Kill();
  return run_->Wait();
}

}  // namespace sluice
