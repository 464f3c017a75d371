#include "services/clients/lease.h"

#include "absl/strings/str_cat.h"
#include "services/rpc/duration.h"

namespace sluice {

absl::StatusOr<absl::Duration> ReadLease(const google::protobuf::Duration& proto) {
  const absl::Duration lease = FromProto(proto);
  if (lease >= absl::Milliseconds(1) && lease <= absl::Hours(24)) return lease;
  return absl::InternalError(absl::StrCat("the coordinator gave a lease of ", absl::FormatDuration(lease)));
}

}  // namespace sluice
