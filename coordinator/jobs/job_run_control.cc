// What a running job does by its own signals: rollbacks and promotions, and what a restart needs to know of
// them.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/jobs/job_run.h"
#include "coordinator/scheduler/canary.h"
#include "coordinator/scheduler/guard.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {

void JobRun::Apply(absl::Time now, const RecordRollBack& a) {
  const Fork& f = a.fork;
  ForgetEvaluation();  // of the version that is left, where one was under way
  writes_.push_back([job = row_.view.job, rollback = StoredRollback{f.version, f.parent, f.first_draw,
                                                                    f.reason, now, false, f.by_guard}](
                        StoreTransaction& tx) { return tx.RecordRollBack(job, rollback); });
  reports_.push_back([](CoordinatorMetrics* metrics) {
    if (metrics != nullptr) metrics->RollingBack();
  });
}

void JobRun::Apply(absl::Time, const RollBackDraws& a) {
  for (Draw draw = a.first; draw < row_.next_draw; ++draw) ForgetGroup({false, draw});
  writes_.push_back(
      [job = row_.view.job, a](StoreTransaction& tx) { return tx.RollBackDraws(job, a.first, a.reason); });
}

void JobRun::Apply(absl::Time now, const CommitRollBack& a) {
  JobView& view = row_.view;
  row_.policy = a.policy;
  view.version = view.step = a.policy.version;
  view.rollbacks.push_back({a.fork.version, a.fork.parent, a.fork.reason, now});
  last_commit_ = now;
  train_rewards_.clear();
  StepRecordView record;
  record.step = record.version = a.policy.version;
  record.time = now;
  writes_.push_back([job = view.job, policy = a.policy, record](StoreTransaction& tx) {
    return tx.CommitBatch(job, policy, {}, record);
  });
  LogWarning(
      "rolled_back",
      {{"job", view.job}, {"version", a.fork.version}, {"parent", a.fork.parent}, {"reason", a.fork.reason}});
}

void JobRun::Apply(absl::Time now, const PromoteVersion& a) {
  row_.view.promoted = a.version;
  Apply(now, Note{absl::StrCat("version ", a.version, " is promoted")});
}

void JobRun::Apply(absl::Time, const FinishCanary& a) {
  const EvaluationView view = held_out_.at(0).Finish(a.version);
  ForgetEvaluation();
  canary_scored_ = CanaryScored{a.version, ScoreOf(view).score};
}

void JobRun::Apply(absl::Time now, const RecordCanary& a) {
  const CanaryView view{a.record, now};
  row_.view.canary = view;
  writes_.push_back([job = row_.view.job, view](StoreTransaction& tx) { return tx.RecordCanary(job, view); });
  if (a.record.verdict == CanaryVerdict::kTaken) return;
  reports_.push_back([job = row_.view.job, record = a.record](CoordinatorMetrics* metrics) {
    if (metrics != nullptr) metrics->Canary(job, record);
  });
}

HeldOutScore JobRun::ScoreOf(const EvaluationView& e) const {
  const bool by_reward = row_.view.spec.evaluation.measure == HeldOutMeasure::kReward;
  if (e.samples == 0) return {e.version, std::numeric_limits<double>::quiet_NaN(), e.train_reward};
  return {e.version, by_reward ? e.reward : e.accuracy, e.train_reward};
}

absl::Status JobRun::RestoreRollbacks(Store& store) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<StoredRollback> rollbacks, store.LoadRollbacks(row_.view.job));
  for (const StoredRollback& stored : rollbacks) {
    Fork fork{stored.version, stored.parent, stored.first_draw, stored.reason, stored.by_guard};
    state_.rollbacks += stored.by_guard ? 1 : 0;
    if (stored.committed) {
      state_.fork = std::move(fork);
    } else {
      state_.rollback = std::move(fork);
    }
  }
  return absl::OkStatus();
}

// Those that are committed, without their draws.
std::vector<Fork> JobRun::Forks() const {
  std::vector<Fork> forks;
  for (const RollbackView& rollback : row_.view.rollbacks)
    forks.push_back({.version = rollback.version, .parent = rollback.parent});
  return forks;
}

absl::Status JobRun::RestoreCanary(Store& store) {
  if (!state_.plan.canary.on()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const std::vector<CanaryRecord> records, store.LoadCanaries(row_.view.job));
  sluice::RestoreCanary(records, Forks(), state_);
  return absl::OkStatus();
}

// From the records of the last steps and of the evaluations.
absl::Status JobRun::RestoreGuard(Store& store) {
  GuardHistory history;
  for (const EvaluationView& evaluation : row_.view.evaluations)
    history.scores.push_back(ScoreOf(evaluation));
  history.forks = Forks();
  const PolicyVersion judged = FirstJudged(state_);
  PolicyVersion rewarded = state_.version + 1;  // the first since the last evaluation or rollback
  if (state_.plan.evaluation_every > 0) rewarded = std::max(state_.evaluated_step, state_.fork.version) + 1;
  for (PolicyVersion v = std::min(judged, rewarded); v <= state_.version; ++v) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch, store.LoadBatch(row_.view.job, v));
    if (!batch) continue;
    if (v >= judged) history.steps[v] = batch->metrics;
    const auto reward = batch->metrics.find("reward");
    if (v >= rewarded && reward != batch->metrics.end()) train_rewards_.push_back(reward->second);
  }
  sluice::RestoreGuard(history, state_);
  return absl::OkStatus();
}

}  // namespace sluice
