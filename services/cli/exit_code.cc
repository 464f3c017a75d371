#include "services/cli/exit_code.h"

#include <iostream>

#include "absl/strings/match.h"

namespace sluice::cli {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kUnreachable;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kResourceExhausted:
      return kUsage;
    default:
      return kFailed;
  }
}

int Report(const absl::Status& status) {
  if (!status.ok()) std::cerr << "sluice: " << status.message() << "\n";
  if (absl::StrContains(status.message(), "failed to connect")) {
    std::cerr << "Nobody answers there. Where it is a fleet of `sluice up`, that command starts what is "
                 "missing; its "
                 "logs are in STATE/logs.\n";
  }
  return ExitCodeOf(status);
}

}  // namespace sluice::cli
