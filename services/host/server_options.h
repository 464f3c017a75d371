// What every service is told on its command line.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace sluice {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";          // gRPC; port 0: the kernel chooses
  std::string advertise;                       // where others reach it, when that is not `listen`: a proxy
  std::string metrics_listen = "127.0.0.1:0";  // Prometheus, /metrics
  std::string address_file;                    // written when serving; empty: none
  std::string state_dir;                       // empty: the role needs none
  std::string coordinator;                     // "host:port"; empty: on its own
  std::string name;                            // in the fleet, e.g. "rollout-0"; empty: the role
  std::string log_level = "info";              // debug, info, warning, error
  double stop_seconds = 30;                    // from SIGTERM or SIGINT to the end
};

// Declares --listen, --advertise, --metrics-listen, --address-file, --state, --coordinator, --name,
// --log-level,
// --stop-seconds.
void AddServerOptions(CLI::App& app, ServerOptions& options);

// Refuses what cannot be served safely: without TLS and an identity only loopback addresses are bound or
// called.
absl::Status Validate(const ServerOptions& options);

// Applies --log-level to core/base/log.h. INVALID_ARGUMENT for an unknown name.
absl::Status ApplyLogLevel(const std::string& level);

}  // namespace sluice
