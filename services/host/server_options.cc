#include "services/host/server_options.h"

#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "services/rpc/channel.h"

namespace sluice {
namespace {

constexpr size_t kMaxNameBytes = 128;

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
