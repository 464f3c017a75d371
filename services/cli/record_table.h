// What `sluice attempts` and `sluice quarantine` print. Pure.
#pragma once

#include <string>

#include "sluice/v1/job.pb.h"

namespace sluice::cli {

std::string RenderAttempts(const v1::ListAttemptsResponse& attempts);
std::string RenderQuarantine(const v1::ListQuarantineResponse& quarantine);

}  // namespace sluice::cli
