#include "services/host/run.h"

#include <unistd.h>

#include <cstdio>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "services/host/channel.h"
#include "services/host/fleet_member.h"

namespace sluice {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;
constexpr absl::Duration kGrace = absl::Seconds(5);       // for calls under way
constexpr absl::Duration kStopLimit = absl::Seconds(30);  // for the whole stop

// Ends the process when its orderly stop takes too long, for example because a call does not heed its
// cancellation.
class StopWatchdog {
 public:
  StopWatchdog() : thread_([this] { Watch(); }) {}
  ~StopWatchdog() {
    done_.Notify();
    thread_.join();
  }

 private:
  void Watch() {
    if (done_.WaitForNotificationWithTimeout(kStopLimit)) return;
    LogError("stop_timed_out",
             {{"seconds", absl::ToDoubleSeconds(kStopLimit)}, {"waiting_for", "calls under way"}});
    _exit(kFailed);
  }

  absl::Notification done_;
  std::thread thread_;
};

int Fail(const absl::Status& status) {
  LogError("failed", {{"error", status.ToString()}});
  // What was asked for cannot be had: a bad flag or model, a port or a state directory in use.
  const bool refused = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
  return refused ? kWrongUsage : kFailed;
}

absl::Status Serve(Host& host, HostedRole& role, const RoleMain& main) {
  for (grpc::Service* service : role.Services()) host.AddService(service);
  SLUICE_RETURN_IF_ERROR(host.Start());
  SLUICE_RETURN_IF_ERROR(role.OnServing(host));
  std::unique_ptr<FleetMember> member;
  if (!host.options().coordinator.empty() && main.worker_role != v1::WORKER_ROLE_UNSPECIFIED) {
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, MakeChannel(host.options().coordinator));
    FleetMemberOptions options;
    options.name = host.name();
    options.role = main.worker_role;
    options.address = host.advertised();
    member = std::make_unique<FleetMember>(std::move(channel), std::move(options));
  }
  host.Wait();
  return absl::OkStatus();
}

absl::Status Run(const ServerOptions& options, const RoleMain& main) {
  SLUICE_RETURN_IF_ERROR(ApplyLogLevel(options.log_level));
  SLUICE_RETURN_IF_ERROR(Validate(options));
  if (!options.state_dir.empty()) {
    SLUICE_RETURN_IF_ERROR(Annotate(MakeDirectories(options.state_dir), "--state"));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Host> host, Host::Create(main.role, options));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<HostedRole> role, main.build(*host));
  const absl::Status status = Serve(*host, *role, main);
  const StopWatchdog watchdog;
  host->SetServing(false);
  role->OnStopping();
  host->Shutdown(kGrace);
  LogInfo("stopped");
  return status;
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
