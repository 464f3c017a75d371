// Jobs, workers and samples as clients see them, across the wire (sluice/v1/job.proto, fleet.proto). Pure.
#pragma once

#include "absl/status/statusor.h"
#include "coordinator/coordinator.h"
#include "coordinator/records/job_view.h"
#include "sluice/v1/fleet.pb.h"
#include "sluice/v1/job.pb.h"

namespace sluice {

v1::Job ToProto(const JobView& view);
v1::WorkerStatus ToProto(const WorkerView& view);
v1::ListSamplesResponse ToProto(const SampleView& view);
v1::Attempt ToProto(const AttemptView& view);
v1::QuarantinedSample ToProto(const QuarantineView& view);
v1::ReplayStep ToProto(const ReplayStepView& view);
v1::JobState ToProto(JobState state);

// INVALID_ARGUMENT for WORKER_ROLE_UNSPECIFIED and values unknown here.
absl::StatusOr<WorkerRole> FromProto(v1::WorkerRole role);

}  // namespace sluice
