// The coordinator as one actor: a thread that owns the running jobs, and pools for the calls it makes. Only
// for coordinator*.cc; others see coordinator.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/coordinator.h"
#include "coordinator/inbox.h"
#include "coordinator/jobs/active_run.h"
#include "coordinator/jobs/job_views.h"
#include "coordinator/reporting/reporting.h"
#include "coordinator/store/metrics.h"
#include "coordinator/store/store.h"
#include "coordinator/workers/call_pool.h"
#include "coordinator/workers/work_orders.h"
#include "coordinator/workers/worker_registry.h"
#include "coordinator/workers/worker_shares.h"

namespace sluice {

// A rollout worker that is alive, and the run that it works for.
struct RolloutMember {
  RegisteredWorker member;
  uint64_t run = 0;   // 0, or that of a run that is over: none
  uint64_t turn = 0;  // rises when it is given to another, or registers again
};

class CoordinatorImpl final : public Coordinator {
 public:
  CoordinatorImpl(CoordinatorOptions options, std::unique_ptr<StoreMetrics> store_metrics,
                  std::shared_ptr<Store> store, std::vector<JobRow> rows);
  ~CoordinatorImpl() override;

  absl::StatusOr<JobId> Submit(const JobSpec& spec, const std::string& request_id,
                               const CancelToken& cancel) override;
  absl::StatusOr<CheckedJob> Check(const JobSpec& spec, const CancelToken& cancel) override;
  absl::StatusOr<JobView> Get(const JobId& job) override;
  absl::StatusOr<std::vector<JobView>> List(int64_t limit, const JobPlace& after) override;
  absl::StatusOr<JobView> WaitForChange(const JobId& job, uint64_t last_revision,
                                        absl::Duration timeout) override;
  std::vector<WorkerView> Workers() override;
  absl::StatusOr<JobView> Pause(const JobId& job) override;
  absl::StatusOr<JobView> Resume(const JobId& job) override;
  absl::StatusOr<JobView> Cancel(const JobId& job) override;
  absl::Status Delete(const JobId& job) override;
  absl::StatusOr<JobView> SetPriority(const JobId& job, int32_t priority) override;
  absl::Status ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                           const std::function<bool(const SampleView&)>& on_sample) override;
  absl::StatusOr<std::vector<AttemptView>> ListAttempts(const JobId& job, std::optional<Draw> draw,
                                                        int32_t limit) override;
  absl::StatusOr<std::vector<QuarantineView>> ListQuarantine(const JobId& job, int32_t limit) override;
  absl::StatusOr<int64_t> ReleaseQuarantine(const JobId& job, const std::vector<uint64_t>& rows) override;
  absl::StatusOr<std::vector<ReplayStepView>> ListReplaySteps(const JobId& job, PolicyVersion after,
                                                              int32_t limit) override;
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) override;
  absl::StatusOr<PolicyVersion> Export(const JobId& job, PolicyVersion version,
                                       const std::string& path) override;
  absl::StatusOr<Lease> JoinFleet(const WorkerOffer& offer) override;
  absl::Duration lease() const override { return registry_.lease(); }
  absl::StatusOr<Lease> RenewLease(const std::string& name, uint64_t epoch) override;
  absl::Status WorkerGone(const std::string& name, uint64_t epoch, const std::string& why) override;
  void TakeReports(std::vector<WorkReport> reports, std::function<void()> taken) override;
  void Drain(absl::Time deadline) override;
  void Shutdown() override;

 private:
  // The actor (coordinator_actor.cc). All of these run on its thread.
  void Loop();
  void Tick();
  void FailWaiting(const JobRow& row, const absl::Status& why);
  bool CommitWrites(ActiveRun& run, const std::vector<StoreWrite>& writes);
  void Flush();
  void FlushRun(ActiveRun& run);
  void FailRun(ActiveRun& run, const absl::Status& why);
  void FinishRun(ActiveRun& run);
  void RemoveRun(uint64_t number);
  void PublishRun(ActiveRun& run, const std::string& stalled);
  void PublishServed();
  ActiveRun* RunOf(uint64_t number);      // null: it is over
  ActiveRun* RunOfJob(const JobId& job);  // null: it does not run
  void Deliver(ActiveRun& run, const RegisteredWorker& member);
  void DeliverWorker(const RegisteredWorker& member);
  void LoseWorker(const RegisteredWorker& member, const std::string& reason);
  // Turns (coordinator_turns.cc).
  void TakeTurns();
  const std::vector<JobId>& TurnOrder();
  void WaitingChanged();
  ActiveRun* HolderOf(const std::string& learner);
  std::string FreeLearner(const JobRow& row);
  void GiveLearner(ActiveRun& run, const std::string& learner);
  bool ActivateOne();
  bool IsPrepared(const JobRow& row);
  void Activate(const JobId& job, const std::string& learner);
  void HoldBack(JobRow row, const absl::Status& why);
  bool IsHeldBack(const JobId& job) const;
  absl::Status TakeUp(const JobId& job);
  std::map<uint64_t, JobId> WhoYields();
  bool MakeRoom();
  void StandDown(ActiveRun& run, const JobId& to);
  void NoteWaiting(JobRow& row, absl::Time now, const std::string& text);
  std::string WaitsBehind(const JobRow& row);
  bool IsHeldUp(const ActiveRun& run) const;
  void PublishWaiting();
  // Workers and the jobs that they work for (coordinator_shares.cc).
  std::vector<ShareClaim> Claims() const;
  void ShareWorkers();
  void MoveWorker(const std::string& name, const JobId& job);
  void CountWorkers();
  void ShareRewards(size_t jobs);
  // The disk (coordinator_disk.cc).
  void WatchDisk();
  JobView WithLongWrite(JobView view) const;
  bool Fenced(const std::string& worker, uint64_t epoch);
  // Looks for waits that are too long (coordinator_stalls.cc). `store_error`: what keeps the store from
  // writing.
  void WatchStalls(ActiveRun& run, const std::string& store_error = "");
  void ReportStalls(absl::Time now);
  // Calls to workers (coordinator_calls.cc).
  void Start(ActiveRun& run, const TakeRecorded& a);
  void Start(ActiveRun& run, const StartGenerate& a);
  void Start(ActiveRun& run, const StartScore& a);
  void Start(ActiveRun& run, const StartLoad& a);
  void Start(ActiveRun& run, const StartLearner& a);
  void Start(ActiveRun& run, const CancelGenerate& a);
  template <typename StoreAction>
  void Start(ActiveRun&, const StoreAction&) {}  // done by the transaction
  // Orders to workers that dialled in (coordinator_work.cc).
  void Order(const ActiveRun& run, const StartGenerate& a, const RegisteredWorker& member,
             const RolloutRequest& request);
  void Order(const ActiveRun& run, const StartLoad& a, const RegisteredWorker& member,
             const PolicyRef& policy, uint64_t turn);
  void Take(WorkReport& report);
  void TakeSample(const WorkReport& report, WorkOrder& order, Trajectory trajectory);
  void TakeEnd(uint64_t number, absl::Status status);
  absl::Status ControlOnActor(const JobId& job, JobState wanted);
  absl::Status CancelWaiting(const JobId& job);
  absl::Status DeleteOnActor(const JobId& job);
  void ForgetDeleted(const std::string& learner);
  absl::Status SetPriorityOnActor(const JobId& job, int32_t priority);

  // Of a new job: fills in the steps of a replay, and checks that it can be made (coordinator_records.cc).
  absl::Status PrepareReplay(JobSpec& spec, const std::string& files_hash);
  // Fills in what the job begins with, and the learner that has it.
  absl::Status PrepareFrom(JobSpec& spec, std::string& learner);
  absl::Status CheckCheckpoint(const FromSpec& from);
  // Runs `body` on the actor and waits for it, at most ten seconds.
  absl::Status OnActor(std::function<absl::Status()> body);
  absl::StatusOr<JobView> Control(const JobId& job, JobState wanted);
  absl::StatusOr<RegisteredWorker> LearnerFor(const JobId& job);
  absl::StatusOr<JobView> Snapshot(const JobId& job) const;

  const CoordinatorOptions options_;
  const std::unique_ptr<StoreMetrics> store_metrics_;  // null: no registry
  const std::shared_ptr<Store>
      store_;  // shared with calls that read groups, which may outlive Shutdown's patience
  const std::shared_ptr<Inbox> inbox_;  // shared with calls under way
  WorkerRegistry registry_;
  JobViews views_;
  std::unique_ptr<CoordinatorMetrics> metrics_;  // null: no registry
  // A call waits only for its like.
  CallPool generate_pool_, score_pool_, load_pool_, learner_pool_, read_pool_;

  // Of the actor's thread.
  std::map<JobId, JobRow> waiting_;  // jobs that have not ended and do not run
  // Of jobs in waiting_ whose turn has come: what is read of the disk for them, by a thread of read_pool_.
  struct Prepared {
    uint64_t number = 0;  // of the reading; tells answers of one before
    bool ready = false;
    absl::StatusOr<std::unique_ptr<JobRun>> run = absl::UnavailableError("being read");
  };
  std::map<JobId, Prepared> prepared_;
  uint64_t last_reading_ = 0;
  // Of jobs in waiting_ that could not run: something is missing that may be brought back.
  struct HeldBack {
    std::string why;
    absl::Time until;  // real time; then they are tried again
    absl::Duration pause;
  };
  std::map<JobId, HeldBack> held_back_;
  std::vector<JobId> order_;                             // of submission; those in waiting_ and in runs_
  std::map<uint64_t, std::unique_ptr<ActiveRun>> runs_;  // by number
  uint64_t last_run_ = 0;                                // the number given last
  std::map<std::string, RegisteredWorker> learners_, rewards_;  // that are alive
  std::map<std::string, RolloutMember> rollouts_;               // too
  // Learners that are being told which jobs were deleted, and whether there may be more to tell.
  std::map<std::string, bool> forgetting_;
  std::map<std::string, absl::Time> forget_again_;  // real time; what they could not do
  std::map<std::string, int> learner_calls_;        // under way, by learner, of runs that are over too
  WorkOrders orders_;                               // under way with workers that dialled in
  std::string turns_;                               // what the waiting jobs were told last
  bool waiting_changed_ = false;                    // since then
  bool turns_due_ = true;                           // something changed that decides who runs
  std::vector<JobId> turn_order_;                   // of waiting_
  bool turn_order_stale_ = true;
  JobId told_last_;  // of waiting_, which are told piece by piece
  size_t left_to_tell_ = 0;
  WorkerShares shares_;
  std::vector<ShareClaim> claims_;  // that the workers were shared out by
  bool workers_changed_ = false;    // since then
  absl::Time last_tick_;            // of options_.tick_clock
  absl::Time served_looked_;        // real time
  absl::Time next_disk_look_;       // real time
  std::string low_disk_;            // why nothing new begins; empty: there is room
  bool draining_ = false;           // nothing new is begun

  absl::Mutex served_mu_;
  std::map<std::string, WorkerView> served_ ABSL_GUARDED_BY(served_mu_);  // version, in flight, job
  std::thread actor_;
};

}  // namespace sluice
