#include "coordinator/scheduler/scheduler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {

bool IsDue(const JobPlan& plan, const HeldOutPlan& more, PolicyVersion version) {
  return version % more.every == 0 || version >= plan.stop_steps;
}

JobPlan PlanOf(const JobSpec& spec, const std::vector<size_t>& evaluation_prompts) {
  JobPlan plan;
  plan.groups_per_step = spec.batch.groups_per_step;
  plan.group_size = spec.sampling.group_size;
  plan.max_versions = spec.staleness.max_versions;
  plan.stop_steps = spec.stop_steps;
  plan.warm_start_steps = spec.warm_start.steps;
  plan.drop_on_deadline = spec.staleness.on_deadline == OnDeadline::kDrop;
  plan.filter_ties = spec.grpo.filter_ties;
  plan.deterministic = spec.deterministic;
  plan.max_filtered_groups = spec.grpo.max_filtered_groups;
  if (!evaluation_prompts.empty()) {
    plan.evaluation_every = spec.evaluation.every_steps;
    plan.evaluation_prompts = static_cast<int64_t>(evaluation_prompts[0]);
    plan.evaluation_samples = spec.evaluation.samples_per_prompt;
  }
  for (size_t i = 1; i < evaluation_prompts.size(); ++i) {
    const EvaluationSpec& more = spec.more_evaluations.at(i - 1);
    plan.more_evaluations.push_back(
        {more.every_steps, static_cast<int64_t>(evaluation_prompts[i]), more.samples_per_prompt});
  }
  plan.gate = spec.evaluation.gate;
  plan.canary = spec.evaluation.canary;
  plan.guard = spec.guard;
  plan.checkpoint = spec.checkpoint;
  plan.max_attempts = spec.timeout.max_attempts;
  plan.generate_timeout = absl::Seconds(spec.timeout.generate_seconds);
  plan.score_timeout = absl::Seconds(spec.timeout.score_seconds);
  plan.load_timeout = absl::Seconds(spec.timeout.load_policy_seconds);
  if (spec.timeout.hedge_seconds > 0) plan.hedge_after = absl::Seconds(spec.timeout.hedge_seconds);
  if (spec.timeout.group_seconds > 0) plan.group_timeout = absl::Seconds(spec.timeout.group_seconds);
  plan.extra_groups = static_cast<int64_t>(
      std::ceil(spec.batch.over_sampling * static_cast<double>(spec.batch.groups_per_step)));
  return plan;
}

int64_t DropsToPause(const JobPlan& plan) {
  if (plan.replay) return std::numeric_limits<int64_t>::max();  // what was recorded comes again
  return std::max(kMinDropsToPause, kStepsOfDropsToPause * plan.groups_per_step);
}

std::vector<Action> TakeIn(SchedulerState& state, const Event& event) {
  SchedulerStep step(state, event.now);
  std::visit([&](const auto& body) { step.On(body); }, event.body);
  return step.Take();
}

std::vector<Action> Decide(SchedulerState& state, absl::Time now) {
  SchedulerStep step(state, now);
  step.Advance();
  return step.Take();
}

std::vector<Action> Step(SchedulerState& state, const Event& event) {
  std::vector<Action> actions = TakeIn(state, event);
  std::vector<Action> decided = Decide(state, event.now);
  std::move(decided.begin(), decided.end(), std::back_inserter(actions));
  return actions;
}

namespace {

void MakeIndex(SchedulerState& s) {
  s.index = {};
  s.index.made = true;
  for (auto& [key, group] : s.groups) {
    group.place = {};
    s.index.groups.Place(key, group);
    if (!key.evaluation && s.learner.added.count(key.draw) > 0)
      s.index.groups.Added(group.train_by, key.draw);
  }
  for (const auto& [name, worker] : s.rollout) {
    if (worker.loading != kNoPolicyVersion) s.index.rollout.CountReceiver(worker.source, 1);
  }
  const auto place = [](std::map<std::string, WorkerState>& workers, WorkerIndex& index) {
    for (auto& [name, worker] : workers) {
      worker.place = {};
      index.Place(name, worker);
    }
  };
  place(s.rollout, s.index.rollout);
  place(s.reward, s.index.reward);
}

}  // namespace

SchedulerIndex IndexOf(SchedulerState state) {
  MakeIndex(state);
  return std::move(state.index);
}

SchedulerStep::SchedulerStep(SchedulerState& state, absl::Time now) : s_(state), now_(now) {
  if (s_.index.made) return;
  MakeIndex(s_);
  StartGroupClocks();
}

void SchedulerStep::Place(Workers& workers, const std::string& name) {
  const auto it = workers.find(name);
  if (it != workers.end()) IndexOf(workers).Place(name, it->second);
}

void SchedulerStep::EraseGroup(const GroupKey& key) {
  const auto it = s_.groups.find(key);
  if (it == s_.groups.end()) return;
  s_.index.groups.Remove(key, it->second);
  s_.groups.erase(it);
}

void SchedulerStep::Advance() {
  if (ended() || s_.stood_down) return;
  WakeRested(s_.rollout);
  WakeRested(s_.reward);
  ExpireCalls();
  ExpireLoads();
  ExpireGroups();
  WatchReward();
  if (s_.plan.deterministic) FindCompleteBelow();
  if (IsRefused(s_) && !s_.paused && !s_.rollback) TakeRefused();
  DriveEvaluation();
  DriveLearner();
  if (ended()) return;
  LoadPolicies();
  Dispatch();
  MaybeSucceed();
}

void SchedulerStep::On(const LearnerUp& e) {
  if (s_.learner.alive && s_.learner.epoch >= e.epoch) return;
  if (s_.learner.alive && s_.learner.name != e.name) {
    Do(Note{absl::StrCat("learner ", e.name, " takes the place of ", s_.learner.name)});
  }
  LearnerState fresh;
  fresh.name = e.name;
  fresh.epoch = e.epoch;
  fresh.alive = true;
  // A call to the one before may still be under way: the next starts when it returned.
  fresh.busy = s_.learner.busy;
  fresh.op = s_.learner.op;
  fresh.op_epoch = s_.learner.op_epoch;
  fresh.failures = s_.learner.failures;
  fresh.incarnation = s_.learner.incarnation;
  s_.learner = std::move(fresh);
  ForgetAdded();
}

void SchedulerStep::On(const WorkerDown& e) {
  bool known = false;
  for (auto* workers : {&s_.rollout, &s_.reward}) {
    auto it = workers->find(e.name);
    if (it == workers->end() || it->second.epoch != e.epoch) continue;
    LoseWorker(*workers, e.name, e.given_away ? TryFailure::kBusy : TryFailure::kLost);
    it->second.alive = false;
    Place(*workers, e.name);
    known = true;
  }
  if (s_.learner.name == e.name && s_.learner.epoch == e.epoch && s_.learner.alive) {
    s_.learner.alive = s_.learner.open = false;
    ForgetAdded();
    known = true;
  }
  if (known && !e.given_away && !ended()) Do(Note{absl::StrCat("worker ", e.name, " is lost: ", e.reason)});
}

void SchedulerStep::On(const PauseEvent&) {
  if (ended() || s_.paused) return;
  s_.paused = true;
  Do(SaveState{});
  Do(Note{"paused"});
}

void SchedulerStep::On(const ResumeEvent&) {
  if (ended() || !s_.paused) return;
  s_.paused = false;
  s_.error.clear();
  s_.learner.failures = 0;
  s_.goes_on_without = std::exchange(s_.checkpoint_lost, false);
  s_.drops_in_a_row = s_.barred.in_a_row = 0;
  s_.blocked_since = absl::InfiniteFuture();
  StartGroupClocks();
  Do(SaveState{});
  Do(Note{"resumed"});
}

void SchedulerStep::On(const CancelEvent&) {
  if (!ended()) End(JobEnd::kCancelled, "");
}

void SchedulerStep::On(const StandDownEvent&) {
  if (ended()) return;
  s_.stood_down = true;
  for (auto* workers : {&s_.rollout, &s_.reward}) {
    for (auto& [name, worker] : *workers) LoseWorker(*workers, name, TryFailure::kBusy);
  }
}

bool CanStandDown(const SchedulerState& s) {
  if (s.end != JobEnd::kNone || s.learner.busy) return false;
  if (!s.learner.open) return true;
  return s.version >= 0 && (s.learner.version < s.version || s.checkpointed >= s.version);
}

void SchedulerStep::End(JobEnd end, const std::string& error) {
  if (ended()) return;
  for (const auto& [id, attempt] : s_.attempts) {
    Do(CancelGenerate{id});
    Do(AttemptOver{id, AttemptOutcome::kCancelled});
  }
  s_.attempts.clear();
  s_.score_calls.clear();
  s_.to_score.clear();
  for (auto* workers : {&s_.rollout, &s_.reward}) {
    for (auto& [name, worker] : *workers) worker.calls.clear();
  }
  for (auto& [key, group] : s_.groups) {
    SettleLost(key, group);
    if (!key.evaluation) Do(DropGroup{key.draw, LedgerColumn::kCancelled, "the job ended"});
  }
  s_.groups.clear();
  s_.batch.clear();
  s_.evaluation.reset();
  s_.unjudged = s_.promoting = kNoPolicyVersion;
  s_.rollback.reset();
  s_.canary.awaits_score = false;
  RetireCanary();
  MakeIndex(s_);
  s_.end = end;
  s_.error = error;
  Do(SaveState{});
  Do(Note{end == JobEnd::kSucceeded   ? "succeeded"
          : end == JobEnd::kCancelled ? "cancelled"
                                      : absl::StrCat("failed: ", error)});
}

void SchedulerStep::Backoff(absl::Time now, absl::Time& not_before, absl::Duration& backoff) {
  backoff = std::min(std::max(backoff * 2, absl::Milliseconds(100)), absl::Seconds(5));
  not_before = now + backoff;
}

namespace {

bool AnyAlive(const std::map<std::string, WorkerState>& workers) {
  return std::any_of(workers.begin(), workers.end(), [](const auto& w) { return w.second.alive; });
}

std::string Refusal(const SchedulerState& s) {
  return absl::StrCat("learner ", s.learner.name,
                      " to open the job, which is tried again and again: ", s.learner.refuses);
}

std::string LearnerActivity(const SchedulerState& s) {
  switch (s.learner.op) {
    case LearnerOp::kOpen:
      return s.learner.refuses.empty() ? "the learner to open the job" : Refusal(s);
    case LearnerOp::kSupervise:
      return absl::StrCat("the learner: warm start, step ", s.learner.op_version + 1, " of ",
                          s.plan.warm_start_steps);
    case LearnerOp::kPublishFirst:
      return "the learner to publish the first version";
    case LearnerOp::kAddGroups:
      return "the learner to take groups";
    case LearnerOp::kStep:
      return absl::StrCat("the learner: step ", s.learner.op_version);
    case LearnerOp::kRedo:
      return absl::StrCat("the learner to redo step ", s.learner.op_version, " of ", s.version);
    case LearnerOp::kCheckpoint:
      return "the learner to make the last checkpoint";
    case LearnerOp::kRollBack:
      return absl::StrCat("the learner to go back and make version ", s.learner.op_version);
    case LearnerOp::kPromote:
      return absl::StrCat("the learner to make the checkpoint of version ", s.learner.op_version,
                          ", which is promoted");
    case LearnerOp::kFindCheckpoint:
      return "the learner to find its last checkpoint";
  }
  return "";
}

std::string CanaryActivity(const SchedulerState& s) {
  const std::string& name = s.canary.worker;
  const auto worker = s.rollout.find(name);
  if (worker == s.rollout.end()) return absl::StrCat("a rollout worker to try version ", s.version);
  if (worker->second.version != s.version)
    return absl::StrCat(name, " to load version ", s.version, ", which is on trial");
  return absl::StrCat("the canary of version ", s.version, " on ", name, ": ", s.evaluation->done, " of ",
                      s.evaluation->prompts, " prompts done");
}

std::string Sampling(const SchedulerState& s) {
  if (s.evaluation && s.evaluation->canary) return CanaryActivity(s);
  if (s.evaluation) {
    return absl::StrCat("the evaluation of version ", s.evaluation->version, ": ", s.evaluation->done, " of ",
                        s.evaluation->prompts, " prompts done");
  }
  const auto ready = static_cast<int64_t>(s.index.groups.ready().size());
  const int64_t wanted = s.plan.groups_per_step;
  std::string out = absl::StrCat("the groups of step ", s.version + 1, ": ", std::min(ready, wanted), " of ",
                                 wanted, " complete");
  if (ready > wanted) absl::StrAppend(&out, " (", ready - wanted, " ahead)");
  if (s.drops_since_step > 0) {
    absl::StrAppend(&out, "; ", s.drops_since_step, s.drops_since_step == 1 ? " group" : " groups",
                    " dropped since the last step: ", s.last_drop);
  }
  return out;
}

}  // namespace

std::string WaitingFor(const SchedulerState& s) {
  if (s.end != JobEnd::kNone) return "";
  if (s.paused) {
    return s.error.empty() ? "`sluice resume` (paused)" : absl::StrCat("`sluice resume`, after: ", s.error);
  }
  if (!s.learner.alive) {
    return s.learner.name.empty() ? "a learner to register"
                                  : absl::StrCat("learner ", s.learner.name, " to register");
  }
  if (!s.learner.open && !s.learner.refuses.empty()) return Refusal(s);
  if (s.plan.deterministic && !s.learner.different.empty())
    return absl::StrCat(kLearnerThatItHad, ", after: ", s.learner.different);
  if (s.version >= 0 && s.version <= s.plan.stop_steps + 1) {
    if (!AnyAlive(s.rollout)) return "a rollout worker to register";
    if (!AnyAlive(s.reward)) return "a reward worker to register";
  }
  if (s.learner.busy && s.learner.op != LearnerOp::kAddGroups) return LearnerActivity(s);
  if (!s.reward_away.why.empty()) return absl::StrCat("verdicts: ", s.reward_away.why);
  if (s.learner.backoff > absl::ZeroDuration() || !s.learner.open)
    return absl::StrCat("the learner ", s.learner.name, " to answer");
  const bool serving = std::any_of(s.rollout.begin(), s.rollout.end(), [](const auto& w) {
    return w.second.alive && w.second.version != kNoPolicyVersion;
  });
  if (!serving) return absl::StrCat("rollout workers to load version ", s.version);
  return Sampling(s);
}

}  // namespace sluice
