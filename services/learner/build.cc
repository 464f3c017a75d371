#include "services/learner/build.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/comm/key_value.h"
#include "core/weights/policy_store.h"
#include "services/clients/remote_key_value.h"
#include "services/learner/learner_rank.h"
#include "services/servers/rendezvous_adapter.h"
#include "services/servers/trainer_adapter.h"
#include "services/servers/weight_adapter.h"

namespace sluice {
namespace {

// Different for each start of a process.
std::string NewIncarnation(int64_t epoch) {
  return Sha256Hex(absl::StrCat(getpid(), ":", absl::ToUnixNanos(absl::Now()), ":", epoch)).substr(0, 16);
}

// What ranks have in common: the gang, and what happens when it ends.
class RankRole : public HostedRole {
 public:
  RankRole(const LearnerFlags& flags, Host& host, std::atomic<bool>* gang_failed)
      : flags_(flags), host_(host), gang_failed_(gang_failed) {}
  void OnStopping(StopControl& stop) override {
    if (rank_ != nullptr && !rank_->Stop(stop).ok()) *gang_failed_ = true;  // the log has said why
  }

 protected:
  // When the server's address is known.
  void StartRank(KeyValue* store, TrainerOptions trainer) {
    LearnerRankOptions options;
    options.rank = flags_.rank;
    options.world = flags_.world;
    options.epoch = flags_.gang_epoch;
    options.address = host_.address();
    options.store = store;
    options.silence_limit = absl::Seconds(flags_.rank_silence_seconds);
    trainer.collective_timeout = absl::Seconds(flags_.collective_seconds);
    trainer.keep_alive = std::min(trainer.keep_alive, trainer.collective_timeout / 4);
    trainer.threads = flags_.threads;
    trainer.incarnation = NewIncarnation(flags_.gang_epoch);
    options.trainer = std::move(trainer);
    options.on_end = [host = &host_, failed = gang_failed_](const absl::Status& status) {
      if (!status.ok()) {
        LogError("gang_broken", {{"error", status.ToString()}});
        *failed = true;
      }
      host->RequestStop();
    };
    rank_ = std::make_unique<LearnerRank>(std::move(options), host_.registry());
  }

  const LearnerFlags flags_;
  Host& host_;
  std::atomic<bool>* const gang_failed_;
  std::unique_ptr<LearnerRank> rank_;
};

// Stands in for the gang until there is one: services are registered before the address is known.
class LateTrainer final : public Trainer {
 public:
  void Set(Trainer* trainer) { trainer_ = trainer; }

  absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec& spec) override {
    return Call([&](Trainer& t) { return t.Open(job, spec); });
  }
  absl::StatusOr<StepMetrics> Supervise(const JobId& job, int64_t step,
                                        absl::Span<const SupervisedExample> batch) override {
    return Call([&](Trainer& t) { return t.Supervise(job, step, batch); });
  }
  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) override {
    return Call([&](Trainer& t) { return t.PublishFirst(job); });
  }
  absl::Status AddGroup(const JobId& job, PolicyVersion version, const Group& group) override {
    return Call([&](Trainer& t) { return t.AddGroup(job, version, group); });
  }
  absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version,
                                  absl::Span<const Draw> draws) override {
    return Call([&](Trainer& t) { return t.Step(job, version, draws); });
  }
  absl::StatusOr<PolicyRef> RollBack(const JobId& job, PolicyVersion parent, PolicyVersion version) override {
    return Call([&](Trainer& t) { return t.RollBack(job, parent, version); });
  }
  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion version) override {
    return Call([&](Trainer& t) { return t.Promote(job, version); });
  }
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId& job) override {
    return Call([&](Trainer& t) { return t.Checkpoint(job); });
  }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) override {
    return Call([&](Trainer& t) { return t.ListCheckpoints(job); });
  }
  absl::Status Export(const JobId& job, PolicyVersion version, const std::string& path) override {
    return Call([&](Trainer& t) { return t.Export(job, version, path); });
  }
  absl::Status Forget(const JobId& job) override {
    return Call([&](Trainer& t) { return t.Forget(job); });
  }

 private:
  template <typename Body>
  auto Call(Body body) -> decltype(body(std::declval<Trainer&>())) {
    Trainer* trainer = trainer_;
    if (trainer == nullptr) return absl::UnavailableError("the learner is starting");
    return body(*trainer);
  }
  std::atomic<Trainer*> trainer_{nullptr};  // borrowed
};

class FirstRankRole final : public RankRole {
 public:
  FirstRankRole(const LearnerFlags& flags, Host& host, std::atomic<bool>* gang_failed,
                std::unique_ptr<FileLock> lock, std::unique_ptr<PolicyStore> policies)
      : RankRole(flags, host, gang_failed),
        lock_(std::move(lock)),
        policies_(std::move(policies)),
        rendezvous_(store_),
        trainer_adapter_(trainer_, host.executor()),
        weight_adapter_(*policies_, host.executor()) {}
  ~FirstRankRole() override { rank_.reset(); }  // before what it borrows

  std::vector<grpc::Service*> Services() override {
    return {&trainer_adapter_, &weight_adapter_, &rendezvous_};
  }

  absl::Status OnServing(Host& host) override {
    TrainerOptions options;
    options.state_dir = absl::StrCat(host.options().state_dir, "/jobs");
    options.policies = policies_.get();
    options.source = host.advertised();
    SLUICE_RETURN_IF_ERROR(MakeDirectories(options.state_dir));
    StartRank(&store_, std::move(options));
    trainer_.Set(rank_.get());
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<PolicyStore> policies_;
  MemoryKeyValue store_;
  LateTrainer trainer_;
  RendezvousAdapter rendezvous_;
  TrainerAdapter trainer_adapter_;
  WeightAdapter weight_adapter_;
};

class FollowerRole final : public RankRole {
 public:
  FollowerRole(const LearnerFlags& flags, Host& host, std::atomic<bool>* gang_failed, Peer first)
      : RankRole(flags, host, gang_failed), store_(std::move(first)) {}
  ~FollowerRole() override { rank_.reset(); }
  std::vector<grpc::Service*> Services() override { return {}; }
  absl::Status OnServing(Host& host) override {
    StartRank(&store_, {});
    return absl::OkStatus();
  }

 private:
  RemoteKeyValue store_;
};

absl::StatusOr<std::unique_ptr<HostedRole>> BuildFirst(const LearnerFlags& flags, Host& host,
                                                       std::atomic<bool>* gang_failed) {
  const std::string& state = host.options().state_dir;
  if (state.empty())
    return absl::InvalidArgumentError("--state: rank 0 of the learner needs a state directory");
  SLUICE_RETURN_IF_ERROR(MakeDirectories(state));
  auto lock = FileLock::Acquire(absl::StrCat(state, "/lock"));
  if (!lock.ok()) return Annotate(lock.status(), absl::StrCat("--state ", state, ": state directory in use"));
  SLUICE_ASSIGN_OR_RETURN(auto policies, PolicyStore::Open(absl::StrCat(state, "/policies")));
  return std::make_unique<FirstRankRole>(flags, host, gang_failed, *std::move(lock), std::move(policies));
}

}  // namespace

void LearnerFlags::Add(CLI::App& app) {
  app.add_option("--rank", rank, "Of this process, from 0")
      ->check(CLI::Range(0, 4095))
      ->capture_default_str();
  app.add_option("--world", world, "Ranks of the learner")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--rendezvous", rendezvous, "Address of rank 0; needed by the other ranks");
  app.add_option("--gang-epoch", gang_epoch, "Same for all ranks, another one for each start of the gang")
      ->capture_default_str();
  app.add_option("--collective-seconds", collective_seconds,
                 "The longest that one rank may be behind the others in a step; then all ranks start again")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app.add_option("--rank-silence-seconds", rank_silence_seconds,
                 "A rank that the others do not hear of for so long is lost; then all ranks start again")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_option("--threads", threads, "Threads that compute")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

absl::StatusOr<std::unique_ptr<HostedRole>> BuildLearner(const LearnerFlags& flags, Host& host,
                                                         std::atomic<bool>* gang_failed) {
  if (flags.rank >= flags.world) {
    return absl::InvalidArgumentError(absl::StrCat("--rank ", flags.rank, ": ranks are 0 to ",
                                                   flags.world - 1, " (--world ", flags.world, ")"));
  }
  if (flags.rank == 0) return BuildFirst(flags, host, gang_failed);
  if (flags.rendezvous.empty())
    return absl::InvalidArgumentError("--rendezvous: the address of rank 0 is needed");
  auto first = Connect(flags.rendezvous);
  if (!first.ok()) return Annotate(first.status(), "--rendezvous");
  return std::make_unique<FollowerRole>(flags, host, gang_failed, *std::move(first));
}

}  // namespace sluice
