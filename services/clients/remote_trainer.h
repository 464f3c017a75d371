// A learner in another process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/rl/trainer.h"
#include "services/rpc/peer.h"
#include "sluice/v1/learner.grpc.pb.h"

namespace sluice {

struct RemoteTrainerOptions {
  // Of calls that train, open, checkpoint or export; the job's timeout.train_seconds replaces it when a job
  // is opened.
  absl::Duration train_timeout = absl::Minutes(30);
  // Of listing checkpoints, and of handing over a group, which has a second more for every 8 MiB.
  absl::Duration short_timeout = absl::Seconds(60);
  // Sent with each call that changes something: a learner refuses those of an older coordinator than it has
  // heard of with ABORTED.
  uint64_t coordinator_epoch = 0;
  // Ends the call under way and every later one.
  CancelToken cancel;
};

class RemoteTrainer final : public Trainer {
 public:
  explicit RemoteTrainer(Peer peer, RemoteTrainerOptions options = {});

  absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec& spec) override;
  absl::StatusOr<StepMetrics> Supervise(const JobId& job, int64_t step,
                                        absl::Span<const SupervisedExample> batch) override;
  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) override;
  // In pieces of about 1 MiB. The deadline grows with the group. UNAVAILABLE: the learner is of an older
  // version of Sluice, which takes a group as one message.
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
  absl::Time TrainDeadline() const;
  absl::Time ShortDeadline() const;
  // A request that names the job and the coordinator's epoch.
  template <typename Request>
  Request RequestFor(const JobId& job) const;

  const Peer peer_;
  const RemoteTrainerOptions options_;
  mutable absl::Mutex mu_;  // a job is opened while clients list and export
  absl::Duration train_timeout_ ABSL_GUARDED_BY(mu_);
  const std::unique_ptr<v1::LearnerService::Stub> stub_;
};

}  // namespace sluice
