#include "services/host/channel.h"

#include "core/base/status.h"
#include "services/host/server_options.h"

namespace sluice {

grpc::ChannelArguments MakeChannelArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // loopback never goes through a proxy
  return arguments;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const std::string& address) {
  SLUICE_RETURN_IF_ERROR(CheckLoopback(address, "address"));
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), MakeChannelArguments());
}

}  // namespace sluice
