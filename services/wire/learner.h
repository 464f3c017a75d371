// What goes to the learner and comes back (sluice/v1/learner.proto); groups are in group_stream.h. Pure.
#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "core/rl/trainer.h"
#include "google/protobuf/map.h"
#include "sluice/v1/learner.pb.h"

namespace sluice {

v1::SupervisedExample ToProto(const SupervisedExample& example);
absl::StatusOr<SupervisedExample> FromProto(const v1::SupervisedExample& proto);

v1::OpenJobResponse ToProto(const TrainerState& state);
absl::StatusOr<TrainerState> FromProto(const v1::OpenJobResponse& proto);

v1::StepResponse ToProto(const StepResult& result);
absl::StatusOr<StepResult> FromProto(const v1::StepResponse& proto);

v1::Checkpoint ToProto(const CheckpointInfo& info);
absl::StatusOr<CheckpointInfo> FromProto(const v1::Checkpoint& proto);

using MetricsMap = google::protobuf::Map<std::string, double>;
MetricsMap ToProto(const StepMetrics& metrics);
// Names of at most 128 characters, at most 1024 of them, finite numbers.
absl::StatusOr<StepMetrics> FromProto(const MetricsMap& proto);

}  // namespace sluice
