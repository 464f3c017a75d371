// Judges how much a completion repeats itself (the n-gram penalty of "Demystifying Long Chain-of-Thought
// Reasoning", arXiv 2502.03373).
#pragma once

#include "reward/item_scorer.h"

namespace sluice {

// -scale * (n-grams that occurred before / n-grams). Words are separated by blanks, in small letters where
// they are ASCII; a Han, Hiragana, Katakana or Hangul character is a word of its own. CORRECT at 0 (also for
// fewer words than an n-gram has), GRADED below.
class RepetitionItemScorer final : public ItemScorer {
 public:
  explicit RepetitionItemScorer(const RepetitionScorerSpec& spec) : spec_(spec) {}
  ItemJudgement Judge(const ScoreItem& item) const override;

 private:
  const RepetitionScorerSpec spec_;
};

}  // namespace sluice
