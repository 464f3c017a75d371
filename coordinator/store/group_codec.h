// A group, or what there is so far of a sample, as bytes of a segment record, and back. Pure.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rl/types.h"

namespace sluice {

std::string EncodeGroup(const Group& group);
// DATA_LOSS when the bytes are not a group.
absl::StatusOr<Group> DecodeGroup(absl::string_view bytes);

struct ProgressRecord {
  JobId job;
  Trajectory trajectory;
};
std::string EncodeProgress(const ProgressRecord& progress);
// DATA_LOSS when the bytes are not progress.
absl::StatusOr<ProgressRecord> DecodeProgress(absl::string_view bytes);

}  // namespace sluice
