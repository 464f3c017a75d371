// Which jobs run, on which learner: as many at once as there are learners, those of higher priority first,
// and one of lower priority makes room for them.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/coordinator_impl.h"
#include "coordinator/prompts/prompt_source.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

// Between tries of a job that cannot run.
constexpr size_t kToldAtOnce = 64;  // jobs that wait, in one turn
constexpr absl::Duration kFirstHold = absl::Seconds(1), kLongestHold = absl::Minutes(1);

// Then its checkpoints are where its learner is.
bool HasBegun(const JobRow& row) { return row.view.version >= 0 || row.view.warm_start_step > 0; }
int32_t PriorityOf(const JobRow& row) { return row.view.spec.share.priority; }
// It has begun there, or what it begins with is there.
bool IsBound(const JobRow& row) { return HasBegun(row) || !row.view.spec.from.job.empty(); }
bool MayUse(const JobRow& row, const std::string& learner) {
  return !IsBound(row) || row.view.learner.empty() || row.view.learner == learner;
}
std::string WithPriority(const JobRow& row) {
  return absl::StrCat(row.view.job, " (priority ", PriorityOf(row), ")");
}

}  // namespace

void CoordinatorImpl::WaitingChanged() { waiting_changed_ = turns_due_ = turn_order_stale_ = true; }

// Costs nothing while nothing changed that decides who runs, however many wait.
void CoordinatorImpl::TakeTurns() {
  for (const auto& [number, run] : runs_) {
    const bool lost = !run->learner.empty() && learners_.count(run->learner) == 0;
    if (!run->learner.empty() && !(lost && !IsBound(run->job->row()))) continue;
    if (std::string learner = FreeLearner(run->job->row()); !learner.empty()) GiveLearner(*run, learner);
  }
  const bool yielding =
      std::any_of(runs_.begin(), runs_.end(), [](const auto& run) { return !run.second->yields_to.empty(); });
  if (!std::exchange(turns_due_, false) && !yielding) return;
  if (waiting_.empty() && !yielding) return;
  while (ActivateOne() || MakeRoom()) {
  }
}

// Of those that wait: by priority, then the oldest; those that are paused last.
const std::vector<JobId>& CoordinatorImpl::TurnOrder() {
  if (!std::exchange(turn_order_stale_, false)) return turn_order_;
  turn_order_.clear();
  for (const JobId& job : order_) {
    if (waiting_.count(job) > 0) turn_order_.push_back(job);
  }
  std::stable_sort(turn_order_.begin(), turn_order_.end(), [this](const JobId& a, const JobId& b) {
    const JobRow &first = waiting_.at(a), &second = waiting_.at(b);
    return std::pair(first.paused, -PriorityOf(first)) < std::pair(second.paused, -PriorityOf(second));
  });
  return turn_order_;
}

ActiveRun* CoordinatorImpl::HolderOf(const std::string& learner) {
  for (const auto& [number, run] : runs_) {
    if (run->learner == learner) return run.get();
  }
  return nullptr;
}

// The learner that the job can have now, of several the one that registered last; empty: none.
std::string CoordinatorImpl::FreeLearner(const JobRow& row) {
  std::pair<uint64_t, std::string> best;
  for (const auto& [name, member] : learners_) {
    if (!MayUse(row, name) || HolderOf(name) != nullptr || learner_calls_.count(name) > 0) continue;
    best = std::max(best, std::pair(member.epoch, name));
  }
  return best.second;
}

void CoordinatorImpl::GiveLearner(ActiveRun& run, const std::string& learner) {
  served_looked_ = absl::InfinitePast();
  run.learner = learner;
  run.job->SetLearner(learner);
  Deliver(run, learners_.at(learner));
}

bool CoordinatorImpl::ActivateOne() {
  const bool any_free = std::any_of(learners_.begin(), learners_.end(), [this](const auto& entry) {
    return HolderOf(entry.first) == nullptr && learner_calls_.count(entry.first) == 0;
  });
  if (!any_free && !runs_.empty()) return false;
  for (const JobId& job : TurnOrder()) {
    const JobRow& row = waiting_.at(job);
    if ((row.paused && !HasBegun(row)) || IsHeldBack(job)) continue;
    const std::string learner = FreeLearner(row);
    const bool comes = std::any_of(learners_.begin(), learners_.end(),
                                   [&row](const auto& entry) { return MayUse(row, entry.first); });
    // Where there is nothing to run on the first job waits as one that runs: it says for what and stalls.
    if (learner.empty() && (comes || !runs_.empty())) continue;
    if (!IsPrepared(row)) return false;  // its turn is when it is
    Activate(JobId(job), learner);
    return true;
  }
  return false;
}

// Whether all that it needs of the disk is read. Begins to where it is not, beside the actor: a large file,
// and much that was under way, take long.
bool CoordinatorImpl::IsPrepared(const JobRow& row) {
  const JobId& job = row.view.job;
  const auto [entry, fresh] = prepared_.try_emplace(job);
  if (!fresh) return entry->second.ready;
  entry->second.number = ++last_reading_;
  waiting_changed_ = true;
  read_pool_.Run([this, row, number = last_reading_, store = store_, factory = options_.encoder,
                  folder = absl::StrCat(options_.state_dir, "/jobs/", job), inbox = inbox_] {
    using Run = absl::StatusOr<std::unique_ptr<JobRun>>;
    absl::StatusOr<PromptSet> prompts = LoadPrompts(row.view.spec, factory);
    // std::function wants what it holds copyable.
    auto run = std::make_shared<Run>(prompts.ok() ? JobRun::Restore(row, *std::move(prompts), *store, folder)
                                                  : Run(prompts.status()));
    inbox->PostControl([this, job = row.view.job, number, run] {
      const auto wanted = prepared_.find(job);
      if (wanted == prepared_.end() || wanted->second.number != number) return;  // it changed meanwhile
      wanted->second.run = std::move(*run);
      wanted->second.ready = true;
      waiting_changed_ = turns_due_ = true;
    });
  });
  return false;
}

void CoordinatorImpl::Activate(const JobId& job, const std::string& learner) {
  const JobRow row = std::move(waiting_.extract(job).mapped());
  WaitingChanged();
  auto restored = std::move(prepared_.extract(job).mapped().run);
  if (!restored.ok()) return HoldBack(row, restored.status());
  (*restored)->SetEvents(row.view.events);  // there may be one more since it was read
  held_back_.erase(job);
  auto run = std::make_unique<ActiveRun>(++last_run_, *std::move(restored), options_.stall);
  run->job->Admit(low_disk_.empty());
  run->job->LimitHeld(options_.hold_samples_bytes);
  run->ledger = row.view.ledger;
  LogInfo("job_running", {{"job", job}, {"step", row.view.step}, {"learner", learner}});
  SLUICE_FAIL_POINT("coordinator.job_restored");
  ActiveRun& active = *(runs_[run->number] = std::move(run));
  for (const auto& [name, member] : rewards_) Deliver(active, member);
  if (!learner.empty()) GiveLearner(active, learner);
  ShareWorkers();
  active.job->Handle({options_.clock->Now(), TickEvent{}});
  FlushRun(active);
}

// It waits, and is tried again now and then. Others run meanwhile.
void CoordinatorImpl::HoldBack(JobRow row, const absl::Status& why) {
  const JobId job = row.view.job;
  HeldBack& held = held_back_[job];
  held.pause = std::clamp(held.pause * 2, kFirstHold, kLongestHold);
  held.until = absl::Now() + held.pause;
  const std::string text(why.message());
  if (std::exchange(held.why, text) != text)
    NoteWaiting(row, options_.clock->Now(), absl::StrCat("cannot run: ", text));
  waiting_[job] = std::move(row);
  WaitingChanged();
}

bool CoordinatorImpl::IsHeldBack(const JobId& job) const {
  const auto held = held_back_.find(job);
  return held != held_back_.end() && absl::Now() < held->second.until;
}

// A job that failed waits for its turn again. What it had under way was cancelled.
absl::Status CoordinatorImpl::TakeUp(const JobId& job) {
  if (waiting_.count(job) > 0 || RunOfJob(job) != nullptr) return absl::OkStatus();  // it was meanwhile
  SLUICE_ASSIGN_OR_RETURN(JobRow row, store_->LoadJob(job));
  if (row.view.state != JobState::kFailed) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job, " has ended: ", JobStateName(row.view.state)));
  }
  if (row.next_draw > 0 && (row.view.spec.deterministic || !row.view.spec.replay.job.empty())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", job, " is deterministic and lost what it had under way when it failed: submit it anew"));
  }
  row.view.state = JobState::kPending;
  row.view.error.clear();
  row.view.end_time = absl::InfiniteFuture();
  row.paused = false;
  SLUICE_RETURN_IF_ERROR(store_->Transact([&](StoreTransaction& tx) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(tx.NeedJob(job));  // it may have been deleted meanwhile, and what it began with
    const FromSpec& from = row.view.spec.from;
    if (!from.reference.empty()) SLUICE_RETURN_IF_ERROR(tx.NeedJob(from.reference));
    if (!from.job.empty() && row.view.version < 0) SLUICE_RETURN_IF_ERROR(tx.NeedJob(from.job));
    SLUICE_RETURN_IF_ERROR(tx.WithdrawBatch(job, row.view.version + 1));
    return tx.UpdateJob(row);
  }));
  NoteWaiting(row, options_.clock->Now(), "taken up again");
  order_.push_back(job);
  waiting_[job] = std::move(row);
  WaitingChanged();
  PublishWaiting();
  return absl::OkStatus();
}

// Who gives its learner to a job that waits and has the higher priority: of those that may the one with the
// lowest priority, then the one that began last. Run number -> the job that it makes room for.
std::map<uint64_t, JobId> CoordinatorImpl::WhoYields() {
  std::map<uint64_t, JobId> yields;
  int32_t lowest = std::numeric_limits<int32_t>::max();
  for (const auto& [number, run] : runs_) lowest = std::min(lowest, PriorityOf(run->job->row()));
  for (const JobId& job : TurnOrder()) {
    const JobRow& row = waiting_.at(job);
    if (row.paused || PriorityOf(row) <= lowest) break;  // and so are those behind it
    if (IsHeldBack(job) || !FreeLearner(row).empty()) continue;
    const ActiveRun* least = nullptr;
    for (const auto& [number, run] : runs_) {
      const int32_t priority = PriorityOf(run->job->row());
      if (yields.count(number) > 0 || priority >= PriorityOf(row)) continue;
      if (learners_.count(run->learner) == 0 || !MayUse(row, run->learner)) continue;
      if (least == nullptr || priority <= PriorityOf(least->job->row())) least = run.get();
    }
    if (least != nullptr) yields[least->number] = job;
  }
  return yields;
}

// True: a job stood down, and its learner is free.
bool CoordinatorImpl::MakeRoom() {
  const std::map<uint64_t, JobId> yields = WhoYields();
  for (const auto& [number, run] : runs_) {
    const auto it = yields.find(number);
    const JobId to = it == yields.end() ? "" : it->second;
    if (std::exchange(run->yields_to, to) == to) continue;
    run->job->Yield(!to.empty());
    run->job->Handle({options_.clock->Now(), TickEvent{}});
  }
  for (const auto& [number, to] : yields) {
    IsPrepared(waiting_.at(to));  // it is read while the other makes room
    if (!CanStandDown(runs_.at(number)->job->state())) continue;
    StandDown(*runs_.at(number), to);
    return true;
  }
  return false;
}

// The run goes back to those that wait. What it has under way goes on when it has its turn again.
void CoordinatorImpl::StandDown(ActiveRun& run, const JobId& to) {
  const uint64_t number = run.number;
  const absl::Time now = options_.clock->Now();
  JobRow& first = waiting_.at(to);
  const std::string text =
      absl::StrCat("pre-empted by ", WithPriority(first), " after step ", run.job->row().view.step);
  run.job->AddEvent(now, text);
  run.job->Handle({now, StandDownEvent{}});
  FlushRun(run);
  if (RunOf(number) == nullptr) return;  // it failed in it
  NoteWaiting(first, now,
              absl::StrCat("takes learner ", run.learner, " from ", WithPriority(run.job->row())));
  JobRow row = run.job->row();
  row.view.ledger = run.ledger;
  waiting_[row.view.job] = std::move(row);
  RemoveRun(number);
}

// An event of a job that waits.
void CoordinatorImpl::NoteWaiting(JobRow& row, absl::Time now, const std::string& text) {
  row.view.events.push_back({now, text});
  const absl::Status saved = store_->Transact(
      [&](StoreTransaction& tx) { return tx.AddEvent(row.view.job, row.view.events.back()); });
  if (!saved.ok()) LogError("event_not_saved", {{"job", row.view.job}, {"error", saved.ToString()}});
}

std::string CoordinatorImpl::WaitsBehind(const JobRow& row) {
  if (row.paused) return "`sluice resume` (paused)";
  if (const auto held = held_back_.find(row.view.job); held != held_back_.end()) {
    return absl::StrCat("what it needs, which is looked for again and again, at once by `sluice resume`: ",
                        held->second.why);
  }
  if (const auto it = prepared_.find(row.view.job); it != prepared_.end() && !it->second.ready)
    return "its prompts to be read";
  std::vector<std::string> ahead;
  for (const auto& [number, run] : runs_) {
    const JobRow& other = run->job->row();
    if (run->yields_to == row.view.job) {
      return absl::StrCat("its turn: ", WithPriority(other), " makes room after its step");
    }
    const bool holds = run->learner.empty() || MayUse(row, run->learner);
    if (!holds) continue;
    if (HasBegun(row) && run->learner == row.view.learner && PriorityOf(other) > PriorityOf(row)) {
      return absl::StrCat("its turn: pre-empted by ", WithPriority(other));
    }
    ahead.push_back(absl::StrCat(other.view.job, IsHeldUp(*run) ? " (paused)" : ""));
  }
  if (HasBegun(row) && !row.view.learner.empty() && learners_.count(row.view.learner) == 0) {
    return absl::StrCat("learner ", row.view.learner, " to register, which has its checkpoints");
  }
  return ahead.empty() ? "its turn" : absl::StrCat("its turn, behind ", absl::StrJoin(ahead, ", "));
}

// Paused, or made to wait by its disk.
bool CoordinatorImpl::IsHeldUp(const ActiveRun& run) const {
  return run.job->row().view.state == JobState::kPaused || !low_disk_.empty();
}

void CoordinatorImpl::PublishWaiting() {
  std::string turns;  // all that WaitsBehind says something of, but the rows of those that wait
  for (const auto& [number, run] : runs_) {
    absl::StrAppend(&turns, run->name(), " ", run->learner, " ", run->yields_to, " ", IsHeldUp(*run), " ",
                    PriorityOf(run->job->row()), ";");
  }
  for (const auto& [name, member] : learners_) absl::StrAppend(&turns, name, " ");
  if (std::exchange(turns_, turns) != turns || std::exchange(waiting_changed_, false))
    left_to_tell_ = waiting_.size();
  left_to_tell_ = std::min(left_to_tell_, waiting_.size());
  auto it = waiting_.upper_bound(told_last_);
  for (size_t told = 0; told < kToldAtOnce && left_to_tell_ > 0; ++told, --left_to_tell_) {
    if (it == waiting_.end()) it = waiting_.begin();
    JobRow& row = it->second;
    row.view.waiting_for = WaitsBehind(row);
    views_.Publish(row.view);
    told_last_ = (it++)->first;
  }
}

}  // namespace sluice
