// One step of the scheduler while it is being taken: the state, the time and the actions so far. Only for
// scheduler*.cc. Handlers take in facts; Advance then decides whatever can be decided.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/scheduler.h"
#include "coordinator/scheduler_guard.h"

namespace sluice {

class SchedulerStep {
 public:
  SchedulerStep(SchedulerState& state, absl::Time now) : s_(state), now_(now) {}

  void On(const TickEvent&) {}
  void On(const RolloutUp& e);
  void On(const RewardUp& e);
  void On(const LearnerUp& e);
  void On(const WorkerDown& e);
  void On(const PolicyLoaded& e);
  void On(const SampleArrived& e);
  void On(const GenerateEnded& e);
  void On(const ScoreEnded& e);
  void On(const LearnerDone& e);
  void On(const EvaluationScored& e);
  void On(const PauseEvent&);
  void On(const ResumeEvent&);
  void On(const CancelEvent&);
  void On(const StandDownEvent&);
  void Advance();
  std::vector<Action> Take() { return std::move(actions_); }

 private:
  bool ended() const { return s_.end != JobEnd::kNone; }
  bool evaluation_due() const;
  // Also what an evaluation decides: nothing steps past it before.
  bool evaluating() const {
    return s_.evaluation || evaluation_due() || s_.unjudged != kNoPolicyVersion ||
           s_.promoting != kNoPolicyVersion;
  }
  void Do(Action action) { actions_.push_back(std::move(action)); }

  // Groups and samples (scheduler_groups.cc), and who makes and judges them (scheduler_dispatch.cc).
  enum class TryFailure { kError, kLost, kBusy };
  void EndAttempt(uint64_t id, TryFailure failure, const std::string& error);
  void Retry(const SampleRef& ref, SampleSlot& slot, TryFailure failure, const std::string& error);
  bool JudgeAgain(const SampleRef& ref, SampleSlot& slot, const std::string& error);
  void Lose(const SampleRef& ref, LedgerColumn column, const std::string& reason);
  void SettleLost(const GroupKey& key, GroupState& group);
  void NoteRetried(const SampleRef& ref, const std::string& error);
  // `why`: what becomes of the attempts; their samples are not blamed but for kLost.
  void LoseWorker(std::map<std::string, WorkerState>& workers, const std::string& name,
                  TryFailure why = TryFailure::kLost);
  void RequeueScores(uint64_t call, bool blame_checker);
  void SampleChanged(const GroupKey& key);
  void FinishGroup(const GroupKey& key, GroupState& group);
  void FinishWithoutRewards(const GroupKey& key, GroupState& group);
  void Drop(const GroupKey& key, LedgerColumn column, const std::string& reason);
  void CountDrop(LedgerColumn column, const std::string& reason);
  void ExpireCalls();
  void Dispatch();
  void DispatchPending();
  void DispatchEvaluation();
  void DispatchNew();
  void DispatchNewGroups();
  void DispatchFixedDraws();
  bool PassOverBarred();                    // scheduler_barred.cc
  bool BeginReplayed(const GroupKey& key);  // scheduler_replay.cc
  void CloseReplayedBatch();
  void Issue(PolicyVersion train_by, const VersionRange& versions);
  void DispatchScores();
  bool StartAttempt(const GroupKey& key, const VersionRange& versions);
  std::string PickRollout(const VersionRange& versions) const;
  int64_t Outstanding() const;
  void FindCompleteBelow();
  PolicyVersion WantedVersion() const;
  PolicyRef RefOf(PolicyVersion version) const;
  void LoadPolicies();
  std::deque<std::string> FreeSources(PolicyVersion wanted) const;

  // Versions, learner, evaluation (scheduler_learner.cc).
  void DriveLearner();
  void DriveTraining();
  void MakeDurable();
  void CloseBatch();
  void CloseFixedBatch();
  std::vector<std::pair<PolicyVersion, Draw>> ReadyGroups() const;
  std::vector<GroupKey> Overdue(const std::vector<std::pair<PolicyVersion, Draw>>& ready) const;
  bool DropOrWaitForDue(const std::vector<std::pair<PolicyVersion, Draw>>& ready);
  void Call(LearnerOp op, int64_t number, std::vector<Draw> draws = {});
  void LearnerFailed(const LearnerDone& e);
  void LearnerOpened(const LearnerDone& e);
  void Redo();
  void Commit(const PolicyRef& policy, bool checkpointed);
  void Advanced(const PolicyRef& policy);
  void DriveEvaluation();
  // What follows from the job's signals (scheduler_guard.cc).
  void JudgeStep(PolicyVersion version, const std::map<std::string, double>& metrics);
  void Breached(const Breach& breach);
  void PauseByGuard(const std::string& why);
  void BeginRollBack(const Breach& breach);
  void RollBackGroups(const std::string& reason);
  void RollBackFixedDraws(const std::string& reason);
  void CallRollBack(const Fork& fork);
  void RolledBack(const PolicyRef& policy);
  void MaybeSucceed();
  void End(JobEnd end, const std::string& error);
  static void Backoff(absl::Time now, absl::Time& not_before, absl::Duration& backoff);

  SchedulerState& s_;
  const absl::Time now_;
  std::vector<Action> actions_;
};

}  // namespace sluice
