// What judges one component of a reward. Immutable once made; thread-safe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/rl/scorer.h"

namespace sluice {

struct ItemJudgement {
  VerdictKind kind = VerdictKind::kUnspecified;
  double value = 0;
  std::string detail;  // ASCII; quoted pieces of a completion are escaped and cut
  // As in VerdictComponent.
  std::string outcome;
  std::vector<TestResult> tests;
  std::vector<StepScore> steps;
  std::vector<std::string> stamps;
};

class ItemScorer {
 public:
  virtual ~ItemScorer() = default;
  // Never fails: what it cannot decide is UNDECIDED, and the detail says why.
  virtual ItemJudgement Judge(const ScoreItem& item) const = 0;
};

inline ItemJudgement Correct(std::string detail) { return {VerdictKind::kCorrect, 1, std::move(detail)}; }
inline ItemJudgement Wrong(std::string detail) { return {VerdictKind::kWrong, 0, std::move(detail)}; }
inline ItemJudgement Undecided(std::string detail) { return {VerdictKind::kUndecided, 0, std::move(detail)}; }
inline ItemJudgement Infrastructure(std::string detail) {
  return {VerdictKind::kInfrastructure, 0, std::move(detail)};
}

}  // namespace sluice
