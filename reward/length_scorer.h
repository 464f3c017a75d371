// Judges the length of a completion (the soft overlong punishment of DAPO, arXiv 2503.14476, eq. 13).
#pragma once

#include <cstdint>
#include <string>

#include "reward/item_scorer.h"

namespace sluice {

// 0 and CORRECT up to soft_limit, then GRADED, falling linearly, to -1 and WRONG from hard_limit on. A
// character is a Unicode code point; each byte of invalid UTF-8 counts as one. UNDECIDED where tokens are
// asked for and their number is not given.
class LengthItemScorer final : public ItemScorer {
 public:
  explicit LengthItemScorer(const LengthScorerSpec& spec) : spec_(spec) {}
  ItemJudgement Judge(const ScoreItem& item) const override;

 private:
  const LengthScorerSpec spec_;
};

// Code points of `text`.
int64_t CountCharacters(const std::string& text);

}  // namespace sluice
