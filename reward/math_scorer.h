// Judges a numeric answer against the prompt's field "answer", exactly, as rational numbers.
#pragma once

#include "reward/item_scorer.h"

namespace sluice {

// UNDECIDED where the field is absent or no number, or a number is longer than kMaxDigits. A completion
// without a number is WRONG.
class MathItemScorer final : public ItemScorer {
 public:
  ItemJudgement Judge(const ScoreItem& item) const override;
};

}  // namespace sluice
