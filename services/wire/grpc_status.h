// Statuses across gRPC: the codes are the same numbers; code and message are kept (the message up to 2 KiB,
// for it travels in a header).
#pragma once

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace sluice {

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace sluice
