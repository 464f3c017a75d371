// Full checkpoints of a job: everything that training goes on from, independent of the number of ranks.
//
//   ROOT/<version>/masters.safetensors, moment1.safetensors, moment2.safetensors   float32, by hub name
//   ROOT/<version>/trainer.json                                                    counters and names
//   ROOT/<version>/manifest.json                                                   size and SHA-256 of each;
//   written last
//   ROOT/promoted                                                                  the version that is kept
//   whatever comes after it
//
// A checkpoint appears by one rename after everything in it is durable. One process writes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/trainer.h"
#include "learner/parameters.h"
#include "learner/replica.h"

namespace sluice {

constexpr int kCheckpointFormat = 1;

struct CheckpointContent {
  JobId job;
  PolicyVersion version = kNoPolicyVersion;
  PolicyVersion parent = kNoPolicyVersion;  // that it was made of
  std::string manifest_hash;                // of the version
  std::string
      spec_hash;  // of the LearningSpec: a checkpoint goes on only with the spec that it was made with
  int64_t warm_start_steps = 0;
  std::map<PolicyVersion, std::string> known_hashes;  // of versions that trajectories may name
  std::map<PolicyVersion, StepMetrics> results;       // of the last steps
  TrainingState state;
};

absl::StatusOr<CheckpointInfo> WriteCheckpoint(const std::string& root, const ParameterLayout& layout,
                                               const CheckpointContent& content);
// The complete ones, oldest first (by version). Sizes are checked, hashes are not.
absl::StatusOr<std::vector<CheckpointInfo>> FindCheckpoints(const std::string& root);
// The newest that is whole; damaged ones are logged and skipped (`damaged` counts them). Nothing: there is
// none. FAILED_PRECONDITION when the newest was written by a newer program.
absl::StatusOr<std::optional<CheckpointContent>> ReadNewestCheckpoint(const std::string& root,
                                                                      const ParameterLayout& layout,
                                                                      int* damaged);
// That of one version. NOT_FOUND, DATA_LOSS.
absl::StatusOr<CheckpointContent> ReadCheckpoint(const std::string& root, const ParameterLayout& layout,
                                                 PolicyVersion version);

// Which version is kept whatever comes after it; kNoPolicyVersion: none.
absl::StatusOr<PolicyVersion> ReadPromoted(const std::string& root);
absl::Status WritePromoted(const std::string& root, PolicyVersion version);

struct CheckpointRetention {
  int newest = 1;                             // so many are kept
  PolicyVersion from = kNoPolicyVersion;      // all from this version on; kNoPolicyVersion: no more
  PolicyVersion promoted = kNoPolicyVersion;  // and this one
};
// Removes all others, and what interrupted writes left behind.
absl::Status PruneCheckpoints(const std::string& root, const CheckpointRetention& keep);

}  // namespace sluice
