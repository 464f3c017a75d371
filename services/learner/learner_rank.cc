#include "services/learner/learner_rank.h"

#include <algorithm>
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
constexpr absl::Duration kExitReserve = absl::Milliseconds(500);  // of a stop, for what comes after
constexpr absl::Duration kLongestExtension = absl::Hours(1);      // of a stop, for the step under way

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
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

absl::Status LearnerRank::Stop(StopControl& stop) {
  absl::Status lost;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    lost = lost_;
  }
  absl::Status saved;
  if (lost.ok() && options_.rank == 0) saved = CheckpointUnsaved(stop);
  if (lost.ok() && options_.rank != 0) LeaveGang(stop);
  stop.WaitingFor(options_.rank == 0 ? "the other ranks" : "rank 0 to end the gang");
  const absl::Time until = lost.ok() ? stop.deadline() - kExitReserve : absl::Now();
  absl::MutexLock lock(&mu_);
  if (mu_.AwaitWithDeadline(absl::Condition(&ended_), until)) return saved;
  // Only a rank that waits for others gets here. It has nothing to make durable.
  LogWarning("rank_left_behind",
             {{"rank", options_.rank}, {"waiting_for", ready_ ? "rank 0" : "the other ranks"}});
  std::_Exit(lost.ok() && saved.ok() ? 0 : 1);
}

absl::Status LearnerRank::AwaitStep(StopControl& stop) {
  absl::Duration left;
  {
    absl::MutexLock lock(&mu_);
    if (steps_ == 0) return absl::OkStatus();
    // Twice what the last one took, or what this one has taken so far when it is the first or a long one.
    const absl::Duration elapsed = absl::Now() - step_began_;
    left = std::min(2 * std::max(last_step_, elapsed) - elapsed, kLongestExtension);
  }
  stop.WaitingFor("the step under way");
  stop.Extend(left);
  absl::MutexLock lock(&mu_);
  const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) { return steps_ == 0; };
  if (mu_.AwaitWithDeadline(absl::Condition(&ended), stop.deadline() - kExitReserve)) return absl::OkStatus();
  return absl::DeadlineExceededError("the step under way did not end in time");
}

absl::Status LearnerRank::CheckpointUnsaved(StopControl& stop) {
  SLUICE_RETURN_IF_ERROR(AwaitStep(stop));
  JobId job;
  {
    absl::MutexLock lock(&mu_);
    if (!ready_) return absl::OkStatus();
    job = unsaved_job_;
  }
  if (job.empty()) return absl::OkStatus();
  stop.WaitingFor(absl::StrCat("a checkpoint of job ", job));
  const auto made = local_->Checkpoint(job);
  LogInfo("last_checkpoint", {{"job", job}, {"status", made.status().ToString()}});
  return made.status();
}

void LearnerRank::LeaveGang(StopControl& stop) {
  {
    absl::MutexLock lock(&mu_);
    if (!ready_ || ended_) return;
  }
  const absl::Status asked = pulse_->AskToLeave(stop.deadline() - kExitReserve);
  if (!asked.ok()) LogWarning("cannot_leave", {{"rank", options_.rank}, {"error", asked.ToString()}});
}

void LearnerRank::Run() {
  const absl::Status status = Work();
  {
    absl::MutexLock lock(&mu_);
    ended_ = true;
  }
  End(status);
}

// The first reason counts, and none once the rank is told to stop.
void LearnerRank::End(const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    if (stopping_ || std::exchange(told_, true)) return;
  }
  if (options_.on_end) options_.on_end(status);
}

void LearnerRank::WatchPulse() {
  GangPulseOptions pulse;
  pulse.rank = options_.rank;
  pulse.world = options_.world;
  pulse.gang = absl::StrCat("gang-", options_.epoch);
  pulse.store = options_.store;
  pulse.limit = options_.silence_limit;
  pulse.period = std::min(pulse.period, pulse.limit / 4);
  pulse.on_lost = [this](const absl::Status& lost) {
    {
      absl::MutexLock lock(&mu_);
      lost_ = lost;
    }
    End(Annotate(lost, "the learner's ranks lost each other; all of them start again"));
  };
  pulse.on_leaving = [this](int rank) {
    LogInfo("gang_leaving", {{"asked_by_rank", rank}});
    End(absl::OkStatus());
  };
  pulse_ = std::make_unique<GangPulse>(std::move(pulse));
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
  if (options_.world > 1) WatchPulse();
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
  if (ended_ || !lost_.ok())
    return absl::UnavailableError("the learner's ranks lost each other; it starts again");
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
  {
    absl::MutexLock lock(&mu_);
    if (steps_++ == 0) step_began_ = absl::Now();
  }
  auto result = local->Step(job, version, draws);
  absl::MutexLock lock(&mu_);
  if (--steps_ == 0) last_step_ = absl::Now() - step_began_;
  if (result.ok()) unsaved_job_ = result->checkpointed ? "" : job;
  return result;
}

void LearnerRank::NoteSaved(const JobId& job, bool saved) {
  absl::MutexLock lock(&mu_);
  unsaved_job_ = saved ? "" : job;
}

absl::StatusOr<PolicyRef> LearnerRank::RollBack(const JobId& job, PolicyVersion parent,
                                                PolicyVersion version) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer* const local, trainer());
  auto policy = local->RollBack(job, parent, version);
  if (policy.ok()) NoteSaved(job, true);
  return policy;
}

absl::StatusOr<CheckpointInfo> LearnerRank::Promote(const JobId& job, PolicyVersion version) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer* const local, trainer());
  auto made = local->Promote(job, version);
  if (made.ok()) NoteSaved(job, true);
  return made;
}

absl::StatusOr<CheckpointInfo> LearnerRank::Checkpoint(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  auto made = local->Checkpoint(job);
  if (made.ok()) NoteSaved(job, true);
  return made;
}

absl::StatusOr<std::vector<CheckpointInfo>> LearnerRank::ListCheckpoints(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->ListCheckpoints(job);
}

absl::Status LearnerRank::Export(const JobId& job, PolicyVersion version, const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  return local->Export(job, version, path);
}

absl::Status LearnerRank::Forget(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(LocalTrainer * local, trainer());
  SLUICE_RETURN_IF_ERROR(local->Forget(job));
  absl::MutexLock lock(&mu_);
  if (unsaved_job_ == job) unsaved_job_.clear();  // another one's steps are still to be saved
  return absl::OkStatus();
}

}  // namespace sluice
