// What `sluice` tells a shell.
#pragma once

#include "absl/status/status.h"

namespace sluice::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,         // the job or some rows failed
  kUsage = 2,          // wrong usage or input
  kUnreachable = 3,    // a service cannot be reached
  kInterrupted = 130,  // by Ctrl-C; what was done is kept
};

// By the code of the status: UNAVAILABLE and DEADLINE_EXCEEDED are unreachable; INVALID_ARGUMENT, NOT_FOUND,
// ALREADY_EXISTS, FAILED_PRECONDITION, OUT_OF_RANGE and RESOURCE_EXHAUSTED are usage; others failed.
ExitCode ExitCodeOf(const absl::Status& status);

// Prints "sluice: message" on standard error and gives the exit code; OK prints nothing.
int Report(const absl::Status& status);

}  // namespace sluice::cli
