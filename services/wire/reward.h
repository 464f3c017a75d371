// What is judged and how, across the wire (sluice/v1/reward.proto, RewardSpec of job.proto). Pure.
#pragma once

#include "absl/status/statusor.h"
#include "core/rl/scorer.h"
#include "sluice/v1/reward.pb.h"

namespace sluice {

v1::RewardSpec ToProto(const RewardSpec& spec);
// Fields named as in a job: "reward.component[0].regex.pattern".
absl::StatusOr<RewardSpec> FromProto(const v1::RewardSpec& proto);

v1::ScoreItem ToProto(const ScoreItem& item);
absl::StatusOr<ScoreItem> FromProto(const v1::ScoreItem& proto);

}  // namespace sluice
