#include "services/learner/learner_rank.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "core/comm/gloo_collectives.h"

namespace sluice {
namespace {

constexpr absl::Duration kHealthInterval = absl::Milliseconds(200);

// "127.0.0.1:5000" -> "127.0.0.1", "[::1]:5000" -> "::1".
std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

LearnerRank::LearnerRank(LearnerRankOptions options, prometheus::Registry& registry)
    : options_(std::move(options)), registry_(registry), thread_([this] { Run(); }) {}

LearnerRank::~LearnerRank() {
  Stop();
  thread_.join();
}

void LearnerRank::Stop() {
  absl::MutexLock lock(&mu_);
  stopping_ = true;
  if (mu_.AwaitWithTimeout(absl::Condition(&ended_), options_.stop_timeout)) return;
  // Only a rank that waits for others gets here. It has nothing to make durable.
  LogWarning("rank_left_behind",
             {{"rank", options_.rank}, {"waiting_for", ready_ ? "rank 0" : "the other ranks"}});
  std::_Exit(0);
}

void LearnerRank::Run() {
  absl::Status status = Work();
  {
    absl::MutexLock lock(&mu_);
    ended_ = true;
    if (stopping_) return;
  }
  if (options_.on_end) options_.on_end(status);
}

absl::Status LearnerRank::Connect() {
  if (options_.world == 1) {
    collectives_ = std::make_unique<SingleCollectives>();
    return absl::OkStatus();
  }
  GlooOptions gloo;
  gloo.rank = options_.rank;
  gloo.size = options_.world;
  gloo.address = HostOf(options_.address);
  gloo.gang = absl::StrCat("gang-", options_.epoch);
  LogInfo("gang_connecting", {{"rank", options_.rank}, {"world", options_.world}, {"epoch", options_.epoch}});
  auto connected = ConnectGloo(gloo, options_.store, absl::Now() + options_.connect_timeout);
  if (!connected.ok())
    return Annotate(connected.status(), absl::StrCat("waiting for ", options_.world, " ranks"));
  collectives_ = *std::move(connected);
  return absl::OkStatus();
}

absl::Status LearnerRank::Work() {
  SLUICE_RETURN_IF_ERROR(Connect());
  TrainerOptions options = options_.trainer;
  options.collectives = collectives_.get();
  SLUICE_ASSIGN_OR_RETURN(local_, LocalTrainer::Create(options, registry_));
  {
    absl::MutexLock lock(&mu_);
    ready_ = true;
  }
  LogInfo("gang_ready", {{"rank", options_.rank}, {"world", options_.world}, {"epoch", options_.epoch}});
  return options_.rank == 0 ? WatchHealth() : local_->RunFollower();
}

absl::Status LearnerRank::WatchHealth() {
  while (true) {
    SLUICE_RETURN_IF_ERROR(local_->health());
    absl::MutexLock lock(&mu_);
    if (mu_.AwaitWithTimeout(absl::Condition(&stopping_), kHealthInterval)) return absl::OkStatus();
  }
}

absl::StatusOr<LocalTrainer*> LearnerRank::trainer() const {
  absl::MutexLock lock(&mu_);
  if (stopping_) return absl::UnavailableError("the learner is stopping");
  if (ended_) return absl::UnavailableError("the learner's ranks lost each other; it starts again");
  if (!ready_)
    return absl::UnavailableError(absl::StrCat("the learner waits for its ", options_.world, " ranks"));
  return local_.get();
}

absl::StatusOr<TrainerState> LearnerRank::Open(const JobId& job, const JobSpec& spec) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->Open(job, spec);
}

absl::StatusOr<StepMetrics> LearnerRank::Supervise(const JobId& job, int64_t step,
                                                   absl::Span<const SupervisedExample> batch) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->Supervise(job, step, batch);
}

absl::StatusOr<PolicyRef> LearnerRank::PublishFirst(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->PublishFirst(job);
}

absl::Status LearnerRank::AddGroup(const JobId& job, PolicyVersion version, const Group& group) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->AddGroup(job, version, group);
}

absl::StatusOr<StepResult> LearnerRank::Step(const JobId& job, PolicyVersion version,
                                             absl::Span<const Draw> draws) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->Step(job, version, draws);
}

absl::StatusOr<CheckpointInfo> LearnerRank::Checkpoint(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->Checkpoint(job);
}

absl::StatusOr<std::vector<CheckpointInfo>> LearnerRank::ListCheckpoints(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->ListCheckpoints(job);
}

absl::Status LearnerRank::Export(const JobId& job, PolicyVersion version, const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->Export(job, version, path);
}

}  // namespace sluice
