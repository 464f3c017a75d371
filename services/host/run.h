// The body of a service's main: flags, host, role, fleet, wait, stop.
//
//   int main(int argc, char** argv) {
//     RolloutFlags flags;
//     return sluice::RunRole(argc, argv, {"rollout", sluice::v1::ROLLOUT, "Samples completions.",
//         [&](CLI::App& app) { flags.Add(app); }, [&](sluice::Host& host) { return BuildRollout(flags, host);
//         }});
//   }
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/grpcpp.h"
#include "services/clients/membership.h"
#include "services/host/host.h"
#include "services/host/stop_control.h"
#include "sluice/v1/fleet.pb.h"

namespace CLI {
class App;
}

namespace sluice {

// A role as built: owns its services and what is behind them.
class HostedRole {
 public:
  virtual ~HostedRole() = default;
  // Registered with the server; they live as long as the role.
  virtual std::vector<grpc::Service*> Services() = 0;
  // Called when the server serves and its address is known: how it joins the fleet. Null: it registers,
  // renews its lease and is called.
  virtual std::unique_ptr<Membership> JoinFleet(Host& host, ConnectCoordinator connect) { return nullptr; }
  // Called before JoinFleet, likewise.
  virtual absl::Status OnServing(Host& host) { return absl::OkStatus(); }
  // Called before the server shuts down: end what would keep calls open, make durable what would be lost, and
  // return before stop.deadline().
  virtual void OnStopping(StopControl& stop) {}
};

struct RoleMain {
  std::string role;  // "rollout"
  // What it registers as when --coordinator is given; UNSPECIFIED: it does not register.
  v1::WorkerRole worker_role = v1::WORKER_ROLE_UNSPECIFIED;
  std::string description;                   // for --help
  std::function<void(CLI::App&)> add_flags;  // may be empty
  std::function<absl::StatusOr<std::unique_ptr<HostedRole>>(Host&)> build;
};

// Returns the exit code: 0 stopped in order, 1 failed or not stopped within --stop-seconds, 2 what was asked
// for cannot be had (a wrong flag, a port in use), 130 interrupted by SIGINT while stopping.
int RunRole(int argc, char** argv, const RoleMain& main);

}  // namespace sluice
