// What a worker sends of a completion is not trusted. Pure.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "core/rl/types.h"

namespace sluice {

// What the completions of a group have to be like.
struct TrajectoryRules {
  Draw draw = 0;
  size_t prompt_tokens = 0;
  const SamplingParams& sampling;
  const std::map<PolicyVersion, std::string>& manifests;  // of the versions that spans may name
};

// INVALID_ARGUMENT says what is wrong: lengths have to agree, log-probabilities to be finite, spans to tile
// the tokens and to name versions as published. An unfinished one is progress, and may grow into a finished
// one; it may be a part (core/rl/trajectory_parts), which is checked by itself.
absl::Status CheckTrajectory(const Trajectory& trajectory, const TrajectoryRules& rules);

}  // namespace sluice
