// Judges a mathematical answer against the row's: reward/math decides.
#pragma once

#include "core/rl/job_spec.h"
#include "reward/item_scorer.h"
#include "reward/math/verifier.h"

namespace sluice {

// COMPLETION: the completion with the row's field "answer"; PAIR: the field "prediction" with "gold".
// invalid_row where a field is absent, or the reference is empty. The outcome is the rule that decided. What
// cannot be read or decided is UNDECIDED, and the detail says which limit it met; a completion without an
// answer is WRONG, and so is one that repeats a formula of the prompt.
class MathItemScorer final : public ItemScorer {
 public:
  explicit MathItemScorer(MathScorerSpec spec = {}, math::EquivalenceOptions options = {})
      : spec_(spec), options_(options) {}
  ItemJudgement Judge(const ScoreItem& item) const override;

 private:
  MathScorerSpec spec_;
  math::EquivalenceOptions options_;
};

}  // namespace sluice
