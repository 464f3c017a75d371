// Faults of the disk as errors, and the room on it. RESOURCE_EXHAUSTED: it is full; UNAVAILABLE: it is
// read-only or fails. Both may pass: who has to write tries again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice {

absl::Status DiskError(int error, absl::string_view what);  // of an errno
bool IsDiskFault(const absl::Status& status);
// What has to happen before writing goes on, after "the job goes on when ".
std::string DiskRemedy(const absl::Status& fault, const std::string& folder);

struct DiskSpace {
  int64_t free_bytes = 0;  // for who is not root
  int64_t total_bytes = 0;
};
absl::StatusOr<DiskSpace> DiskSpaceOf(const std::string& path);

// Asked before each "segment.read", "segment.write", "segment.sync" and "database.commit"; the errno to fail
// with instead, or 0. For tests: of a disk that fails, or that takes its time.
using DiskFault = std::function<int(absl::string_view operation)>;

}  // namespace sluice
