// Judges whether a completion is an arithmetic expression that uses each of the prompt's numbers exactly once
// and is worth its target.
#pragma once

#include "reward/item_scorer.h"

namespace sluice {

// The prompt's fields: "numbers", at most 64 unsigned decimals with spaces between, and "target", a number.
// Where these are absent or malformed the verdict is UNDECIDED.
class ExpressionItemScorer final : public ItemScorer {
 public:
  ItemJudgement Judge(const ScoreItem& item) const override;
};

}  // namespace sluice
