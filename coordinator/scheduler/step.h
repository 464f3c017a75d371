// One step of the scheduler while it is being taken: the state, the time and the actions so far. Only for
// scheduler*.cc. Handlers take in facts; Advance then decides whatever can be decided. Who changes a group or
// a worker calls Place for it before the handler returns.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/guard.h"
#include "coordinator/scheduler/scheduler.h"

namespace sluice {

class SchedulerStep {
 public:
  SchedulerStep(SchedulerState& state, absl::Time now);

  void On(const TickEvent&) {}
  void On(const RolloutUp& e);
  void On(const RewardUp& e);
  void On(const LearnerUp& e);
  void On(const WorkerDown& e);
  void On(const PolicyLoaded& e);
  void On(const SampleArrived& e);
  void On(const GenerateEnded& e);
  void On(const RecordedTaken& e);
  void On(const ScoreEnded& e);
  void On(const LearnerDone& e);
  void On(const EvaluationScored& e);
  void On(const CanaryScored& e);
  void On(const PauseEvent&);
  void On(const ResumeEvent&);
  void On(const CancelEvent&);
  void On(const StandDownEvent&);
  void Advance();
  std::vector<Action> Take() { return std::move(actions_); }

 private:
  static constexpr absl::Duration kGrace = absl::Seconds(2);  // that a call has to report its own deadline

  bool ended() const { return s_.end != JobEnd::kNone; }
  bool evaluation_due() const;
  // Also what an evaluation or a canary decides: nothing steps past it before.
  bool evaluating() const {
    return s_.evaluation || evaluation_due() || OnTrial(s_) || s_.unjudged != kNoPolicyVersion ||
           s_.promoting != kNoPolicyVersion;
  }
  void Do(Action action) { actions_.push_back(std::move(action)); }

  // The index (scheduler.cc).
  using Workers = std::map<std::string, WorkerState>;
  WorkerIndex& IndexOf(const Workers& workers) {
    return &workers == &s_.rollout ? s_.index.rollout : s_.index.reward;
  }
  void Place(const GroupKey& key, GroupState& group) { s_.index.groups.Place(key, group); }
  void Place(Workers& workers, const std::string& name);
  void EraseGroup(const GroupKey& key);
  void WakeRested(Workers& workers);

  enum class TryFailure { kError, kLost, kBusy };

  // Workers that come and go, and what they do (workers.cc).
  void Welcome(Workers& workers, const std::string& name, WorkerState worker);
  // `why`: what becomes of the attempts; their samples are not blamed but for kLost.
  void LoseWorker(Workers& workers, const std::string& name, TryFailure why = TryFailure::kLost);
  void BeginCall(Workers& workers, const std::string& name, uint64_t id);
  void EndCall(Workers& workers, const std::string& name, uint64_t id);
  void Rest(Workers& workers, const std::string& name);
  PolicyVersion WantedVersion() const;
  PolicyRef RefOf(PolicyVersion version) const;
  void LoadPolicies();
  bool LoadFromSomeone(const std::string& name, PolicyVersion version);
  void StartLoading(const std::string& name, WorkerState& worker, PolicyVersion version,
                    const std::string& source);
  std::string StopLoading(WorkerState& worker);
  void ExpireLoads();

  // Attempts and calls of the reward (attempts.cc).
  const std::string* PickRollout(const VersionRange& versions, const std::string& except = "") const;
  const std::string* PickFor(const GroupKey& key, const std::string& except = "") const;
  bool StartAttempt(const GroupKey& key);
  void StartAttempt(const GroupKey& key, GroupState& group, const std::string& worker,
                    std::set<uint32_t> indices);
  AttemptState RemoveAttempt(uint64_t id, AttemptOutcome outcome);
  void CancelAttempts(const GroupState& group);
  void EndAttempt(uint64_t id, AttemptOutcome outcome, TryFailure failure, const std::string& error);
  void Retry(const SampleRef& ref, SampleSlot& slot, TryFailure failure, const std::string& error);
  void ExpireCalls();

  // Attempts and groups that take long (stragglers.cc).
  void DispatchHedges();
  bool ComesFromAnother(const GroupState& group, uint32_t index) const;
  void TakeFromOthers(const GroupKey& key, GroupState& group, uint64_t first, uint32_t index);
  void StartGroupClocks();
  void ExpireGroups();
  void GoOnWithout(const GroupKey& key, GroupState& group);
  void CancelOverSampled();

  // Groups and samples (groups.cc), and who makes and judges them (dispatch.cc).
  static std::string WithDetail(const char* reason, const std::string& detail) {
    return detail.empty() ? reason : absl::StrCat(reason, ": ", detail);
  }
  bool JudgeAgain(const SampleRef& ref, SampleSlot& slot, const std::string& error);
  void QueueScore(const SampleRef& ref, SampleSlot& slot);
  void Lose(const SampleRef& ref, LedgerColumn column, const std::string& reason, int32_t tries = 0);
  void SettleLost(const GroupKey& key, GroupState& group);
  void NoteRetried(const SampleRef& ref, const std::string& error);
  void RequeueScores(uint64_t call, bool blame_checker);
  void GoesAway(const std::string& worker, const std::string& why);
  void TakeHealth(const std::string& worker, const std::vector<Judged>& verdicts);
  void WatchReward();
  void SampleChanged(const GroupKey& key);
  void FinishGroup(const GroupKey& key, GroupState& group);
  void Complete(const GroupKey& key, GroupState& group);
  void FinishWithoutRewards(const GroupKey& key, GroupState& group);
  void Drop(const GroupKey& key, LedgerColumn column, const std::string& reason);
  void CountDrop(LedgerColumn column, const std::string& reason);
  void Dispatch();
  void DispatchPending();
  void DispatchEvaluation();
  std::pair<int64_t, int64_t> NextHeldOut() const;
  void DispatchNew();
  void DispatchNewGroups();
  void DispatchFixedDraws();
  bool PassOverBarred();                    // barred.cc
  bool BeginReplayed(const GroupKey& key);  // replay.cc
  void CloseReplayedBatch();
  void Issue(PolicyVersion train_by);
  void DispatchScores();
  std::vector<SampleRef> TakeToScore();
  void FindCompleteBelow();

  // Versions, learner, evaluation (learner.cc).
  void DriveLearner();
  void DriveTraining();
  void MakeDurable();
  void Call(LearnerOp op, int64_t number, std::vector<Draw> draws = {});
  void LearnerFailed(const LearnerDone& e);
  void LearnerOpened(const LearnerDone& e);
  void CameOutDifferent(const std::string& why);
  void ForkFrom(PolicyVersion checkpoint);
  void PauseForLost(const std::string& why, PolicyVersion last);
  void Redo();
  void Commit(const PolicyRef& policy, bool checkpointed);
  void Advanced(const PolicyRef& policy);
  void Added(const std::vector<Draw>& draws);
  void ForgetAdded();
  void DriveEvaluation();
  void EndEvaluation();
  // The trial of a new version (canary.cc).
  bool trying() const;
  const std::string* FreeCanary() const;
  void ChooseCanary();
  void RetireCanary();
  void LoadCanary();
  void TakeRefused();
  void CanaryRolledBack();
  // What follows from the job's signals (guard.cc).
  void JudgeStep(PolicyVersion version, const std::map<std::string, double>& metrics);
  void Breached(const Breach& breach);
  void PauseByGuard(const std::string& why);
  void PauseFor(std::string why);  // which says what a person can do
  void BeginRollBack(const Breach& breach);
  void GoBack(PolicyVersion parent, const std::string& why, bool by_guard);
  void GiveUpEvaluation();
  std::vector<GroupKey> GroupKeys() const;
  void RollBackGroups(const std::string& reason);
  void RollBackFixedDraws(const std::string& reason);
  void CallRollBack(const Fork& fork);
  void RolledBack(const PolicyRef& policy);
  void MaybeSucceed();
  void End(JobEnd end, const std::string& error);
  static void Backoff(absl::Time now, absl::Time& not_before, absl::Duration& backoff);

  // Batches (batch.cc).
  std::vector<Draw> MissingAtLearner() const;
  void CloseBatch();
  void CloseFixedBatch();
  int64_t Overdue() const;
  bool DropOrWaitForDue();
  void DropFirstOpen(int64_t count);

  SchedulerState& s_;
  const absl::Time now_;
  std::vector<Action> actions_;
};

}  // namespace sluice
