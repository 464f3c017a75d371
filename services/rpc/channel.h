// Channels to other processes: plain text on loopback, keepalive on, messages up to 64 MiB, quick to
// reconnect.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "grpcpp/grpcpp.h"

namespace sluice {

// Largest message that any service of Sluice takes or sends.
constexpr int kMaxMessageBytes = 64 << 20;

// What a channel's calls are like. A peer that no longer answers is noticed by pings. Peers that are not of
// Sluice refuse many pings without data between them (gRPC's default server: two), so only channels to its
// own services, which allow it, ping as long as a call is under way.
enum class ChannelUse {
  kShortCalls,       // or such that data flow: their deadlines notice the rest
  kLongSilentCalls,  // for example a learner's step
};

// Without TLS and an identity only loopback addresses are bound or called: "127.x.y.z:PORT", "[::1]:PORT" and
// "localhost:PORT". INVALID_ARGUMENT names `flag`.
absl::Status CheckLoopback(absl::string_view address, absl::string_view flag);

// Does not wait for the connection. INVALID_ARGUMENT off loopback.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address,
                                                           ChannelUse use = ChannelUse::kShortCalls);

// What MakeChannel sets, for in-process channels and tests.
grpc::ChannelArguments MakeChannelArguments(ChannelUse use = ChannelUse::kShortCalls);

// Of these, what notices a peer that no longer answers.
std::map<std::string, int> ClientKeepalive(ChannelUse use);
// What a server of Sluice sets: it pings its clients, and allows their pings.
std::map<std::string, int> ServerKeepalive();

}  // namespace sluice
