// Channels to other processes: plain text on loopback, keepalive on, messages up to 64 MiB, quick to
// reconnect.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/grpcpp.h"

namespace sluice {

// Largest message that any service of Sluice takes or sends.
constexpr int kMaxMessageBytes = 64 << 20;

// Does not wait for the connection. INVALID_ARGUMENT off loopback.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address);

// What MakeChannel sets, for in-process channels.
grpc::ChannelArguments MakeChannelArguments();

}  // namespace sluice
