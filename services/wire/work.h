// The ends of orders across the wire (sluice/v1/fleet.proto). Pure.
#pragma once

#include "absl/status/status.h"
#include "sluice/v1/fleet.pb.h"

namespace sluice {

// The message is cut at 2 KiB; RetryAfter is kept.
v1::WorkEnd WorkEndOf(const absl::Status& status);
// A code that is not known is UNKNOWN.
absl::Status StatusOf(const v1::WorkEnd& end);

}  // namespace sluice
