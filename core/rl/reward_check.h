// The rules of a RewardSpec, which hold for jobs, requests and the command line alike. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "core/rl/job_spec.h"

namespace sluice {

constexpr size_t kMaxRewardComponents = 64, kMaxComponentNameBytes = 256, kMaxPatternBytes = 4096;
constexpr size_t kMaxTags = 16, kMaxTagBytes = 64;
constexpr size_t kMaxRemoteParameters = 256, kMaxRemoteParameterBytes = 64 << 10;
constexpr int32_t kMaxTestsOfARow = 10000;

// Of what another service says: a greater value is INFRASTRUCTURE.
constexpr double kMaxRemoteValue = 1e6;

// Ranges and contradictions. INVALID_ARGUMENT starts with the field as a user writes it
// ("reward.component[0].length.hard_limit: must be above soft_limit"). Whether a service has the scorers that
// are asked for only the service can say.
absl::Status Validate(const RewardSpec& spec);

}  // namespace sluice
