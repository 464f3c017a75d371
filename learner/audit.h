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

// The span of a token; null: there is none.
const VersionSpan* SpanAt(const TrainingSequence& s, int32_t position);

// Whether a forward with a span's version gives the span's log-probabilities again. Not where the recorded
// experts are of several versions: the engine went on with a cache that its new version had routed anew.
bool IsComparable(const TrainingSequence& s);

// Completions of one group of which some or all tokens were sampled at one older version.
struct AuditPiece {
  size_t group = 0;  // place in the batch
  PolicyVersion version = kNoPolicyVersion;
  std::string manifest_hash;
  std::vector<size_t> sequences;  // places in the group
  int64_t tokens = 0;             // of these completions, sampled at the version
};

// The pieces are taken in the order of a hash of their draw until the share is reached. `version` is the one
// that the step makes: of trajectories of `version` - 1 none is taken, nor of another kernel path than
// `kernel_path`.
std::vector<AuditPiece> PlanAudit(absl::Span<const TrainingGroup> groups, PolicyVersion version,
                                  const std::string& kernel_path);

}  // namespace sluice
