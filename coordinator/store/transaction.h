// The writes of one transaction of the store. Only inside Store::Transact.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/records/job_view.h"
#include "coordinator/store/database.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/segments.h"
#include "core/rl/types.h"

namespace sluice {

class StoreTransaction {
 public:
  // Of one sample under way, encoded; what is larger is not kept.
  static constexpr int64_t kMaxProgressBytes = int64_t{64} << 20;

  absl::Status InsertJob(const JobRow& row, const std::string& request_id);
  absl::StatusOr<JobId> FindRequest(const std::string& request_id);  // as of the store
  absl::Status NeedJob(const JobId& job);                            // NOT_FOUND: there is none
  absl::Status UpdateJob(const JobRow& row);                         // but its spec
  absl::Status UpdateSpec(const JobId& job, const JobSpec& spec);
  // The job is not there any more; what is left of it goes by Tidy. FAILED_PRECONDITION when it has not
  // ended.
  absl::Status DeleteJob(const JobId& job, absl::Time now);
  // The files that a learner kept of a deleted job are gone.
  absl::Status LearnerForgot(const JobId& job);
  // FAILED_PRECONDITION when the draw was issued before (ONCE).
  absl::Status IssueGroup(const JobId& job, Draw draw, PolicyVersion train_by, int64_t samples);
  // FAILED_PRECONDITION when the draw is not known. Progress of its samples is forgotten.
  absl::Status CompleteGroup(const JobId& job, const Group& group);
  // What there is so far of a sample that is in flight (`trajectory.key`), in place of what was
  // saved of it before. Nothing happens when it is not in flight or above kMaxProgressBytes. Not synced: a
  // loss of power may take it, a killed process does not.
  absl::Status SaveProgress(const JobId& job, const Trajectory& trajectory);
  // in_flight -> column. FAILED_PRECONDITION when it is not in flight (ONCE).
  absl::Status SettleSample(const JobId& job, const SampleKey& sample, LedgerColumn column,
                            const std::string& reason);
  // A sample that is settled as quarantined; its attempts are counted here.
  absl::Status Quarantine(const JobId& job, const QuarantineView& sample);
  // Of the prompts in these rows; none: of all. Returns how many were in quarantine.
  absl::StatusOr<int64_t> ReleaseQuarantine(const JobId& job, const std::vector<uint64_t>& rows);
  // All of the group's samples that are in flight.
  absl::Status DropGroup(const JobId& job, Draw draw, LedgerColumn column, const std::string& reason);
  // All groups of the job; its attempts under way are cancelled.
  absl::Status CancelInFlight(const JobId& job, const std::string& reason);
  absl::Status RecordBatch(const JobId& job, PolicyVersion version, const std::vector<Draw>& draws);
  // The batch is trained: its samples in flight become trained by `step`.
  absl::Status CommitBatch(const JobId& job, const PolicyRef& policy, const std::vector<Draw>& draws,
                           const StepRecordView& record);
  // Like a batch without draws, which CommitBatch commits.
  // In place of a batch that is recorded for its version, whose samples are settled otherwise.
  absl::Status RecordRollBack(const JobId& job, const StoredRollback& rollback);
  // Forgets a batch that is recorded and not committed, unless it is a rollback's.
  absl::Status WithdrawBatch(const JobId& job, PolicyVersion version);
  // All samples of the draws from `first` on, whatever column they are in, become rolled_back.
  // FAILED_PRECONDITION when one of them is trained.
  absl::Status RollBackDraws(const JobId& job, Draw first, const std::string& reason);
  absl::Status AddEvaluationGroup(const JobId& job, int64_t step, const Group& group);
  absl::Status AddEvaluation(const JobId& job, const EvaluationView& evaluation);
  // In place of what was recorded of the version before.
  absl::Status RecordCanary(const JobId& job, const CanaryView& canary);
  absl::Status AddReplayStep(const JobId& job, const ReplayStepView& step);
  absl::Status AddEvent(const JobId& job, const JobEventView& event);
  absl::Status AddAttempt(const JobId& job, const AttemptStart& attempt);
  // `tokens`: completion tokens that came of it. Nothing happens when it has ended.
  absl::Status EndAttempt(const JobId& job, Draw draw, uint32_t number, AttemptOutcome outcome,
                          int64_t tokens, absl::Time ended);

 private:
  friend class Store;
  StoreTransaction(Database& db, Segments& groups, Segments& progress)
      : db_(db), groups_(groups), progress_(progress) {}
  absl::Status Count(const JobId& job, const char* column, int64_t by);
  absl::StatusOr<SegmentRef> Append(const Group& group);
  absl::Status ForgetProgress(const JobId& job, Draw draw);
  Database& db_;
  Segments& groups_;
  Segments& progress_;
  bool appended_ = false;     // to groups_
  std::vector<JobId> ended_;  // of which there may be something to tidy
};

}  // namespace sluice
