// One rank's part in the gang of a learner's ranks. On a thread of its own it finds the other ranks, makes
// this rank's trainer, and on ranks other than 0 executes the commands of rank 0. On rank 0 it is the Trainer
// port: UNAVAILABLE until all ranks are there. A gang that breaks is not mended: the process is to end, and
// all ranks start again under a new epoch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/comm/collectives.h"
#include "core/comm/key_value.h"
#include "core/rl/trainer.h"
#include "core/weights/policy_store.h"
#include "learner/trainer.h"
#include "prometheus/registry.h"
#include "services/host/stop_control.h"
#include "services/learner/gang_pulse.h"

namespace sluice {

struct LearnerRankOptions {
  int rank = 0, world = 1;
  int64_t epoch = 0;    // of the gang
  std::string address;  // where this rank serves; its host is what collectives listen on
  absl::Duration connect_timeout = absl::Minutes(2);
  absl::Duration silence_limit = absl::Seconds(20);  // a rank not heard of for so long is lost
  TrainerOptions trainer;                            // collectives are filled in here
  KeyValue* store = nullptr;                         // borrowed
  // Called once, on a thread of the rank, when its work has ended or is to end: OK in order, else why.
  std::function<void(const absl::Status&)> on_end;
};

class LearnerRank final : public Trainer {
 public:
  LearnerRank(LearnerRankOptions options, prometheus::Registry& registry);
  ~LearnerRank() override;

  // Ends the rank's work in order: rank 0 lets the step under way end, for which the stop is given time in
  // proportion to it, and makes a checkpoint of what it trained since the last one; the others ask rank 0 to
  // let them go. What cannot be interrupted (a rank that waits for one that is lost) is left behind: the
  // process then ends here. Not OK: the checkpoint that was due was not made.
  absl::Status Stop(StopControl& stop);

  absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec& spec) override;
  absl::StatusOr<StepMetrics> Supervise(const JobId& job, int64_t step,
                                        absl::Span<const SupervisedExample> batch) override;
  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) override;
  absl::Status AddGroup(const JobId& job, PolicyVersion version, const Group& group) override;
  absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version,
                                  absl::Span<const Draw> draws) override;
  absl::StatusOr<PolicyRef> RollBack(const JobId& job, PolicyVersion parent, PolicyVersion version) override;
  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion version) override;
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId& job) override;
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) override;
  absl::Status Export(const JobId& job, PolicyVersion version, const std::string& path) override;
  absl::Status Forget(const JobId& job) override;

 private:
  void Run();
  absl::Status Work();
  absl::Status Connect();
  absl::Status WatchHealth();
  void WatchPulse();
  void End(const absl::Status& status);
  absl::Status CheckpointUnsaved(StopControl& stop);
  // Lets the call of the trainer that is under way end.
  absl::Status AwaitStep(StopControl& stop);
  void LeaveGang(StopControl& stop);
  void NoteSaved(const JobId& job, bool saved);
  absl::StatusOr<LocalTrainer*> trainer() const;

  const LearnerRankOptions options_;
  prometheus::Registry& registry_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<LocalTrainer> local_;  // set once, by the gang's thread, before ready_
  mutable absl::Mutex mu_;
  bool ready_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;        // the gang's thread
  bool told_ ABSL_GUARDED_BY(mu_) = false;         // on_end
  int steps_ ABSL_GUARDED_BY(mu_) = 0;             // under way; a call that was repeated may be a second one
  absl::Time step_began_ ABSL_GUARDED_BY(mu_);     // the first of those under way
  absl::Duration last_step_ ABSL_GUARDED_BY(mu_);  // how long it took
  absl::Status lost_ ABSL_GUARDED_BY(mu_);         // a rank that was not heard of
  JobId unsaved_job_ ABSL_GUARDED_BY(mu_);         // trained since its last checkpoint; empty: none
  std::unique_ptr<GangPulse> pulse_;               // set by the gang's thread, before ready_
  std::thread thread_;
};

}  // namespace sluice
