#include "services/coordinator/build.h"

#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "coordinator/coordinator.h"
#include "core/base/status.h"
#include "services/clients/remote_rollout_worker.h"
#include "services/clients/remote_scorer.h"
#include "services/clients/remote_trainer.h"
#include "services/servers/fleet_adapter.h"
#include "services/servers/job_adapter.h"

namespace sluice {
namespace {

// FleetService refuses addresses that cannot be called. One that a store has all the same gets a channel on
// which every call fails.
Peer PeerAt(const std::string& address, ChannelUse use = ChannelUse::kShortCalls) {
  auto peer = Connect(address, use);
  if (peer.ok()) return *std::move(peer);
  return Peer{address, grpc::CreateChannel(address, nullptr)};
}

// Of a stop: for what comes after the learner's last checkpoint.
constexpr absl::Duration kShutdownReserve = absl::Seconds(3);

class CoordinatorRole final : public HostedRole {
 public:
  CoordinatorRole(std::unique_ptr<Coordinator> coordinator, Host& host)
      : coordinator_(std::move(coordinator)),
        jobs_(*coordinator_, host.executor()),
        fleet_(*coordinator_, host.registry()) {}
  std::vector<grpc::Service*> Services() override { return {&jobs_, &fleet_}; }
  void OnStopping(StopControl& stop) override {
    jobs_.Stop();
    stop.WaitingFor("the learner to make a checkpoint");
    coordinator_->Drain(stop.deadline() - kShutdownReserve);
    stop.WaitingFor("calls to workers to end, and the store");
    coordinator_->Shutdown();
    fleet_.Stop();  // what its streams brought is durable
  }

 private:
  std::unique_ptr<Coordinator> coordinator_;
  JobAdapter jobs_;
  FleetAdapter fleet_;
};

}  // namespace

void CoordinatorFlags::Add(CLI::App& app) {
  app.add_option("--lease-seconds", lease_seconds, "A worker not heard of for so long is gone")
      ->check(CLI::Range(0.5, 3600.0))
      ->capture_default_str();
  app.add_option("--stall-seconds", stall_seconds,
                 "What a job waits for so long, and longer than its own timeout, is said to be stalled")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--keep-samples-bytes", keep_samples_bytes,
                 "Above this the files of the oldest samples are removed, but none that may be trained on")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1} << 20, uint64_t{1} << 60))
      ->capture_default_str();
  app.add_option("--keep-free-bytes", keep_free_bytes,
                 "With less room on the disk, or less than a twentieth of it, nothing new begins")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 60))
      ->capture_default_str();
}

absl::StatusOr<std::unique_ptr<HostedRole>> BuildCoordinator(const CoordinatorFlags& flags, Host& host) {
  if (host.options().state_dir.empty()) {
    return absl::InvalidArgumentError("--state: the coordinator needs a state directory");
  }
  CoordinatorOptions options;
  options.state_dir = host.options().state_dir;
  options.registry = &host.registry();
  options.lease = absl::Seconds(flags.lease_seconds);
  options.keep_samples_bytes = static_cast<int64_t>(flags.keep_samples_bytes);
  options.keep_free_bytes = static_cast<int64_t>(flags.keep_free_bytes);
  options.stall = absl::Seconds(flags.stall_seconds);
  options.ports.rollout = [](const std::string& address) {
    return std::make_unique<RemoteRolloutWorker>(PeerAt(address));
  };
  options.ports.reward = [](const std::string& address) {
    return std::make_unique<RemoteScorer>(PeerAt(address));
  };
  options.ports.learner = [](const std::string& address, uint64_t coordinator_epoch) {
    RemoteTrainerOptions learner;
    learner.coordinator_epoch = coordinator_epoch;
    return std::make_unique<RemoteTrainer>(PeerAt(address, ChannelUse::kLongSilentCalls), learner);
  };
  auto coordinator = Coordinator::Open(std::move(options));
  if (!coordinator.ok())
    return Annotate(coordinator.status(), absl::StrCat("--state ", host.options().state_dir));
  return std::make_unique<CoordinatorRole>(*std::move(coordinator), host);
}

}  // namespace sluice
