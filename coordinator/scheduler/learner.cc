// The learner's calls, batches, versions and evaluations.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {

bool SchedulerStep::evaluation_due() const {
  if (s_.plan.evaluation_every <= 0 || s_.version < 0 || s_.evaluated_step >= s_.version) return false;
  if (s_.rollback || OnTrial(s_)) return false;  // nobody goes on from this version, or not yet
  return s_.version % s_.plan.evaluation_every == 0 || s_.version >= s_.plan.stop_steps;
}

void SchedulerStep::DriveEvaluation() {
  if (s_.evaluation && s_.evaluation->done >= s_.evaluation->prompts) EndEvaluation();
  if (s_.evaluation || s_.paused) return;
  if (trying()) {
    s_.evaluation = EvaluationRun{.version = s_.version, .prompts = s_.plan.canary.prompts, .canary = true};
  } else if (evaluation_due()) {
    s_.evaluation = EvaluationRun{.version = s_.version, .prompts = s_.plan.evaluation_prompts};
    for (const HeldOutPlan& more : s_.plan.more_evaluations) {
      if (IsDue(s_.plan, more, s_.version)) s_.evaluation->prompts += more.prompts;
    }
  }
}

void SchedulerStep::EndEvaluation() {
  const EvaluationRun run = *std::exchange(s_.evaluation, std::nullopt);
  if (run.canary) {
    s_.canary.awaits_score = true;
    return Do(FinishCanary{run.version});
  }
  s_.evaluated_step = run.version;
  if (s_.plan.gate.on || s_.plan.guard.held_out_drop) s_.unjudged = run.version;
  Do(FinishEvaluation{run.version});
}

void SchedulerStep::Call(LearnerOp op, int64_t number, std::vector<Draw> draws) {
  s_.learner.busy = s_.next_id++;
  s_.learner.op = op;
  s_.learner.op_version = number;
  s_.learner.op_epoch = s_.learner.epoch;
  s_.learner.op_draws = draws;
  Do(StartLearner{*s_.learner.busy, s_.learner.name, op, number, std::move(draws)});
}

void SchedulerStep::DriveLearner() {
  LearnerState& learner = s_.learner;
  if (!learner.alive || learner.busy || now_ < learner.not_before) return;
  if (!learner.open) {
    if (!s_.yields) Call(LearnerOp::kOpen, 0);
    return;
  }
  // Before the first version there is nothing to keep.
  if (s_.yields && s_.version >= 0) return MakeDurable();
  if (s_.paused) return;
  if (!learner.different.empty() && s_.plan.deterministic) return;  // until another registers
  if (!learner.different.empty()) return Call(LearnerOp::kFindCheckpoint, learner.version);
  if (learner.version == kNoPolicyVersion) {
    if (learner.warm_steps < s_.plan.warm_start_steps) return Call(LearnerOp::kSupervise, learner.warm_steps);
    return Call(LearnerOp::kPublishFirst, 0);
  }
  if (s_.rollback) return CallRollBack(*s_.rollback);
  if (learner.version < s_.version) return Redo();
  if (s_.promoting != kNoPolicyVersion) return Call(LearnerOp::kPromote, s_.promoting);
  DriveTraining();
}

void SchedulerStep::MakeDurable() {
  if (s_.learner.version == s_.version && s_.checkpointed < s_.version)
    Call(LearnerOp::kCheckpoint, s_.version);
}

// What is behind a rollback is not made again, but the rollback is.
void SchedulerStep::Redo() {
  if (s_.learner.version < s_.fork.version) return CallRollBack(s_.fork);
  Call(LearnerOp::kRedo, s_.learner.version + 1);
}

void SchedulerStep::DriveTraining() {
  const PolicyVersion next = s_.version + 1;
  if (s_.version >= s_.plan.stop_steps) {
    if (s_.checkpointed < s_.version) Call(LearnerOp::kCheckpoint, s_.version);
    return;
  }
  if (evaluating()) s_.blocked_since = absl::InfiniteFuture();  // that time is not the groups'
  if (s_.batch.empty() && !evaluating()) s_.plan.deterministic ? CloseFixedBatch() : CloseBatch();
  std::vector<Draw> missing = MissingAtLearner();
  if (!missing.empty()) return Call(LearnerOp::kAddGroups, next, std::move(missing));
  if (!s_.batch.empty() && !evaluating()) Call(LearnerOp::kStep, next, s_.batch);
}

void SchedulerStep::Commit(const PolicyRef& policy, bool checkpointed) {
  Do(CommitVersion{policy, s_.batch, checkpointed});
  for (Draw draw : s_.batch) EraseGroup(GroupKey{false, draw});
  s_.batch.clear();
  Advanced(policy);
  if (checkpointed) s_.checkpointed = policy.version;
}

void SchedulerStep::Advanced(const PolicyRef& policy) {
  s_.drops_since_step = s_.filtered_since_step = 0;
  ForgetAdded();
  s_.version = policy.version;
  s_.policy = policy;
  AddManifest(s_, policy.version, policy.manifest_hash);
}

void SchedulerStep::Added(const std::vector<Draw>& draws) {
  s_.learner.added.insert(draws.begin(), draws.end());
  for (Draw draw : draws) {
    const auto group = s_.groups.find(GroupKey{false, draw});
    if (group != s_.groups.end()) s_.index.groups.Added(group->second.train_by, draw);
  }
}

void SchedulerStep::ForgetAdded() {
  s_.learner.added.clear();
  s_.index.groups.NoneAdded();
}

void SchedulerStep::On(const LearnerDone& e) {
  LearnerState& learner = s_.learner;
  if (!learner.busy || *learner.busy != e.call) return;
  learner.busy.reset();
  // The answer of a learner that was restarted meanwhile says nothing about the one that is there now.
  if (ended() || learner.op_epoch != learner.epoch || !learner.alive) return;
  if (!e.status.ok()) return LearnerFailed(e);
  if (!e.expected_hash.empty() && learner.op != LearnerOp::kOpen &&
      e.policy.manifest_hash != e.expected_hash) {
    return CameOutDifferent(absl::StrCat("version ", e.policy.version,
                                         " was redone after the learner's restart and came out different: "
                                         "manifest ",
                                         e.policy.manifest_hash, ", recorded ", e.expected_hash));
  }
  learner.backoff = absl::ZeroDuration();
  if (learner.op != LearnerOp::kOpen && learner.op != LearnerOp::kAddGroups) learner.failures = 0;
  switch (learner.op) {
    case LearnerOp::kOpen:
      return LearnerOpened(e);
    case LearnerOp::kSupervise:
      learner.warm_steps = learner.op_version + 1;
      return Do(RecordWarmStep{learner.warm_steps});
    case LearnerOp::kPublishFirst:
      learner.version = 0;
      if (s_.version == kNoPolicyVersion) return Commit(e.policy, true);
      if (s_.version == 0) s_.policy = e.policy;
      return;
    case LearnerOp::kAddGroups:
      return Added(learner.op_draws);
    case LearnerOp::kStep:
      learner.version = e.policy.version;
      Commit(e.policy, e.checkpointed);
      return JudgeStep(e.policy.version, e.metrics);
    case LearnerOp::kRedo:
      learner.version = e.policy.version;
      if (learner.version == s_.version) {
        s_.policy = e.policy;
        s_.goes_on_without = false;
      }
      Do(Note{absl::StrCat("the learner redid step ", e.policy.version, " with the same result")});
      return;
    case LearnerOp::kCheckpoint:
      s_.checkpointed = s_.version;
      return;
    case LearnerOp::kRollBack:
      learner.version = e.policy.version;
      return RolledBack(e.policy);
    case LearnerOp::kPromote:
      s_.promoted = s_.checkpointed = std::exchange(s_.promoting, kNoPolicyVersion);
      return Do(PromoteVersion{s_.promoted});
    case LearnerOp::kFindCheckpoint:
      return ForkFrom(e.found);
  }
}

// A step cannot be redone: what was made of it cannot be gone on from. A deterministic job waits for a
// learner that can: the next that registers is tried.
void SchedulerStep::CameOutDifferent(const std::string& why) {
  LearnerState& learner = s_.learner;
  if (s_.plan.deterministic) {
    learner.different = why;
    return Do(Note{absl::StrCat(why, "; the job is deterministic and waits for ", kLearnerThatItHad)});
  }
  const bool made = learner.op == LearnerOp::kPublishFirst || learner.op == LearnerOp::kRollBack;
  if (made && learner.open) learner.version = learner.op_version;
  learner.different = why;
}

void SchedulerStep::ForkFrom(PolicyVersion checkpoint) {
  const std::string why = std::exchange(s_.learner.different, "");
  const bool lost = checkpoint < s_.checkpointed && !s_.goes_on_without;
  if (lost || checkpoint == kNoPolicyVersion) return PauseForLost(why, checkpoint);
  s_.goes_on_without = false;
  GoBack(checkpoint, why, /*by_guard=*/false);
}

// `last`: the newest checkpoint that the learner has.
void SchedulerStep::PauseForLost(const std::string& why, PolicyVersion last) {
  s_.checkpoint_lost = true;
  s_.learner.open = false;
  PauseFor(absl::StrCat(
      why, "; the checkpoint of version ", s_.checkpointed, " is missing in the state folder of ", "learner ",
      s_.learner.name, ", whose last is ",
      last == kNoPolicyVersion ? "none" : absl::StrCat("that of version ", last),
      ": bring the folder back and restart the learner; `sluice resume` goes on, from what is ", "there"));
}

void SchedulerStep::LearnerOpened(const LearnerDone& e) {
  LearnerState& learner = s_.learner;
  const bool one_ahead = e.state.version == s_.version + 1 &&
                         (!s_.batch.empty() || s_.rollback || s_.version == kNoPolicyVersion);
  const bool same = e.expected_hash.empty() || e.state.policy.manifest_hash == e.expected_hash;
  std::string foreign;
  if (e.state.version > s_.version && !one_ahead) {
    foreign = absl::StrCat("learner ", learner.name, " has version ", e.state.version,
                           " of this job, the store has ", s_.version);
  } else if (!same && !s_.rollback) {  // a rollback leaves it, whatever it is
    foreign = absl::StrCat("version ", e.state.version, " of learner ", learner.name, " has manifest ",
                           e.state.policy.manifest_hash, ", the store recorded ", e.expected_hash);
  }
  if (!foreign.empty()) {
    Backoff(now_, learner.not_before, learner.backoff);
    return PauseFor(absl::StrCat(foreign, ": they do not belong together; bring back the state folder of ",
                                 "either, restart it, then `sluice resume`"));
  }
  if (std::exchange(learner.incarnation, e.state.incarnation) != e.state.incarnation) learner.failures = 0;
  learner.open = true;
  learner.refuses.clear();
  learner.different.clear();
  ForgetAdded();
  learner.warm_steps = e.state.warm_start_steps;
  // One ahead: its last answer was lost. The same call again returns it.
  learner.version = one_ahead ? s_.version : e.state.version;
  if (same && e.state.version == s_.version && s_.version != kNoPolicyVersion) s_.policy = e.state.policy;
  if (!e.state.policy.source.empty()) s_.policy.source = e.state.policy.source;  // it may have moved
  if (learner.version == kNoPolicyVersion && s_.checkpointed > 0 && !s_.goes_on_without && !s_.paused)
    return PauseForLost("the learner knows nothing of this job", kNoPolicyVersion);
  if (learner.version < s_.version && !s_.rollback) {
    Do(Note{absl::StrCat("the learner resumed at version ", learner.version, "; steps up to ", s_.version,
                         " are redone")});
  }
}

void SchedulerStep::LearnerFailed(const LearnerDone& e) {
  LearnerState& learner = s_.learner;
  const std::string message = absl::StrCat("learner: ", e.status.message());
  if (learner.backoff == absl::ZeroDuration()) Do(Note{message});
  Backoff(now_, learner.not_before, learner.backoff);
  if (absl::IsResourceExhausted(e.status)) {
    s_.paused = true;
    s_.error = absl::StrCat(message, "; make room, then `sluice resume`");
    Do(SaveState{});
    return;
  }
  const bool gone = absl::IsNotFound(e.status) || absl::IsDataLoss(e.status);
  const bool differs = absl::IsAlreadyExists(e.status);  // than what was published
  const bool steps = learner.op == LearnerOp::kRedo || learner.op == LearnerOp::kStep;
  const bool again = learner.op == LearnerOp::kRedo || (learner.op == LearnerOp::kRollBack && !s_.rollback);
  if ((differs && steps) || (gone && again && !s_.plan.deterministic)) return CameOutDifferent(message);
  learner.open = false;
  ForgetAdded();
  if (learner.op == LearnerOp::kRollBack && gone) return PauseByGuard(message);
  if (absl::IsUnavailable(e.status) || absl::IsCancelled(e.status)) return;
  // It works for another coordinator: only a person can tell which of the two is to go on.
  if (absl::IsAborted(e.status)) {
    learner.refuses = std::string(e.status.message());
    return;
  }
  const bool refused = absl::IsInvalidArgument(e.status) || absl::IsUnimplemented(e.status);
  // What has a version was taken once: something else is missing.
  if (refused && s_.version == kNoPolicyVersion) return End(JobEnd::kFailed, message);
  if (learner.op == LearnerOp::kOpen) {
    learner.refuses = std::string(e.status.message());
    return;
  }
  if (refused || gone || ++learner.failures > s_.plan.max_attempts)
    PauseFor(absl::StrCat(message, "; `sluice resume` tries again"));
}

void SchedulerStep::MaybeSucceed() {
  if (s_.paused || s_.version < s_.plan.stop_steps || s_.rollback || evaluating()) return;
  if (s_.checkpointed < s_.version || s_.learner.busy) return;
  End(JobEnd::kSucceeded, "");
}

}  // namespace sluice
