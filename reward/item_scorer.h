// What judges one component of a reward. Immutable once made; thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/cancellation.h"
#include "core/rl/scorer.h"

namespace sluice {

struct ItemJudgement {
  VerdictKind kind = VerdictKind::kUnspecified;
  double value = 0;
  std::string detail;  // UTF-8; quoted pieces of a completion are Printable and cut
  // As in VerdictComponent: the class, which every scorer states.
  std::string outcome;
  std::vector<TestResult> tests;
  std::vector<StepScore> steps;
  std::vector<std::string> stamps;
};

// How long a judgement may take.
struct JudgeLimits {
  absl::Time deadline = absl::InfiniteFuture();
  CancelToken cancel;  // raised when nobody waits for the judgement any more
};

class ItemScorer {
 public:
  virtual ~ItemScorer() = default;
  // Never fails: what it cannot decide is UNDECIDED, and the detail says why.
  virtual ItemJudgement Judge(const ScoreItem& item) const = 0;
  // As Judge. What waits for something else (a sandbox) overrides it and gives up, INFRASTRUCTURE, soon after
  // the deadline or when cancelled; what only computes is bounded by itself.
  virtual ItemJudgement JudgeWithin(const ScoreItem& item, const JudgeLimits& limits) const {
    return Judge(item);
  }
};

// Judges many items at once by asking something far away.
class BatchScorer {
 public:
  virtual ~BatchScorer() = default;
  // Items of one call, at least 1.
  virtual size_t max_batch() const = 0;
  // One judgement for each item, in order. Never fails; returns soon after the deadline or when cancelled.
  virtual std::vector<ItemJudgement> Judge(absl::Span<const ScoreItem* const> items,
                                           const JudgeLimits& limits) const = 0;
};

inline ItemJudgement Correct(std::string detail, std::string outcome = "correct") {
  return {VerdictKind::kCorrect, 1, std::move(detail), std::move(outcome)};
}
inline ItemJudgement Wrong(std::string detail, std::string outcome = "wrong") {
  return {VerdictKind::kWrong, 0, std::move(detail), std::move(outcome)};
}
inline ItemJudgement Undecided(std::string detail, std::string outcome = "undecided") {
  return {VerdictKind::kUndecided, 0, std::move(detail), std::move(outcome)};
}
// The row lacks what the scorer needs, or it cannot be read. The detail names the field.
inline ItemJudgement InvalidRow(std::string detail) {
  return {VerdictKind::kUndecided, 0, std::move(detail), "invalid_row"};
}
inline ItemJudgement Infrastructure(std::string detail) {
  return {VerdictKind::kInfrastructure, 0, std::move(detail), "infrastructure"};
}

}  // namespace sluice
