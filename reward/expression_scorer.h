// Judges whether a completion's answer is an arithmetic expression that uses each of the row's numbers
// exactly once and is worth its target (the countdown game).
#pragma once

#include "reward/item_scorer.h"

namespace sluice {

// The row's fields: "numbers" (or "nums"), 1 to 64 unsigned decimals, as a JSON list or with blanks or commas
// between; and "target", a number. Where these are absent or malformed the verdict is UNDECIDED.
//
// The answer is what the last <answer>...</answer> after the reasoning (</think>) holds, which the end of the
// text closes too; without the tag, all that follows the reasoning. Classes: right, wrong_value,
// wrong_numbers, malformed.
class ExpressionItemScorer final : public ItemScorer {
 public:
  ItemJudgement Judge(const ScoreItem& item) const override;
};

}  // namespace sluice
