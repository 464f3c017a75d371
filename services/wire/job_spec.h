// Job specs across the wire (sluice/v1/job.proto). Pure.
#pragma once

#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "sluice/v1/job.pb.h"

namespace sluice {

// Every field set.
v1::JobSpec ToProto(const JobSpec& spec);
// Fills every default in as the comments of job.proto give it and checks the whole: INVALID_ARGUMENT names
// the field as a user writes it ("sampling.group_size: ...").
absl::StatusOr<JobSpec> FromProto(const v1::JobSpec& proto);

}  // namespace sluice
