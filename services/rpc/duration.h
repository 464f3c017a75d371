// google.protobuf.Duration and absl::Duration. Pure.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace sluice {

inline google::protobuf::Duration ToProto(absl::Duration duration) {
  google::protobuf::Duration out;
  out.set_seconds(absl::ToInt64Seconds(duration));
  out.set_nanos(static_cast<int32_t>((duration - absl::Seconds(out.seconds())) / absl::Nanoseconds(1)));
  return out;
}

inline absl::Duration FromProto(const google::protobuf::Duration& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

}  // namespace sluice
