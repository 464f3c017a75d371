#include "services/servers/job_wire.h"

#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "services/wire/job_spec.h"
#include "services/wire/types.h"
#include "services/wire/utf8.h"

namespace sluice {
namespace {

// Infinite and unset times stay absent.
void SetTime(absl::Time time, google::protobuf::Timestamp* out) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  out->set_seconds(seconds);
  out->set_nanos(static_cast<int32_t>((time - absl::FromUnixSeconds(seconds)) / absl::Nanoseconds(1)));
}

bool IsSet(absl::Time time) { return time != absl::InfiniteFuture() && time != absl::InfinitePast(); }

void SetMap(const std::map<std::string, double>& from, google::protobuf::Map<std::string, double>* to) {
  for (const auto& [name, value] : from) (*to)[ToValidUtf8(name)] = value;
}

v1::Evaluation ToProto(const EvaluationView& view) {
  v1::Evaluation out;
  out.set_step(view.step);
  out.set_policy_version(view.version);
  out.set_reward(view.reward);
  out.set_accuracy(view.accuracy);
  out.set_samples(view.samples);
  out.set_mean_tokens(view.mean_tokens);
  SetMap(view.accuracy_by_kind, out.mutable_accuracy_by_kind());
  if (view.train_reward) out.set_train_reward(*view.train_reward);
  out.set_name(view.name);
  for (const auto& [k, share] : view.pass_at) (*out.mutable_pass_at())[k] = share;
  for (const EvaluationView& other : view.others) *out.add_others() = ToProto(other);
  return out;
}

v1::Rollback ToProto(const RollbackView& view) {
  v1::Rollback out;
  out.set_policy_version(view.version);
  out.set_parent(view.parent);
  out.set_reason(ToValidUtf8(view.reason));
  SetTime(view.time, out.mutable_time());
  return out;
}

v1::Trial ToProto(const TrialView& view) {
  v1::Trial out;
  out.set_policy_version(view.version);
  out.set_worker(view.worker);
  out.set_prompts_done(static_cast<int32_t>(view.done));
  return out;
}

v1::CanaryVerdict::Decision ToProto(CanaryVerdict verdict) {
  switch (verdict) {
    case CanaryVerdict::kPassed:
      return v1::CanaryVerdict::PASSED;
    case CanaryVerdict::kRefused:
      return v1::CanaryVerdict::REFUSED;
    case CanaryVerdict::kTaken:
      return v1::CanaryVerdict::TAKEN;
  }
  return v1::CanaryVerdict::DECISION_UNSPECIFIED;
}

v1::CanaryVerdict ToProto(const CanaryView& view) {
  v1::CanaryVerdict out;
  out.set_policy_version(view.record.version);
  out.set_decision(ToProto(view.record.verdict));
  out.set_worker(view.record.worker);
  if (std::isfinite(view.record.score)) out.set_score(view.record.score);
  out.set_reason(ToValidUtf8(view.record.why));
  SetTime(view.time, out.mutable_time());
  return out;
}

v1::StepRecord ToProto(const StepRecordView& view) {
  v1::StepRecord out;
  out.set_step(view.step);
  out.set_policy_version(view.version);
  SetMap(view.metrics, out.mutable_metrics());
  if (IsSet(view.time)) SetTime(view.time, out.mutable_time());
  return out;
}

v1::ReplayDifference ToProto(const ReplayDifference& difference) {
  v1::ReplayDifference out;
  out.set_where(difference.where);
  out.set_recorded(difference.recorded);
  out.set_replayed(difference.replayed);
  return out;
}

}  // namespace

v1::JobState ToProto(JobState state) {
  switch (state) {
    case JobState::kPending:
      return v1::PENDING;
    case JobState::kWarmingUp:
      return v1::WARMING_UP;
    case JobState::kRunning:
      return v1::RUNNING;
    case JobState::kPaused:
      return v1::PAUSED;
    case JobState::kSucceeded:
      return v1::SUCCEEDED;
    case JobState::kFailed:
      return v1::FAILED;
    case JobState::kCancelled:
      return v1::JOB_CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::Job ToProto(const JobView& view) {
  v1::Job out;
  out.set_job(view.job);
  *out.mutable_spec() = ToProto(view.spec);
  out.set_state(ToProto(view.state));
  out.set_step(view.step);
  out.set_policy_version(view.version);
  out.set_warm_start_step(view.warm_start_step);
  if (view.last_step.step > 0) *out.mutable_last_step() = ToProto(view.last_step);
  *out.mutable_ledger() = ToProto(view.ledger);
  out.set_waiting_for(ToValidUtf8(view.waiting_for));
  out.set_error(ToValidUtf8(view.error));
  out.set_stalled(ToValidUtf8(view.stalled));
  for (const EvaluationView& e : view.evaluations) *out.add_evaluations() = ToProto(e);
  for (const JobEventView& event : view.events) {
    v1::JobEvent* e = out.add_events();
    SetTime(event.time, e->mutable_time());
    e->set_text(ToValidUtf8(event.text));
  }
  if (IsSet(view.create_time)) SetTime(view.create_time, out.mutable_create_time());
  if (IsSet(view.end_time)) SetTime(view.end_time, out.mutable_end_time());
  out.set_max_staleness(view.max_staleness);
  out.set_exact_compared(view.exact_compared);
  out.set_exact_max_difference(view.exact_max_difference);
  out.set_learner(view.learner);
  out.set_rollout_workers(view.rollout_workers);
  out.set_promoted_version(view.promoted);
  for (const RollbackView& rollback : view.rollbacks) *out.add_rollbacks() = ToProto(rollback);
  if (view.trial) *out.mutable_trial() = ToProto(*view.trial);
  if (view.canary) *out.mutable_canary() = ToProto(*view.canary);
  return out;
}

v1::WorkerStatus ToProto(const WorkerView& view) {
  v1::WorkerStatus out;
  out.set_name(view.name);
  out.set_role(view.role);
  out.set_address(view.address);
  out.set_alive(view.alive);
  out.set_policy_version(view.version);
  out.set_in_flight(view.in_flight);
  out.set_tokens_generated(view.tokens_generated);
  out.set_job(view.job);
  return out;
}

v1::ListSamplesResponse ToProto(const SampleView& view) {
  v1::ListSamplesResponse out;
  *out.mutable_trajectory() = ToProto(view.sample.trajectory);
  *out.mutable_verdict() = ToProto(view.sample.verdict);
  out.set_advantage(view.sample.advantage);
  out.set_prompt(ToValidUtf8(view.prompt));
  out.set_prompt_uid(ToValidUtf8(view.prompt_uid));
  out.set_ledger_column(view.ledger_column);
  out.set_step(view.step);
  return out;
}

v1::Attempt ToProto(const AttemptView& view) {
  v1::Attempt out;
  out.set_draw(view.draw);
  out.set_number(view.number);
  out.set_worker(ToValidUtf8(view.worker));
  out.set_epoch(view.epoch);
  out.set_samples(view.samples);
  SetTime(view.started, out.mutable_start_time());
  if (IsSet(view.ended)) SetTime(view.ended, out.mutable_end_time());
  out.set_outcome(view.outcome);
  out.set_tokens(view.tokens);
  return out;
}

v1::QuarantinedSample ToProto(const QuarantineView& view) {
  v1::QuarantinedSample out;
  out.set_draw(view.sample.draw);
  out.set_index(view.sample.index);
  out.set_prompt_row(view.prompt_row);
  out.set_prompt_uid(ToValidUtf8(view.prompt_uid));
  out.set_reason(ToValidUtf8(view.reason));
  out.set_attempts(view.attempts);
  if (IsSet(view.time)) SetTime(view.time, out.mutable_time());
  out.set_released(view.released);
  return out;
}

v1::ReplayStep ToProto(const ReplayStepView& view) {
  v1::ReplayStep out;
  out.set_step(view.version);
  out.set_equal(view.equal());
  out.set_recorded_manifest_hash(view.recorded_manifest);
  out.set_manifest_hash(view.manifest);
  out.set_samples_compared(view.compared);
  out.set_samples_different(view.different);
  out.set_samples_taken(view.taken);
  out.set_samples_lost(view.lost);
  if (view.sample) *out.mutable_sample() = ToProto(*view.sample);
  if (view.metric) *out.mutable_metric() = ToProto(*view.metric);
  out.set_recorded_kernel_path(view.recorded_kernel_path);
  out.set_kernel_path(view.kernel_path);
  return out;
}

absl::StatusOr<WorkerRole> FromProto(v1::WorkerRole role) {
  switch (role) {
    case v1::ROLLOUT:
      return WorkerRole::kRollout;
    case v1::REWARD:
      return WorkerRole::kReward;
    case v1::LEARNER:
      return WorkerRole::kLearner;
    default:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("role: ", static_cast<int>(role), " is none of ROLLOUT, REWARD, LEARNER"));
}

}  // namespace sluice
