// A resolved JobSpec as JSON in the store's rows, and back. Not for people: the public form is the proto.
// Pure.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rl/job_spec.h"

namespace sluice {

std::string SpecToJson(const JobSpec& spec);
absl::StatusOr<JobSpec> SpecFromJson(absl::string_view json);  // DATA_LOSS

}  // namespace sluice
