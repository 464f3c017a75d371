#include "services/host/host.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

// gRPC keeps both as state of the process, to be set before the first server is built.
void EnableHealthAndReflection() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

std::string WithPort(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

// Opens and closes a connection to a loopback port; nothing happens where nobody listens.
void Knock(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  [[maybe_unused]] const int connected = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to));
  close(fd);
}

absl::Status InUse(absl::string_view flag, const std::string& address, absl::string_view why) {
  return absl::FailedPreconditionError(
      absl::StrCat(flag, ": cannot listen on ", address, why.empty() ? "" : ": ", why,
                   "; is another process using the port? Choose another one, or port 0 for any free one"));
}

}  // namespace

Host::Host(std::string role, ServerOptions options, const ExecutorOptions& executor)
    : role_(std::move(role)),
      options_(std::move(options)),
      registry_(std::make_shared<prometheus::Registry>()),
      process_metrics_(std::make_shared<ProcessMetrics>(role_, options_.state_dir)),
      executor_(std::make_unique<Executor>(executor)),
      stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (options_.name.empty()) options_.name = role_;
}

absl::StatusOr<std::unique_ptr<Host>> Host::Create(std::string role, ServerOptions options,
                                                   const ExecutorOptions& executor) {
  SLUICE_RETURN_IF_ERROR(Validate(options));
  std::unique_ptr<Host> host(new Host(std::move(role), std::move(options), executor));
  if (host->stop_event_ < 0) return ErrnoStatus(errno, "eventfd");
  SLUICE_RETURN_IF_ERROR(host->StartMetrics());
  return host;
}

Host::~Host() {
  Shutdown(absl::ZeroDuration());
  StopMetrics();
  if (stop_event_ >= 0) close(stop_event_);
}

absl::Status Host::StartMetrics() {
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", options_.metrics_listen, "num_threads", "2", "request_timeout_ms", "10000"});
    exposer_->RegisterCollectable(registry_);
    exposer_->RegisterCollectable(process_metrics_);
    const std::vector<int> ports = exposer_->GetListeningPorts();
    if (ports.empty()) return InUse("--metrics-listen", options_.metrics_listen, "no port was bound");
    metrics_address_ = WithPort(options_.metrics_listen, ports.front());
  } catch (const std::exception& error) {
    return InUse("--metrics-listen", options_.metrics_listen, "");
  }
  return absl::OkStatus();
}

// The HTTP library looks whether it is to stop only when a connection comes or two seconds have passed:
// connections are made until it has stopped.
void Host::StopMetrics() {
  if (exposer_ == nullptr) return;
  const int port = metrics_address_.empty() ? 0 : exposer_->GetListeningPorts().front();
  absl::Notification stopped;
  std::thread stopper([&] {
    exposer_ = nullptr;
    stopped.Notify();
  });
  do {
    if (port != 0) Knock(port);
  } while (!stopped.WaitForNotificationWithTimeout(absl::Milliseconds(5)));
  stopper.join();
}

absl::Status Host::Start() {
  EnableHealthAndReflection();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a second process on the port is an error
  for (const auto& [name, value] : ServerKeepalive()) builder.AddChannelArgument(name, value);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetMaxSendMessageSize(kMaxMessageBytes);
  for (grpc::Service* service : services_) builder.RegisterService(service);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    server_ = nullptr;
    return InUse("--listen", options_.listen, "");
  }
  address_ = WithPort(options_.listen, port);
  SetServing(true);
  if (!options_.address_file.empty()) SLUICE_RETURN_IF_ERROR(WriteAddressFile());
  LogInfo("serving", {{"name", options_.name}, {"grpc", address_}, {"metrics", metrics_address_}});
  return absl::OkStatus();
}

absl::Status Host::WriteAddressFile() const {
  nlohmann::json json = {{"role", role_},
                         {"name", options_.name},
                         {"pid", getpid()},
                         {"grpc", address_},
                         {"metrics", metrics_address_}};
  for (const auto& [name, address] : more_addresses_) json[name] = address;
  return Annotate(WriteFileAtomically(options_.address_file, json.dump() + "\n"), "--address-file");
}

void Host::SetServing(bool serving) {
  if (server_ != nullptr) server_->GetHealthCheckService()->SetServingStatus(serving);
}

void Host::Wait() {
  pollfd fd = {stop_event_, POLLIN, 0};
  while (poll(&fd, 1, -1) < 0 && errno == EINTR) {
  }
}

void Host::RequestStop() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written =
      write(stop_event_, &one, sizeof(one));  // fails only when it is set
}

void Host::Shutdown(absl::Duration grace) {
  if (server_ != nullptr) {
    SetServing(false);
    server_->Shutdown(absl::ToChronoTime(absl::Now() + grace));
    server_->Wait();
  }
  executor_->Stop();
  server_ = nullptr;
}

}  // namespace sluice
