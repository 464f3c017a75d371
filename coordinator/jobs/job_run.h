// The running job: the scheduler's state together with the data that its keys stand for (prompts,
// trajectories, verdicts), and its row. Turns the scheduler's actions into writes for the store and effects
// for the fleet. Used by the coordinator's actor thread only.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/jobs/attempt_log.h"
#include "coordinator/jobs/progress_table.h"
#include "coordinator/jobs/trajectory_check.h"
#include "coordinator/prompts/prompt_encoder.h"
#include "coordinator/prompts/prompt_quarantine.h"
#include "coordinator/prompts/prompt_source.h"
#include "coordinator/replay/replay_run.h"
#include "coordinator/reporting/reporting.h"
#include "coordinator/reporting/step_summary.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/store.h"
#include "core/rl/rollout_worker.h"
#include "core/rl/scorer.h"

namespace sluice {

using StoreWrite = std::function<absl::Status(StoreTransaction&)>;

class JobRun {
 public:
  // From the store's row: a new job, or one that a coordinator before left.
  static absl::StatusOr<std::unique_ptr<JobRun>> Restore(JobRow row, PromptSet prompts, Store& store,
                                                         const std::string& log_folder);

  // Whether new groups may begin from now on.
  void Admit(bool admit) { touched_ |= std::exchange(admitted_, admit) != admit; }
  // No new group begins while finished samples of groups that are not complete are above so many bytes.
  void LimitHeld(int64_t bytes) { most_held_ = bytes; }
  int64_t held_bytes() const { return held_bytes_; }
  // Prompts of these rows are handed out again; none: all.
  void ReleasePrompts(const std::vector<uint64_t>& rows) {
    quarantine_.Release(rows);
    touched_ = true;
  }
  // Of each reward worker at once.
  void LimitScoreCalls(int32_t calls) {
    sluice::LimitScoreCalls(state_, calls);
    touched_ = true;
  }
  // Whether the learner is to be made free for another job; with the next Advance.
  void Yield(bool yields) { touched_ |= std::exchange(state_.yields, yields) != yields; }
  // The learner that has the job from now on.
  void SetLearner(const std::string& name) {
    row_.view.learner = name;
    touched_ = true;
  }
  void SetPriority(absl::Time now, int32_t priority);
  void SetEvents(SharedList<JobEventView> events) { row_.view.events = std::move(events); }
  // Takes the event in. Its writes and effects are added to those that wait to be taken. What follows from it
  // is decided by the next Advance, once for any number of events.
  void Handle(const Event& event);
  // With the data that belong to the event.
  // `new_tokens`: of a completion that is finished, those that this attempt sampled.
  void HandleSample(absl::Time now, uint64_t attempt, Trajectory trajectory, int64_t new_tokens);
  void HandleVerdicts(absl::Time now, uint64_t call, const absl::Status& status,
                      std::vector<Verdict> verdicts);
  // `recorded`: of a replay, the step that was made, as it was recorded.
  void HandleLearner(absl::Time now, LearnerDone done, std::map<std::string, double> metrics,
                     std::optional<absl::StatusOr<RecordedStep>> recorded = std::nullopt);
  // Of a replay: what was asked for with it.
  void HandleRecorded(absl::Time now, const TakeRecorded& asked, absl::StatusOr<Group> group);

  // Whether something happened since the last Advance.
  bool touched() const { return touched_; }
  // Decides all that can be decided now. To be called before what waits is taken.
  void Advance(absl::Time now);
  // Writes first, in one transaction; then, when it is durable, reports and effects.
  std::vector<StoreWrite> TakeWrites();
  std::vector<Action> TakeEffects() { return std::exchange(effects_, {}); }
  std::vector<std::function<void(CoordinatorMetrics*)>> TakeReports() { return std::exchange(reports_, {}); }

  void AddEvent(absl::Time now, const std::string& text) {
    Apply(now, Note{text});
    touched_ = true;
  }

  RolloutRequest RequestFor(const StartGenerate& start);
  std::vector<ScoreItem> ItemsFor(const StartScore& start);
  std::vector<SupervisedExample> ExamplesFor(int64_t step);

  const JobRow& row() const { return row_; }
  const ReplayRun* replay() const { return replay_.get(); }  // null: the job is none
  const SchedulerState& state() const { return state_; }
  std::map<std::string, int64_t> QueueDepths() const;

 private:
  JobRun(JobRow row, PromptSet prompts, const std::string& log_folder);
  // One evaluation, and what is known of the version that it measures.
  struct HeldOut {
    EvaluationSpec spec;
    size_t end = 0;  // of its rows among PromptSet::evaluation
    SamplingParams sampling;
    EvaluationSummary summary = {};
    EvaluationView Finish(PolicyVersion version) const { return summary.Finish(version, spec); }
  };
  absl::Status RestoreManifests(Store& store);
  absl::Status RestoreGroups(Store& store);
  absl::Status RestoreEmptied(Store& store);
  absl::Status RestoreProgress(Store& store);
  absl::Status RestoreRollbacks(Store& store);
  absl::Status RestoreGuard(Store& store);
  absl::Status RestoreCanary(Store& store);
  std::vector<Fork> Forks() const;
  const Prompt& PromptOf(const GroupKey& key);
  Group Assemble(const GroupKey& key);
  void CompareMembers(const GroupKey& group, ScoreEnded& event);
  TrajectoryRules RulesFor(const GroupKey& key);
  const SamplingParams& SamplingOf(const GroupKey& key);
  HeldOut& HeldOutOf(Draw row);
  void ForgetEvaluation();
  void Begin(absl::Time now);
  void ApplyAll(absl::Time now, const std::vector<Action>& actions);
  void CheckBegun(const StartGenerate& a);
  void CountTokens(int64_t resumed, int64_t lost);
  void SaveProgress();
  void Quarantine(absl::Time now, const SettleSample& a);
  void RefreshRow(absl::Time now);

  void Apply(absl::Time now, const IssueGroup& a);
  void Apply(absl::Time now, const GroupComplete& a);
  void Apply(absl::Time now, const SettleSample& a);
  void Apply(absl::Time now, const DropGroup& a);
  void Apply(absl::Time now, const RecordBatch& a);
  void Apply(absl::Time now, const CommitVersion& a);
  void Apply(absl::Time now, const RecordRollBack& a);
  void Apply(absl::Time now, const CommitRollBack& a);
  void Apply(absl::Time now, const RollBackDraws& a);
  void Apply(absl::Time now, const PromoteVersion& a);
  void Apply(absl::Time now, const RecordWarmStep& a);
  void Apply(absl::Time now, const FinishEvaluation& a);
  void Apply(absl::Time now, const FinishCanary& a);
  void Apply(absl::Time now, const RecordCanary& a);
  void Apply(absl::Time now, const SaveState& a);
  void Apply(absl::Time now, const Note& a);
  void Apply(absl::Time now, const AttemptOver& a);
  void Apply(absl::Time now, const Tally& a);
  void Apply(absl::Time now, const StartGenerate& a);
  void Apply(absl::Time now, const StartLearner& a);
  template <typename Effect>
  void Apply(absl::Time now, const Effect& a) {
    effects_.push_back(a);
  }
  StepRecordView RecordOf(absl::Time now, const CommitVersion& a);
  void CompareStep(absl::Time now, const CommitVersion& a, StepRecordView record);
  HeldOutScore ScoreOf(const EvaluationView& evaluation) const;
  void ForgetGroup(const GroupKey& key);
  void Hold(const SampleRef& ref, Trajectory trajectory);
  std::vector<ScoredSample> Release(const GroupKey& key);

  JobRow row_;
  PromptSet prompts_;
  ShuffledOrder order_, warm_order_;
  JobLog log_;
  std::vector<HeldOut> held_out_;  // as in PromptSet::evaluation_sizes
  PromptQuarantine quarantine_;
  std::unique_ptr<ReplayRun> replay_;  // null: the job is none
  SchedulerState state_;
  AttemptLog attempts_;
  std::map<SampleRef, ScoredSample> samples_;  // of groups that are not complete
  int64_t held_bytes_ = 0, most_held_ = std::numeric_limits<int64_t>::max();  // of them
  bool admitted_ = true;
  std::map<Draw, GroupSummary> summaries_;  // of groups that are complete and not trained
  int64_t filtered_ = 0;                    // groups since the last step that tied and were dropped
  ProgressTable progress_;
  std::set<SampleRef> ended_;  // of samples_, to be saved like progress
  absl::Time progress_saved_;
  std::vector<double> train_rewards_;              // of the steps since the last evaluation or rollback
  std::optional<HeldOutScore> scored_;             // that the scheduler has not been told
  std::optional<CanaryScored> canary_scored_;      // likewise
  std::map<std::string, double> learner_metrics_;  // of the answer that is being handled
  std::string recorded_job_hash_;                  // likewise; of its policy, of a replay
  std::optional<absl::StatusOr<RecordedStep>> recorded_step_;  // likewise
  absl::Time now_, last_commit_, step_started_;
  bool touched_ = true;
  std::vector<StoreWrite> writes_;
  std::string saved_row_;  // what of the row the store has, or will have with the writes taken last
  std::vector<Action> effects_;
  std::vector<std::function<void(CoordinatorMetrics*)>> reports_;
};

}  // namespace sluice
