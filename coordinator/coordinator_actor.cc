// The coordinator's thread: takes events, lets the running job's scheduler step, makes the writes durable,
// then starts the effects.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/coordinator_impl.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr size_t kEventsPerTurn = 256;
const absl::Duration kStallRetry = absl::Seconds(1);

}  // namespace

void CoordinatorImpl::Loop() {
  while (!inbox_->stopped()) {
    for (auto& work : inbox_->Take(kEventsPerTurn, options_.tick)) work();
    if (absl::Now() - last_tick_ >= options_.tick) Tick();
    Flush();
    if (!draining_) ActivateNext();
  }
  // What has arrived is made durable.
  draining_ = true;
  for (auto& work : inbox_->Take(std::numeric_limits<size_t>::max(), absl::ZeroDuration())) work();
  Flush();
}

void CoordinatorImpl::Tick() {
  last_tick_ = absl::Now();
  const absl::Time now = options_.clock->Now();
  for (const FleetWorker& member : fleet_.Expire(now)) {
    LogWarning("lease_expired", {{"worker", member.name}, {"epoch", member.epoch}});
    if (metrics_ != nullptr) metrics_->LeaseExpired();
    if (run_ != nullptr) run_->Handle({now, WorkerDown{member.name, member.epoch, "its lease ran out"}});
  }
  WatchDisk();
  if (run_ != nullptr) run_->Handle({now, TickEvent{}});
  WatchStalls();
}

void CoordinatorImpl::DeliverWorker(const FleetWorker& member) {
  if (run_ == nullptr) return;
  const absl::Time now = options_.clock->Now();
  switch (member.role) {
    case WorkerRole::kRollout:
      return run_->Handle({now, RolloutUp{member.name, member.epoch}});
    case WorkerRole::kReward:
      return run_->Handle({now, RewardUp{member.name, member.epoch}});
    case WorkerRole::kLearner:
      return run_->Handle({now, LearnerUp{member.name, member.epoch}});
  }
}

// The oldest job that can run. One that was paused before it began lets others pass.
void CoordinatorImpl::ActivateNext() {
  if (run_ != nullptr || learner_calls_ > 0) return;
  for (const JobId& job : order_) {
    auto it = waiting_.find(job);
    if (it == waiting_.end()) continue;
    const JobRow& row = it->second;
    if (row.paused && row.view.version < 0 && row.view.warm_start_step == 0) continue;
    auto run =
        JobRun::Restore(row, *store_, options_.encoder, absl::StrCat(options_.state_dir, "/jobs/", job));
    if (!run.ok()) {
      JobRow failed = row;
      waiting_.erase(it);
      failed.view.state = JobState::kFailed;
      failed.view.error = std::string(run.status().message());
      failed.view.end_time = options_.clock->Now();
      failed.view.waiting_for.clear();
      const absl::Status saved = store_->Transact([&](StoreTransaction& tx) -> absl::Status {
        SLUICE_RETURN_IF_ERROR(tx.CancelInFlight(job, "the job failed"));
        return tx.UpdateJob(failed);
      });
      if (!saved.ok()) LogError("job_not_saved", {{"job", job}, {"error", saved.ToString()}});
      if (auto ledger = store_->LoadLedger(job); ledger.ok()) failed.view.ledger = *ledger;
      views_.Publish(failed.view);
      return;
    }
    run_ = *std::move(run);
    run_->Admit(low_disk_.empty());
    run_ledger_ = row.view.ledger;
    if (auto ledger = store_->LoadLedger(job); ledger.ok()) run_ledger_ = *ledger;
    ++run_number_;
    waiting_.erase(it);
    LogInfo("job_running", {{"job", job}, {"step", run_->row().view.step}});
    SLUICE_FAIL_POINT("coordinator.job_restored");
    WelcomeFleet();
    Flush();
    return;
  }
}

void CoordinatorImpl::WelcomeFleet() {
  std::vector<FleetWorker> members = fleet_.Members();
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.epoch < b.epoch; });
  for (const FleetWorker& member : members) {
    if (member.alive) DeliverWorker(member);
  }
  run_->Handle({options_.clock->Now(), TickEvent{}});
}

// Tries until the writes are durable: nothing goes on before they are. False when the run cannot go on.
bool CoordinatorImpl::CommitWrites(const std::vector<StoreWrite>& writes) {
  bool stalled = false;
  while (true) {
    const absl::Status status = store_->Transact([&](StoreTransaction& tx) -> absl::Status {
      for (const StoreWrite& write : writes) SLUICE_RETURN_IF_ERROR(write(tx));
      return absl::OkStatus();
    });
    if (status.ok()) {
      next_disk_look_ = stalled ? absl::InfinitePast() : next_disk_look_;
      return true;
    }
    stalled = true;
    LogError("store_refuses", {{"job", run_->row().view.job}, {"error", status.ToString()}});
    if (!IsDiskFault(status)) {
      FailRun(status);
      return false;
    }
    WatchStalls(std::string(status.message()));
    if (store_metrics_ != nullptr) store_metrics_->Stalled(true);
    PublishRun(absl::StrCat("the store cannot write: ", status.message(), ". The job goes on when ",
                            DiskRemedy(status, options_.state_dir)));
    if (inbox_->AwaitStop(kStallRetry)) return false;
  }
}

void CoordinatorImpl::Flush() {
  if (run_ == nullptr) return;
  if (IsTerminal(run_->row().view.state)) WatchStalls();  // a job that ended waits for nothing
  const std::vector<StoreWrite> writes = run_->TakeWrites();
  if (!writes.empty()) {
    if (!CommitWrites(writes)) return;
    SLUICE_FAIL_POINT("coordinator.writes_durable");
    if (auto ledger = store_->LoadLedger(run_->row().view.job); ledger.ok()) run_ledger_ = *ledger;
  }
  for (const auto& report : run_->TakeReports()) report(metrics_.get());
  for (const Action& effect : run_->TakeEffects()) {
    if (!draining_) std::visit([this](const auto& a) { Start(a); }, effect);
  }
  PublishRun("");
  if (IsTerminal(run_->row().view.state)) FinishRun();
}

void CoordinatorImpl::FailRun(const absl::Status& why) {
  JobRow row = run_->row();
  row.view.state = JobState::kFailed;
  row.view.error = std::string(why.message());
  row.view.waiting_for.clear();
  row.view.end_time = options_.clock->Now();
  const absl::Status saved = store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(tx.CancelInFlight(row.view.job, "the job failed"));
    return tx.UpdateJob(row);
  });
  if (!saved.ok()) LogError("job_not_saved", {{"job", row.view.job}, {"error", saved.ToString()}});
  if (auto ledger = store_->LoadLedger(row.view.job); ledger.ok()) row.view.ledger = *ledger;
  views_.Publish(row.view);
  FinishRun();
}

void CoordinatorImpl::FinishRun() {
  stalls_.Reset();
  ReportStalls(options_.clock->Now());
  for (const auto& [attempt, cancel] : cancels_) cancel.Cancel();
  cancels_.clear();
  std::erase(order_, run_->row().view.job);
  run_.reset();
  ahead_.clear();
}

void CoordinatorImpl::PublishRun(const std::string& stalled) {
  JobView view = run_->row().view;
  // What is not durable yet is not shown.
  if (auto last = views_.Get(view.job); !stalled.empty() && last.ok()) view = *std::move(last);
  view.ledger = run_ledger_;
  if (const auto stall = stalls_.Longest(); stall && stalls_run_ == run_number_)
    view.stalled = DescribeStall(*stall);
  if (!stalled.empty()) {
    view.state = JobState::kPaused;
    view.error = view.waiting_for = stalled;
  } else if (!low_disk_.empty() && !IsTerminal(view.state)) {
    view.state = JobState::kPaused;
    view.waiting_for = low_disk_;
  }
  if (metrics_ != nullptr) {
    auto queues = run_->QueueDepths();
    queues["events"] = static_cast<int64_t>(inbox_->size());
    metrics_->Totals(view.ledger, queues, view.version);
  }
  std::string ahead = view.job + (view.state == JobState::kPaused ? " (paused)" : "");
  views_.Publish(std::move(view));
  if (std::exchange(ahead_, ahead) != ahead) PublishWaiting();
  absl::MutexLock lock(&served_mu_);
  served_.clear();
  for (const auto* workers : {&run_->state().rollout, &run_->state().reward}) {
    for (const auto& [name, worker] : *workers) served_[name] = {worker.version, worker.in_flight};
  }
}

void CoordinatorImpl::PublishWaiting() {
  for (auto& [job, row] : waiting_) {
    row.view.waiting_for = row.paused       ? "`sluice resume` (paused)"
                           : ahead_.empty() ? "its turn"
                                            : absl::StrCat("its turn, behind ", ahead_);
    views_.Publish(row.view);
  }
}

absl::Status CoordinatorImpl::ControlOnActor(const JobId& job, JobState wanted) {
  const absl::Time now = options_.clock->Now();
  if (run_ != nullptr && run_->row().view.job == job) {
    SLUICE_FAIL_POINT("coordinator.controlling");
    if (wanted == JobState::kPaused) run_->Handle({now, PauseEvent{}});
    if (wanted == JobState::kRunning) run_->Handle({now, ResumeEvent{}});
    if (wanted == JobState::kCancelled) run_->Handle({now, CancelEvent{}});
    Flush();
    SLUICE_FAIL_POINT("coordinator.controlled");
    return absl::OkStatus();
  }
  auto it = waiting_.find(job);
  if (it == waiting_.end()) return absl::FailedPreconditionError(absl::StrCat("job ", job, " has ended"));
  JobRow row = it->second;
  row.paused = wanted == JobState::kPaused;
  row.view.state = row.paused ? JobState::kPaused : JobState::kPending;
  if (wanted == JobState::kCancelled) {
    row.view.state = JobState::kCancelled;
    row.view.end_time = now;
    row.view.waiting_for.clear();
  }
  SLUICE_RETURN_IF_ERROR(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    if (wanted == JobState::kCancelled) SLUICE_RETURN_IF_ERROR(tx.CancelInFlight(job, "cancelled"));
    return tx.UpdateJob(row);
  }));
  if (auto ledger = store_->LoadLedger(job); ledger.ok()) row.view.ledger = *ledger;
  views_.Publish(row.view);
  if (wanted == JobState::kCancelled) {
    waiting_.erase(it);
    std::erase(order_, job);
  } else {
    it->second = std::move(row);
    PublishWaiting();
  }
  return absl::OkStatus();
}

}  // namespace sluice
