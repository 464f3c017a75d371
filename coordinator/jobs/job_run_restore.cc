// A running job from what the store has of it.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/jobs/job_run.h"
#include "core/base/status.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<JobRun>> JobRun::Restore(JobRow row, PromptSet prompts, Store& store,
                                                        const std::string& log_folder) {
  if (prompts.files_hash != row.files_hash) {
    return absl::FailedPreconditionError(
        "the prompt files changed since the job was submitted: submit a new job");
  }
  std::unique_ptr<JobRun> run(new JobRun(std::move(row), std::move(prompts), log_folder));
  const JobView& view = run->row_.view;
  SchedulerState& state = run->state_;
  state.plan = PlanOf(view.spec, run->prompts_.evaluation_sizes);
  if (!view.spec.replay.job.empty()) {
    SLUICE_ASSIGN_OR_RETURN(run->replay_, ReplayRun::Open(store, view.spec));
    FollowRecord(state.plan, run->replay_->source().schedule);
  }
  state.paused = run->row_.paused;
  state.error = run->row_.view.error;
  state.version = view.version;
  if (view.version >= 0) state.learner.name = view.learner;  // which has its checkpoints
  state.policy = run->row_.policy;
  state.checkpointed = run->row_.checkpointed;
  state.next_draw = run->row_.next_draw;
  if (!view.evaluations.empty()) state.evaluated_step = view.evaluations.back().step;
  state.promoted = view.promoted;
  SLUICE_RETURN_IF_ERROR(run->RestoreRollbacks(store));
  SLUICE_RETURN_IF_ERROR(run->RestoreCanary(store));
  SLUICE_RETURN_IF_ERROR(run->RestoreManifests(store));
  SLUICE_RETURN_IF_ERROR(run->RestoreGroups(store));
  if (state.plan.deterministic && !state.rollback) SLUICE_RETURN_IF_ERROR(run->RestoreEmptied(store));
  SLUICE_RETURN_IF_ERROR(run->RestoreProgress(store));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<uint64_t> barred, store.LoadQuarantinedRows(view.job));
  for (uint64_t row : barred) run->quarantine_.Add(row);
  SLUICE_RETURN_IF_ERROR(run->RestoreGuard(store));
  return run;
}

// Of the versions that samples may still name or workers load.
absl::Status JobRun::RestoreManifests(Store& store) {
  const PolicyVersion newest = state_.version;
  const PolicyVersion oldest = std::min(newest - state_.plan.max_versions, TrustedVersion(state_));
  for (PolicyVersion v = std::max<PolicyVersion>(0, oldest); v <= newest; ++v) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch, store.LoadBatch(row_.view.job, v));
    if (!batch || !batch->committed)
      return absl::DataLossError(absl::StrCat("version ", v, " of ", row_.view.job, " is not in the store"));
    AddManifest(state_, v, batch->manifest_hash);
  }
  return absl::OkStatus();
}

// Groups of a deterministic job whose samples are all settled, without anything to train on: they still take
// their places in their batches.
absl::Status JobRun::RestoreEmptied(Store& store) {
  const PolicyVersion next = std::max<PolicyVersion>(0, state_.version);
  for (uint64_t place = 0; place < state_.next_draw; ++place) {
    const Draw draw = *DrawAt(state_, place);
    const GroupKey key{false, draw};
    if (BatchOf(state_, draw) < next || state_.groups.count(key) > 0) continue;
    SLUICE_ASSIGN_OR_RETURN(const Group data, store.LoadGroup(row_.view.job, draw));
    summaries_[draw] = SummariseGroup(data);
    GroupState& group = state_.groups[key];
    group.train_by = BatchOf(state_, draw);
    group.ready = true;
    group.oldest = summaries_[draw].oldest;
    group.samples.resize(static_cast<size_t>(state_.plan.group_size), {.status = SampleStatus::kGone});
  }
  return absl::OkStatus();
}

absl::Status JobRun::RestoreGroups(Store& store) {
  const JobId& job = row_.view.job;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<StoredGroup> groups, store.LoadOpenGroups(job));
  for (const StoredGroup& stored : groups) {
    GroupState group;
    group.train_by = stored.train_by;
    group.attempts = stored.attempts;
    group.ready = stored.record.segment >= 0;
    group.samples.resize(stored.in_flight.size());
    for (size_t i = 0; i < stored.in_flight.size(); ++i) {
      group.samples[i].status = !stored.in_flight[i] ? SampleStatus::kGone
                                : group.ready        ? SampleStatus::kScored
                                                     : SampleStatus::kPending;
    }
    if (group.ready) {
      SLUICE_ASSIGN_OR_RETURN(const Group data, store.LoadGroup(job, stored.draw));
      summaries_[stored.draw] = SummariseGroup(data);
      group.oldest = summaries_[stored.draw].oldest;
    }
    state_.groups[GroupKey{false, stored.draw}] = std::move(group);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch, store.LoadBatch(job, state_.version + 1));
  if (batch && !batch->committed) state_.batch = batch->draws;
  return absl::OkStatus();
}

// What samples without a completion had when the coordinator before this one was gone.
absl::Status JobRun::RestoreProgress(Store& store) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Trajectory> reports, store.LoadProgress(row_.view.job));
  for (Trajectory& report : reports) {
    const SampleRef ref{{false, report.key.draw}, report.key.index};
    const auto group = state_.groups.find(ref.group);
    if (group == state_.groups.end() || ref.index >= group->second.samples.size()) continue;
    if (group->second.samples[ref.index].status != SampleStatus::kPending) continue;
    if (CheckTrajectory(report, RulesFor(ref.group)).ok()) progress_.Restore(ref, std::move(report));
  }
  return absl::OkStatus();
}

}  // namespace sluice
