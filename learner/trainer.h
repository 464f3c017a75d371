// The learner: trains a policy on groups and publishes versions. Rank 0 offers the Trainer port; every call
// that needs the other ranks is broadcast to them as a command, which they execute in RunFollower(). No
// LibTorch in this header.
//
// When a collective fails the gang is broken: every later call fails with UNAVAILABLE, health() says why,
// RunFollower returns, and the processes are to end so that the gang is started again; Open() then resumes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/comm/collectives.h"
#include "core/rl/trainer.h"
#include "core/weights/policy_store.h"
#include "prometheus/registry.h"

namespace sluice {

struct TrainerOptions {
  std::string state_dir;  // checkpoints lie in state_dir/<job>/checkpoints; rank 0 only
  Collectives* collectives =
      nullptr;      // borrowed; one thread of this rank at a time is the trainer's business
  int threads = 1;  // of this rank, for kernels and LibTorch; part of what makes results repeat
  PolicyStore* policies = nullptr;  // borrowed; rank 0 only
  std::string source;       // stamped in PolicyRef: the weight service's "host:port"; empty: the store's own
  std::string incarnation;  // changes with each start of the process
  absl::Duration collective_timeout =
      absl::Minutes(10);                         // the longest that one rank may be behind the others
  absl::Duration keep_alive = absl::Seconds(5);  // an idle gang exchanges a command this often
  int max_pending_groups = 65536;                // handed over and not trained on yet
};

class LocalTrainer final : public Trainer {
 public:
  static absl::StatusOr<std::unique_ptr<LocalTrainer>> Create(const TrainerOptions& options,
                                                              prometheus::Registry& registry);
  // On rank 0: lets the followers return. The other ranks' threads must be in RunFollower or gone.
  ~LocalTrainer() override;

  // On ranks other than 0: executes rank 0's commands until it shuts down (OK) or the gang breaks (why).
  absl::Status RunFollower();
  // OK, or why the gang is broken and the process should end.
  absl::Status health() const;

  // On rank 0. Thread-safe; calls take turns.
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
  class Impl;
  explicit LocalTrainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
