#include "services/host/server_options.h"

#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr size_t kMaxNameBytes = 128;

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

void AddServerOptions(CLI::App& app, ServerOptions& options) {
  app.add_option("--listen", options.listen, "Address of the gRPC service; port 0: any free one")
      ->capture_default_str();
  app.add_option(
      "--advertise", options.advertise,
      "Address at which others reach the gRPC service, where it is not that of --listen: a proxy's");
  app.add_option("--metrics-listen", options.metrics_listen, "Address of /metrics; port 0: any free one")
      ->capture_default_str();
  app.add_option("--address-file", options.address_file,
                 "Written with the real addresses when serving (JSON)");
  app.add_option("--state", options.state_dir, "Folder of the service's durable state");
  app.add_option("--coordinator", options.coordinator, "Address of the coordinator to register with");
  app.add_option("--name", options.name, "Unique name in the fleet; the same after a restart");
  app.add_option("--log-level", options.log_level, "debug, info, warning or error")->capture_default_str();
  app.add_option(
         "--stop-seconds", options.stop_seconds,
         "After SIGTERM or SIGINT: time to end in order what is under way; a second SIGINT ends at once")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
}

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

absl::Status Validate(const ServerOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckLoopback(options.listen, "--listen"));
  SLUICE_RETURN_IF_ERROR(CheckLoopback(options.metrics_listen, "--metrics-listen"));
  if (!options.advertise.empty()) SLUICE_RETURN_IF_ERROR(CheckLoopback(options.advertise, "--advertise"));
  if (!options.coordinator.empty())
    SLUICE_RETURN_IF_ERROR(CheckLoopback(options.coordinator, "--coordinator"));
  if (options.name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("--name: at most ", kMaxNameBytes, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status ApplyLogLevel(const std::string& level) {
  if (level == "debug") {
    SetLogLevel(LogLevel::kDebug);
  } else if (level == "info") {
    SetLogLevel(LogLevel::kInfo);
  } else if (level == "warning") {
    SetLogLevel(LogLevel::kWarning);
  } else if (level == "error") {
    SetLogLevel(LogLevel::kError);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-level: \"", level, "\" is not one of debug, info, warning, error"));
  }
  return absl::OkStatus();
}

}  // namespace sluice
