// Judges the length of a completion (the soft overlong punishment of DAPO, arXiv 2503.14476, eq. 13, in
// characters).
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "reward/item_scorer.h"

namespace sluice {

// 0 and CORRECT up to soft_limit characters, then GRADED, falling linearly, to -1 and WRONG from hard_limit
// on. A character is a Unicode code point; each byte of invalid UTF-8 counts as one.
class LengthItemScorer final : public ItemScorer {
 public:
  static absl::StatusOr<std::unique_ptr<ItemScorer>> Create(const LengthScorerSpec& spec);
  ItemJudgement Judge(const ScoreItem& item) const override;

 private:
  explicit LengthItemScorer(const LengthScorerSpec& spec) : spec_(spec) {}
  LengthScorerSpec spec_;
};

// Code points of `text`.
int64_t CountCharacters(const std::string& text);

}  // namespace sluice
