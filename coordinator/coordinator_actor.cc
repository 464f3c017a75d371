// The coordinator's thread: takes events, lets the running jobs' schedulers step, makes the writes durable,
// then starts the effects.
#include <algorithm>
#include <functional>
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
const absl::Duration kServedInterval = absl::Seconds(1);  // between looks at what the workers serve

}  // namespace

void CoordinatorImpl::Loop() {
  while (!inbox_->stopped()) {
    std::vector<std::function<void()>> events = inbox_->Take(kEventsPerTurn, options_.tick);
    const absl::Time began = absl::Now();
    for (auto& work : events) work();
    if (options_.tick_clock->Now() - last_tick_ >= options_.tick) Tick();
    if (!draining_) {
      TakeTurns();
      ShareWorkers();
    }
    Flush();
    events.clear();  // with what they hold
    if (store_metrics_ != nullptr) store_metrics_->Turned(absl::Now() - began);
  }
  // What has arrived is made durable.
  draining_ = true;
  for (auto& work : inbox_->Take(std::numeric_limits<size_t>::max(), absl::ZeroDuration())) work();
  Flush();
}

void CoordinatorImpl::Tick() {
  const absl::Time ticked = options_.tick_clock->Now();
  const absl::Duration late = ticked - std::exchange(last_tick_, ticked) - options_.tick;
  const absl::Time now = options_.clock->Now();
  // A turn may take a moment; a pause of this process is none of the workers' doing.
  const absl::Duration paused = late > registry_.lease() / 10 ? late : absl::ZeroDuration();
  for (const RegisteredWorker& member : registry_.Expire(options_.lease_clock->Now(), paused)) {
    LogWarning("lease_expired", {{"worker", member.name}, {"epoch", member.epoch}});
    if (metrics_ != nullptr) metrics_->LeaseExpired();
    LoseWorker(member, "its lease ran out");
  }
  WatchDisk();
  turns_due_ = true;  // what is held back may be tried again
  for (const auto& [learner, at] : std::map(forget_again_)) {
    if (absl::Now() >= at) ForgetDeleted(learner);
  }
  for (const auto& [number, run] : runs_) {
    run->job->Handle({now, TickEvent{}});
    WatchStalls(*run);
  }
}

ActiveRun* CoordinatorImpl::RunOf(uint64_t number) {
  const auto it = runs_.find(number);
  return it == runs_.end() ? nullptr : it->second.get();
}

ActiveRun* CoordinatorImpl::RunOfJob(const JobId& job) {
  for (const auto& [number, run] : runs_) {
    if (run->name() == job) return run.get();
  }
  return nullptr;
}

void CoordinatorImpl::Deliver(ActiveRun& run, const RegisteredWorker& member) {
  const absl::Time now = options_.clock->Now();
  switch (member.role) {
    case WorkerRole::kRollout:
      return run.job->Handle({now, RolloutUp{member.name, member.epoch, member.slots}});
    case WorkerRole::kReward:
      return run.job->Handle({now, RewardUp{member.name, member.epoch}});
    case WorkerRole::kLearner:
      return run.job->Handle({now, LearnerUp{member.name, member.epoch}});
  }
}

void CoordinatorImpl::DeliverWorker(const RegisteredWorker& member) {
  if (!registry_.Holds(member.name, member.epoch)) return;  // it left, or registered again
  if (member.role == WorkerRole::kRollout) {
    RolloutMember& worker = rollouts_[member.name];
    worker.member = member;
    ++worker.turn;
    workers_changed_ = true;
    if (ActiveRun* run = RunOf(worker.run)) Deliver(*run, member);
  } else if (member.role == WorkerRole::kReward) {
    rewards_[member.name] = member;
    for (const auto& [number, run] : runs_) Deliver(*run, member);
  } else {
    learners_[member.name] = member;
    ForgetDeleted(member.name);
    turns_due_ = true;
    if (ActiveRun* run = HolderOf(member.name)) Deliver(*run, member);
  }
}

// With the registration every earlier one of the name is over.
void CoordinatorImpl::LoseWorker(const RegisteredWorker& member, const std::string& reason) {
  const absl::Time now = options_.clock->Now();
  orders_.Forget(member.name, member.epoch);
  const auto lose = [&](ActiveRun* run, uint64_t epoch) {
    if (run != nullptr) run->job->Handle({now, WorkerDown{member.name, epoch, reason}});
  };
  if (const auto it = rollouts_.find(member.name);
      it != rollouts_.end() && it->second.member.epoch <= member.epoch) {
    const auto [run, epoch] = std::pair(it->second.run, it->second.member.epoch);
    rollouts_.erase(it);
    workers_changed_ = true;
    return lose(RunOf(run), epoch);
  }
  if (const auto it = learners_.find(member.name);
      it != learners_.end() && it->second.epoch <= member.epoch) {
    ActiveRun* run = HolderOf(member.name);
    if (run != nullptr) run->learner_lost = now;
    lose(run, it->second.epoch);
    learners_.erase(it);
    turns_due_ = true;
  }
  if (const auto it = rewards_.find(member.name); it != rewards_.end() && it->second.epoch <= member.epoch) {
    for (const auto& [number, run] : runs_) lose(run.get(), it->second.epoch);
    rewards_.erase(it);
  }
}

// A job that cannot run.
void CoordinatorImpl::FailWaiting(const JobRow& row, const absl::Status& why) {
  JobRow failed = row;
  failed.view.state = JobState::kFailed;
  failed.view.error = std::string(why.message());
  failed.view.end_time = options_.clock->Now();
  failed.view.waiting_for.clear();
  const absl::Status saved = store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(tx.CancelInFlight(failed.view.job, "the job failed"));
    return tx.UpdateJob(failed);
  });
  if (!saved.ok()) LogError("job_not_saved", {{"job", failed.view.job}, {"error", saved.ToString()}});
  if (auto ledger = store_->LoadLedger(failed.view.job); ledger.ok()) failed.view.ledger = *ledger;
  if (metrics_ != nullptr)
    metrics_->Totals(failed.view.job, failed.view.state, failed.view.version, failed.view.ledger, {}, 0);
  views_.Publish(failed.view);
  std::erase(order_, failed.view.job);
}

// Tries until the writes are durable: nothing goes on before they are. False when the run cannot go on.
bool CoordinatorImpl::CommitWrites(ActiveRun& run, const std::vector<StoreWrite>& writes) {
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
    LogError("store_refuses", {{"job", run.name()}, {"error", status.ToString()}});
    if (!IsDiskFault(status)) {
      FailRun(run, status);
      return false;
    }
    if (store_metrics_ != nullptr) store_metrics_->Stalled(true);
    for (const auto& [number, waits] : runs_) {
      WatchStalls(*waits, std::string(status.message()));
      PublishRun(*waits, absl::StrCat("the store cannot write: ", status.message(), ". The job goes on when ",
                                      DiskRemedy(status, options_.state_dir)));
    }
    if (inbox_->AwaitStop(kStallRetry)) return false;
  }
}

// Looks only at the runs that something happened to.
void CoordinatorImpl::Flush() {
  std::vector<uint64_t> numbers;  // a run may end in it
  for (const auto& [number, run] : runs_) {
    if (run->changed || run->job->touched()) numbers.push_back(number);
  }
  PublishServed();  // before the jobs' views, which say how many workers they have
  for (uint64_t number : numbers) FlushRun(*runs_.at(number));
  PublishWaiting();
  if (metrics_ != nullptr) metrics_->Events(static_cast<int64_t>(inbox_->size()));
}

void CoordinatorImpl::FlushRun(ActiveRun& run) {
  JobRun& job = *run.job;
  run.changed = false;
  job.Advance(options_.clock->Now());
  if (IsTerminal(job.row().view.state)) WatchStalls(run);  // a job that ended waits for nothing
  const std::vector<StoreWrite> writes = job.TakeWrites();
  if (!writes.empty()) {
    if (!CommitWrites(run, writes)) return;
    SLUICE_FAIL_POINT("coordinator.writes_durable");
    if (auto ledger = store_->LoadLedger(run.name()); ledger.ok()) run.ledger = *ledger;
  }
  for (const auto& report : job.TakeReports()) report(metrics_.get());
  for (const Action& effect : job.TakeEffects()) {
    if (!draining_) std::visit([&](const auto& a) { Start(run, a); }, effect);
  }
  PublishRun(run, "");
  if (IsTerminal(job.row().view.state)) FinishRun(run);
}

void CoordinatorImpl::FailRun(ActiveRun& run, const absl::Status& why) {
  const JobRow row = run.job->row();
  FinishRun(run);
  FailWaiting(row, why);
}

void CoordinatorImpl::FinishRun(ActiveRun& run) {
  std::erase(order_, run.name());
  RemoveRun(run.number);
}

void CoordinatorImpl::RemoveRun(uint64_t number) {
  for (const auto& [attempt, cancel] : runs_.at(number)->cancels) cancel.Cancel();
  orders_.CancelRun(number);
  runs_.erase(number);
  workers_changed_ = true;
  WaitingChanged();
  served_looked_ = absl::InfinitePast();
  ReportStalls(options_.clock->Now());
}

void CoordinatorImpl::PublishRun(ActiveRun& run, const std::string& stalled) {
  // What is not durable yet is not shown.
  const auto last = stalled.empty() ? nullptr : views_.Get(run.name()).value_or(nullptr);
  const JobView& view = last != nullptr ? *last : run.job->row().view;
  LiveView live(view);
  live.ledger = &run.ledger;
  std::string stall_text;
  if (const auto stall = run.stalls.Longest()) {
    stall_text = DescribeStall(*stall);
    live.stalled = stall_text;
  }
  if (!stalled.empty()) {
    live.state = JobState::kPaused;
    live.error = live.waiting_for = stalled;
  } else if (!low_disk_.empty() && !IsTerminal(live.state)) {
    live.state = JobState::kPaused;
    live.waiting_for = low_disk_;
  }
  live.rollout_workers = IsTerminal(live.state) ? 0 : run.rollout_workers;
  if (metrics_ != nullptr) {
    metrics_->Totals(run.name(), live.state, view.version, run.ledger, run.job->QueueDepths(),
                     run.job->held_bytes());
  }
  views_.Publish(view, live);
}

void CoordinatorImpl::PublishServed() {
  if (absl::Now() - served_looked_ < kServedInterval) return;
  served_looked_ = absl::Now();
  std::map<std::string, WorkerView> served;
  for (const auto& [number, run] : runs_) {
    if (!run->learner.empty()) served[run->learner].job = run->name();
    for (const auto& [name, worker] : run->job->state().reward)
      served[name].in_flight += static_cast<int32_t>(worker.calls.size());
    for (const auto& [name, worker] : run->job->state().rollout) {
      const auto it = rollouts_.find(name);
      if (it == rollouts_.end() || it->second.run != number) continue;
      WorkerView& view = served[name];
      view.version = worker.version;
      view.in_flight = static_cast<int32_t>(worker.calls.size());
      view.job = run->name();
    }
  }
  absl::MutexLock lock(&served_mu_);
  served_ = std::move(served);
}

absl::Status CoordinatorImpl::SetPriorityOnActor(const JobId& job, int32_t priority) {
  if (ActiveRun* run = RunOfJob(job)) {
    run->job->SetPriority(options_.clock->Now(), priority);
    FlushRun(*run);
    return absl::OkStatus();
  }
  auto it = waiting_.find(job);
  if (it == waiting_.end()) return absl::FailedPreconditionError(absl::StrCat("job ", job, " has ended"));
  JobSpec spec = it->second.view.spec;
  spec.share.priority = priority;
  SLUICE_RETURN_IF_ERROR(store_->Transact([&](StoreTransaction& tx) { return tx.UpdateSpec(job, spec); }));
  it->second.view.spec = std::move(spec);
  prepared_.erase(job);
  WaitingChanged();
  PublishWaiting();
  return absl::OkStatus();
}

absl::Status CoordinatorImpl::ControlOnActor(const JobId& job, JobState wanted) {
  const absl::Time now = options_.clock->Now();
  if (ActiveRun* run = RunOfJob(job)) {
    if (wanted == JobState::kPaused) run->job->Handle({now, PauseEvent{}});
    if (wanted == JobState::kRunning) run->job->Handle({now, ResumeEvent{}});
    if (wanted == JobState::kCancelled) run->job->Handle({now, CancelEvent{}});
    FlushRun(*run);
    PublishWaiting();
    return absl::OkStatus();
  }
  const auto it = waiting_.find(job);
  if (it == waiting_.end()) return absl::FailedPreconditionError(absl::StrCat("job ", job, " has ended"));
  if (wanted == JobState::kCancelled) return CancelWaiting(job);
  if (auto held = held_back_.find(job); held != held_back_.end()) held->second.until = absl::InfinitePast();
  JobRow row = it->second;
  row.paused = wanted == JobState::kPaused;
  row.view.state = row.paused ? JobState::kPaused : JobState::kPending;
  if (!row.paused) row.view.error.clear();
  SLUICE_RETURN_IF_ERROR(store_->Transact([&](StoreTransaction& tx) { return tx.UpdateJob(row); }));
  views_.Publish(row.view);
  it->second = std::move(row);
  prepared_.erase(job);
  WaitingChanged();
  PublishWaiting();
  return absl::OkStatus();
}

absl::Status CoordinatorImpl::CancelWaiting(const JobId& job) {
  JobRow row = waiting_.at(job);
  row.paused = false;
  row.view.state = JobState::kCancelled;
  row.view.error.clear();
  row.view.end_time = options_.clock->Now();
  row.view.waiting_for.clear();
  SLUICE_RETURN_IF_ERROR(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(tx.CancelInFlight(job, "cancelled"));
    return tx.UpdateJob(row);
  }));
  if (auto ledger = store_->LoadLedger(job); ledger.ok()) row.view.ledger = *ledger;
  views_.Publish(row.view);
  waiting_.erase(job);
  held_back_.erase(job);
  prepared_.erase(job);
  std::erase(order_, job);
  WaitingChanged();
  return absl::OkStatus();
}

}  // namespace sluice
