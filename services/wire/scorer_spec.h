// What judges one component of a reward, across the wire (RewardComponent's oneof of job.proto). Pure.
#pragma once

#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "sluice/v1/job.pb.h"

namespace sluice {

// Sets the oneof; every field set.
void WriteScorer(const ScorerSpec& spec, v1::RewardComponent& out);
// Fills defaults in. INVALID_ARGUMENT: what is needed and not given, or an unknown value of an enum
// ("code.language: ..."); ranges are core/rl's Validate.
absl::StatusOr<ScorerSpec> ReadScorer(const v1::RewardComponent& proto);

}  // namespace sluice
