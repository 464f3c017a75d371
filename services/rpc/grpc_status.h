// Statuses across gRPC: the codes are the same numbers; code and message are kept (the message up to 2 KiB,
// for it travels in a header).
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace sluice {

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// The trailing metadata that gRPC reads before a retry: milliseconds, negative for no retry at all.
constexpr char kPushback[] = "grpc-retry-pushback-ms";
std::string PushbackOf(absl::Duration pause);
// What is no number is no retry, as gRPC has it. At most an hour.
absl::Duration ReadPushback(absl::string_view text);

}  // namespace sluice
