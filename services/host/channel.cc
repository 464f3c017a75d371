#include "services/host/channel.h"

#include "core/base/status.h"
#include "services/host/server_options.h"

namespace sluice {

namespace {
// A connection on which nothing comes for kPingAfterMs is asked; without an answer within kPingTimeoutMs it
// is broken, and its calls end with UNAVAILABLE.
constexpr int kPingAfterMs = 20000, kPingTimeoutMs = 10000;
constexpr int kConnectTimeoutMs = 5000, kLongestReconnectMs = 1000;  // of one try; between tries
}  // namespace

std::map<std::string, int> ClientKeepalive(ChannelUse use) {
  std::map<std::string, int> out = {{GRPC_ARG_KEEPALIVE_TIME_MS, kPingAfterMs},
                                    {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs}};
  if (use == ChannelUse::kLongSilentCalls) out[GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA] = 0;
  return out;
}

std::map<std::string, int> ServerKeepalive() {
  return {{GRPC_ARG_KEEPALIVE_TIME_MS, kPingAfterMs},
          {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs},
          {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
          {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingAfterMs / 4}};
}

grpc::ChannelArguments MakeChannelArguments(ChannelUse use) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  for (const auto& [name, value] : ClientKeepalive(use)) arguments.SetInt(name, value);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnectMs);
  // A connection of its own: who makes a new channel, because nothing comes over the old one, gets a new one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // loopback never goes through a proxy
  return arguments;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address, ChannelUse use) {
  SLUICE_RETURN_IF_ERROR(CheckLoopback(address, "address"));
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), MakeChannelArguments(use));
}

}  // namespace sluice
