// A process at the other end of a gRPC channel, and one call to it. Calls have deadlines, may be cancelled
// through a CancelToken, and their errors name the peer.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "grpcpp/grpcpp.h"
#include "services/rpc/channel.h"

namespace sluice {

// Copies share the channel, which reconnects by itself. Thread-safe.
struct Peer {
  std::string address;  // in error messages
  std::shared_ptr<grpc::Channel> channel;
};

// Keepalive is on, messages up to 64 MiB. Does not wait for the connection. INVALID_ARGUMENT off loopback:
// there is no TLS yet.
absl::StatusOr<Peer> Connect(const std::string& address, ChannelUse use = ChannelUse::kShortCalls);

// One call's context. Lives as long as the call; cancels it as soon as `cancel` is raised.
class ClientCall {
 public:
  ClientCall(const Peer& peer, absl::Time deadline, const CancelToken* cancel = nullptr);
  grpc::ClientContext* context() { return &context_; }
  // What the call ended with, the peer's address in the message, with RetryAfter where the peer says when.
  absl::Status Result(const grpc::Status& status) const;
  // INTERNAL: the peer sent what it must not send.
  absl::Status BadResponse(absl::string_view what) const;

 private:
  struct TryCancel {
    grpc::ClientContext* context;
    void operator()() const { context->TryCancel(); }
  };
  const std::string address_;
  grpc::ClientContext context_;
  std::optional<std::stop_callback<TryCancel>> on_cancel_;  // after context_: it goes first
};

}  // namespace sluice
