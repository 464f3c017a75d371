// How `sluice reward` is told what a completion is worth: a file in protobuf text format or JSON that holds
// one of
//   a scorer         math { mode: PAIR }
//   components       component { name: "answer" math {} } component { ... } combination: PRODUCT
//   a reward         reward { component { ... } }
//   a job            of which only the reward is taken
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rl/job_spec.h"

namespace sluice::cli {

// Complete and checked. Mistakes are told as "FILE:LINE:COLUMN: FIELD: what is wrong". A scorer alone becomes
// the one component, with its own name ("math").
absl::StatusOr<RewardSpec> ReadRewardSpec(const std::string& path);

// `name` is for the errors. JSON where the first character is "{".
absl::StatusOr<RewardSpec> ParseRewardSpec(const std::string& text, const std::string& name);

}  // namespace sluice::cli
