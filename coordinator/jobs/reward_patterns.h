// Patterns of a reward, tried before a job is accepted rather than at its first verdict. Pure.
#pragma once

#include "absl/status/status.h"
#include "core/rl/job_spec.h"

namespace sluice {

// INVALID_ARGUMENT names the component, the place in the pattern and what is wrong there.
absl::Status CheckPatterns(const RewardSpec& reward);

}  // namespace sluice
