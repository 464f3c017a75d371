// The port to the learner. Implementations: the trainer (learner/), the gRPC client (services/clients), a
// fake (tests/fakes). One job at a time; calls do not overlap. All calls are safe to repeat with the same
// arguments.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"

namespace sluice {

// Where a learner stands with a job.
struct TrainerState {
  std::string incarnation;       // changes when the learner was restarted: what was not checkpointed is gone
  int64_t warm_start_steps = 0;  // supervised steps in the current weights
  PolicyVersion version = kNoPolicyVersion;  // last published; kNoPolicyVersion before the first
  PolicyRef policy;                          // of `version`
};

// One row of supervised training: cross-entropy on tokens[prompt_size..).
struct SupervisedExample {
  std::vector<int32_t> tokens;
  int32_t prompt_size = 0;
};

struct StepMetrics {
  // By the names that the metrics endpoint uses without prefix, e.g. "loss", "kl", "entropy",
  // "clip_fraction", "grad_norm", "learning_rate", "ratio_mean", "exact_compared", "exact_max_difference",
  // "tokens", "step_seconds", "skipped_nonfinite" (0 or 1).
  std::map<std::string, double> values;
};

struct StepResult {
  PolicyRef policy;  // the new version
  StepMetrics metrics;
  bool checkpointed = false;  // a full checkpoint of the new version is durable
};

struct CheckpointInfo {
  PolicyVersion version = kNoPolicyVersion;
  std::string path;
  int64_t bytes = 0;
  absl::Time created;
};

class Trainer {
 public:
  virtual ~Trainer() = default;

  // Starts a job, or resumes it from its newest complete checkpoint. Later calls return the current state.
  virtual absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec& spec) = 0;

  // Supervised optimizer step number `step` (0, 1, ...): FAILED_PRECONDITION when it is not the next one. No
  // version is published.
  virtual absl::StatusOr<StepMetrics> Supervise(const JobId& job, int64_t step,
                                                absl::Span<const SupervisedExample> batch) = 0;

  // Publishes the current weights as version 0, the frozen reference of the KL term, with a checkpoint.
  // Again: the same.
  virtual absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) = 0;

  // Hands over a group of the batch that will make `version`. Groups may be sent again: the last one of a
  // draw counts.
  virtual absl::Status AddGroup(const JobId& job, PolicyVersion version, const Group& group) = 0;

  // Trains on the groups `draws` (all handed over for `version`, any order; training is in the order given),
  // publishes the result as `version`, and returns when its tensors and manifest are durable. `version` must
  // be the last one + 1. A version that is published already returns its result again. FAILED_PRECONDITION
  // names missing draws.
  virtual absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version,
                                          absl::Span<const Draw> draws) = 0;

  // Goes back to the full checkpoint of `parent`, weights and optimizer, and publishes it as `version`, above
  // all versions so far; a full checkpoint of `version` is durable when this returns. Groups handed over are
  // forgotten. Again: the same. NOT_FOUND, DATA_LOSS: there is no such checkpoint, or it is damaged. After
  // any error the job is to be opened again.
  virtual absl::StatusOr<PolicyRef> RollBack(const JobId& job, PolicyVersion parent,
                                             PolicyVersion version) = 0;

  // Makes the full checkpoint of `version`, the last one, durable, and keeps it until another is promoted,
  // whatever checkpoint.keep says. Again: the same.
  virtual absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion version) = 0;

  // Makes the last version's full checkpoint durable.
  virtual absl::StatusOr<CheckpointInfo> Checkpoint(const JobId& job) = 0;
  virtual absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) = 0;

  // Writes the last version (or `version`) as a Hugging Face directory; `path` must not exist or be empty.
  virtual absl::Status Export(const JobId& job, PolicyVersion version, const std::string& path) = 0;

  // Removes all that is kept of the job; the open one is closed first. OK where nothing is kept of it.
  virtual absl::Status Forget(const JobId& job) = 0;
};

}  // namespace sluice
