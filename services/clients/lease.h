// How long a coordinator lets a worker be without hearing of it.
#pragma once

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace sluice {

// INTERNAL when it is below a millisecond or above a day: no worker could live by it.
absl::StatusOr<absl::Duration> ReadLease(const google::protobuf::Duration& proto);

}  // namespace sluice
