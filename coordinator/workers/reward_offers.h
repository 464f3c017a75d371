// Whether the reward workers that are registered have the other services that a reward asks for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/workers/worker_registry.h"
#include "core/rl/job_spec.h"

namespace sluice {

// Asks each living reward worker to judge nothing by each "remote" component. INVALID_ARGUMENT names the
// first component whose service none of them offers. Else lines for people: what could not be asked (nobody
// is registered, nobody answers in time), and which workers lack a service that others have. Blocks until
// `deadline` at most.
absl::StatusOr<std::vector<std::string>> CheckRewardOffers(const RewardSpec& reward,
                                                           const std::vector<RegisteredWorker>& workers,
                                                           absl::Time deadline);

}  // namespace sluice
