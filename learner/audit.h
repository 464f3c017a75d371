// Which trajectories of a step are re-scored with the tensors of the older version that they were sampled
// with (invariant EXACT: where versions are equal the training forward compares for free). Pure: every rank
// makes the same plan, and so does a step that is redone. No LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "core/rl/types.h"
#include "learner/batch.h"

namespace sluice {

constexpr int64_t kAuditShare = 8;    // one completion token of this many, of a batch
constexpr size_t kAuditPieces = 4;    // at least, where the batch has them
constexpr size_t kAuditVersions = 2;  // at most, in one step

// Completions of one group that were sampled wholly at one older version.
struct AuditPiece {
  size_t group = 0;  // place in the batch
  PolicyVersion version = kNoPolicyVersion;
  std::string manifest_hash;
  std::vector<size_t> sequences;  // places in the group
  int64_t tokens = 0;             // of these completions
};

// The pieces are taken in the order of a hash of their draw until the share is reached. `version` is the one
// that the step makes: of trajectories of `version` - 1 none is taken, nor of another kernel path than
// `kernel_path`.
std::vector<AuditPiece> PlanAudit(absl::Span<const TrainingGroup> groups, PolicyVersion version,
                                  const std::string& kernel_path);

}  // namespace sluice
