#include "services/host/run.h"

#include <algorithm>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "services/clients/fleet_member.h"
#include "services/rpc/channel.h"

namespace sluice {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;
constexpr absl::Duration kGrace = absl::Seconds(5);       // for calls under way
constexpr absl::Duration kLeaveLimit = absl::Seconds(2);  // for telling the coordinator

int Fail(const absl::Status& status) {
  LogError("failed", {{"error", status.ToString()}});
  // What was asked for cannot be had: a bad flag or model, a port or a state directory in use.
  const bool refused = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
  return refused ? kWrongUsage : kFailed;
}

absl::StatusOr<std::unique_ptr<Membership>> Join(Host& host, HostedRole& role, const RoleMain& main) {
  const std::string& coordinator = host.options().coordinator;
  if (coordinator.empty() || main.worker_role == v1::WORKER_ROLE_UNSPECIFIED) return nullptr;
  SLUICE_RETURN_IF_ERROR(CheckLoopback(coordinator, "--coordinator"));
  const ConnectCoordinator connect = [coordinator] { return *MakeChannel(coordinator); };
  if (std::unique_ptr<Membership> own = role.JoinFleet(host, connect)) return own;
  FleetMemberOptions options;
  options.name = host.name();
  options.role = main.worker_role;
  options.address = host.advertised();
  return std::make_unique<FleetMember>(connect, std::move(options));
}

absl::StatusOr<std::unique_ptr<Membership>> Serve(Host& host, HostedRole& role, const RoleMain& main) {
  for (grpc::Service* service : role.Services()) host.AddService(service);
  SLUICE_RETURN_IF_ERROR(host.Start());
  SLUICE_RETURN_IF_ERROR(role.OnServing(host));
  return Join(host, role, main);
}

// What is under way ends first, so that the coordinator has it when the worker leaves.
void Stop(Host& host, HostedRole& role, Membership* member, StopControl& stop) {
  stop.Begin();
  host.SetServing(false);
  role.OnStopping(stop);
  if (member != nullptr) {
    stop.WaitingFor("the coordinator to let the worker leave");
    member->Leave(std::min(stop.deadline(), absl::Now() + kLeaveLimit));
  }
  stop.WaitingFor(absl::StrCat(host.executor().busy(), " calls under way"));
  host.Shutdown(std::min(kGrace, (stop.deadline() - absl::Now()) / 2));
  LogInfo("stopped");
}

absl::Status Run(const ServerOptions& options, const RoleMain& main) {
  SLUICE_RETURN_IF_ERROR(ApplyLogLevel(options.log_level));
  SLUICE_RETURN_IF_ERROR(Validate(options));
  if (!options.state_dir.empty()) {
    SLUICE_RETURN_IF_ERROR(Annotate(MakeDirectories(options.state_dir), "--state"));
  }
  StopControl stop(absl::Seconds(options.stop_seconds));  // ends after the role: its end is part of the stop
  if (!options.address_file.empty()) stop.ReportExtensionsTo(options.address_file + ".stop");
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Host> host, Host::Create(main.role, options));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<HostedRole> role, main.build(*host));
  auto member = Serve(*host, *role, main);
  if (member.ok()) {
    stop.OnRequest([&host] { host->RequestStop(); });
    host->Wait();
  }
  Stop(*host, *role, member.ok() ? member->get() : nullptr, stop);
  return member.status();
}

}  // namespace

int RunRole(int argc, char** argv, const RoleMain& main) {
  BlockStopSignals();
  SetLogRole(main.role);
  CLI::App app(main.description, "sluice-" + main.role);
  ServerOptions options;
  AddServerOptions(app, options);
  if (main.add_flags) main.add_flags(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kWrongUsage;
  }
  const absl::Status status = Run(options, main);
  return status.ok() ? kDone : Fail(status);
}

}  // namespace sluice
