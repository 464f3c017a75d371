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

// Only what is trained on is handed over: of a group with fewer than two rewards nothing.
Group RewardedOnly(Group group) {
  std::erase_if(group.samples, [](const ScoredSample& sample) { return !sample.verdict.HasReward(); });
  if (group.samples.size() < 2) group.samples.clear();
  return group;
}

absl::Status AddGroups(Trainer& trainer, Store& store, const JobId& job, PolicyVersion version,
                       const std::vector<Draw>& draws) {
  for (Draw draw : draws) {
    SLUICE_ASSIGN_OR_RETURN(Group group, store.LoadGroup(job, draw));
    SLUICE_RETURN_IF_ERROR(trainer.AddGroup(job, version, RewardedOnly(std::move(group))));
    SLUICE_FAIL_POINT("coordinator.group_handed_over");
  }
  return absl::OkStatus();
}

// What the worker itself sampled of a completion that is finished.
int64_t NewTokens(const RolloutRequest& request, const Trajectory& trajectory) {
  if (trajectory.finish_reason == FinishReason::kUnspecified) return 0;
  auto tokens = static_cast<int64_t>(trajectory.tokens.size());
  for (const Trajectory& begun : request.begun) {
    if (begun.key.index == trajectory.key.index) tokens -= static_cast<int64_t>(begun.tokens.size());
  }
  return tokens;
}

// One call to the learner, with all that it needs.
struct LearnerCall {
  StartLearner start;
  JobId job;
  JobSpec spec;
  std::vector<SupervisedExample> examples;
  std::shared_ptr<Trainer> trainer;
  std::shared_ptr<Store> store;
};

struct LearnerAnswer {
  LearnerDone done;
  std::map<std::string, double> metrics;
};

absl::Status ExpectRecorded(const LearnerCall& call, PolicyVersion version, LearnerAnswer& answer) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch, call.store->LoadBatch(call.job, version));
  if (batch && batch->committed) answer.done.expected_hash = batch->manifest_hash;
  return absl::OkStatus();
}

absl::Status RunStep(const LearnerCall& call, const std::vector<Draw>& draws, LearnerAnswer& answer) {
  SLUICE_ASSIGN_OR_RETURN(StepResult result, call.trainer->Step(call.job, call.start.number, draws));
  SLUICE_FAIL_POINT("coordinator.step_answered");
  answer.done.policy = std::move(result.policy);
  answer.done.checkpointed = result.checkpointed;
  answer.metrics = std::move(result.metrics.values);
  return absl::OkStatus();
}

absl::Status RunLearnerCall(const LearnerCall& call, LearnerAnswer& answer) {
  switch (call.start.op) {
    case LearnerOp::kOpen: {
      SLUICE_ASSIGN_OR_RETURN(answer.done.state, call.trainer->Open(call.job, call.spec));
      SLUICE_FAIL_POINT("coordinator.learner_opened");
      return ExpectRecorded(call, answer.done.state.version, answer);
    }
    case LearnerOp::kSupervise: {
      SLUICE_ASSIGN_OR_RETURN(StepMetrics metrics,
                              call.trainer->Supervise(call.job, call.start.number, call.examples));
      answer.metrics = std::move(metrics.values);
      return absl::OkStatus();
    }
    case LearnerOp::kPublishFirst: {
      SLUICE_ASSIGN_OR_RETURN(answer.done.policy, call.trainer->PublishFirst(call.job));
      SLUICE_FAIL_POINT("coordinator.first_published");
      return ExpectRecorded(call, 0, answer);
    }
    case LearnerOp::kAddGroups:
      return AddGroups(*call.trainer, *call.store, call.job, call.start.number, call.start.draws);
    case LearnerOp::kStep:
      return RunStep(call, call.start.draws, answer);
    case LearnerOp::kRedo: {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch,
                              call.store->LoadBatch(call.job, call.start.number));
      if (!batch)
        return absl::DataLossError(
            absl::StrCat("the batch of step ", call.start.number, " is not in the store"));
      SLUICE_RETURN_IF_ERROR(
          AddGroups(*call.trainer, *call.store, call.job, call.start.number, batch->draws));
      SLUICE_RETURN_IF_ERROR(RunStep(call, batch->draws, answer));
      answer.done.expected_hash = batch->manifest_hash;
      return absl::OkStatus();
    }
    case LearnerOp::kCheckpoint:
      return call.trainer->Checkpoint(call.job).status();
  }
  return absl::InternalError("an unknown call to the learner");
}

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

void CoordinatorImpl::Start(const CancelGenerate& a) {
  auto it = cancels_.find(a.attempt);
  if (it == cancels_.end()) return;
  it->second.Cancel();
  cancels_.erase(it);
}

// Answers come back as work for this thread; those of an earlier run are dropped there. The calls own what
// they use except `this`, which only the posted work touches.
void CoordinatorImpl::Start(const StartGenerate& a) {
  auto member = fleet_.Find(a.worker);
  if (!member.ok() || member->rollout == nullptr) return;  // its end is reported by the attempt's deadline
  const CancelToken cancel;
  cancels_.emplace(a.attempt, cancel);
  RolloutRequest request = run_->RequestFor(a);
  SLUICE_FAIL_POINT("coordinator.generate_starting");
  generate_pool_.Run([this, inbox = inbox_, port = member->rollout, request = std::move(request), cancel,
                      number = run_number_, attempt = a.attempt, name = a.worker, epoch = member->epoch] {
    const absl::Status status = port->Generate(request, cancel, [&](Trajectory trajectory) {
      const int64_t tokens = NewTokens(request, trajectory);
      auto shared =
          std::make_shared<Trajectory>(std::move(trajectory));  // std::function wants what it holds copyable
      inbox->PostData([this, shared, tokens, number, attempt, name, epoch] {
        if (Fenced(name, epoch)) return;
        fleet_.CountTokens(name, tokens);
        if (run_ != nullptr && run_number_ == number) {
          run_->HandleSample(options_.clock->Now(), attempt, std::move(*shared), tokens);
        }
      });
    });
    inbox->PostData([this, status, number, attempt] {
      if (run_ == nullptr || run_number_ != number) return;
      cancels_.erase(attempt);
      run_->Handle({options_.clock->Now(), GenerateEnded{attempt, status}});
    });
  });
}

void CoordinatorImpl::Start(const StartScore& a) {
  auto member = fleet_.Find(a.worker);
  if (!member.ok() || member->reward == nullptr) return;
  control_pool_.Run([this, inbox = inbox_, port = member->reward, items = run_->ItemsFor(a),
                     spec = run_->row().view.spec.reward, deadline = a.deadline, number = run_number_,
                     call = a.call, name = a.worker, epoch = member->epoch] {
    auto verdicts =
        std::make_shared<absl::StatusOr<std::vector<Verdict>>>(port->Score(spec, items, deadline));
    SLUICE_FAIL_POINT("coordinator.verdicts_arrived");
    inbox->PostData([this, verdicts, number, call, name, epoch] {
      if (run_ == nullptr || run_number_ != number || Fenced(name, epoch)) return;
      run_->HandleVerdicts(options_.clock->Now(), call, verdicts->status(),
                           verdicts->ok() ? **std::move(verdicts) : std::vector<Verdict>());
    });
  });
}

void CoordinatorImpl::Start(const StartLoad& a) {
  auto member = fleet_.Find(a.worker);
  if (!member.ok() || member->rollout == nullptr) return;
  PolicyRef policy = a.policy;
  if (const auto giver = fleet_.Find(a.source); giver.ok()) policy.source = giver->address;
  control_pool_.Run([this, inbox = inbox_, port = member->rollout, a, policy = std::move(policy),
                     mode = run_->row().view.spec.staleness.on_new_version, number = run_number_] {
    SLUICE_FAIL_POINT("coordinator.version_announcing");
    const absl::Status status = port->LoadPolicy(policy, mode, a.deadline);
    SLUICE_FAIL_POINT("coordinator.version_announced");
    inbox->PostData([this, a, status, number] {
      if (run_ == nullptr || run_number_ != number) return;
      run_->Handle({options_.clock->Now(), PolicyLoaded{a.worker, a.epoch, a.policy.version, status}});
    });
  });
}

void CoordinatorImpl::Start(const StartLearner& a) {
  auto member = fleet_.Find(a.worker);
  LearnerCall call{a, run_->row().view.job, run_->row().view.spec, {}, nullptr, store_};
  if (a.op == LearnerOp::kSupervise) call.examples = run_->ExamplesFor(a.number);
  if (member.ok()) call.trainer = member->learner;
  SLUICE_FAIL_POINT("coordinator.learner_call_starting");
  ++learner_calls_;
  control_pool_.Run([this, inbox = inbox_, call = std::move(call), number = run_number_] {
    auto answer = std::make_shared<LearnerAnswer>();
    answer->done.call = call.start.call;
    answer->done.status =
        call.trainer == nullptr ? absl::UnavailableError("the learner left") : RunLearnerCall(call, *answer);
    inbox->PostData([this, answer, number] {
      --learner_calls_;
      if (run_ == nullptr || run_number_ != number) return;
      run_->HandleLearner(options_.clock->Now(), std::move(answer->done), std::move(answer->metrics));
    });
  });
}

}  // namespace sluice
