#include "services/rpc/channel.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"

namespace sluice {

namespace {
// A connection on which nothing comes for kPingAfterMs is asked; without an answer within kPingTimeoutMs it
// is broken, and its calls end with UNAVAILABLE.
constexpr int kPingAfterMs = 20000, kPingTimeoutMs = 10000;
constexpr int kConnectTimeoutMs = 5000, kLongestReconnectMs = 1000;  // of one try; between tries

bool IsLoopbackHost(absl::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  const std::vector<std::string> parts = absl::StrSplit(host, '.');
  if (parts.size() != 4 || parts[0] != "127") return false;
  for (const std::string& part : parts) {
    int number = 0;
    if (part.size() > 3 || !absl::SimpleAtoi(part, &number) || number < 0 || number > 255) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckLoopback(absl::string_view address, absl::string_view flag) {
  const size_t colon = address.rfind(':');
  int port = -1;
  const bool digits = colon != absl::string_view::npos && colon + 1 < address.size() &&
                      address.find_first_not_of("0123456789", colon + 1) == absl::string_view::npos;
  if (!digits || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": \"", address, "\" is not HOST:PORT, for example 127.0.0.1:0"));
  }
  if (IsLoopbackHost(address.substr(0, colon))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", address,
                   " is not a loopback address. TLS and identity are not available yet, so services are only "
                   "served and called on loopback; use 127.0.0.1, localhost or [::1]"));
}

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
