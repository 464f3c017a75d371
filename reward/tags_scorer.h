// Judges whether a completion has its parts framed by tags.
#pragma once

#include "reward/item_scorer.h"

namespace sluice {

// A tag stands as asked when <tag> and </tag> occur exactly once each, in this order, and something that
// shows stands between them. The value is the share of things asked for that are so: the tags in the longest
// run of them that keeps the order without overlap and, with nothing_outside, that there is nothing but
// blanks outside them. CORRECT when it is 1, WRONG when it is 0; with all_or_nothing never between. Classes:
// as_asked, missing_tag (also one that is given twice or out of order), empty_tag, text_outside.
class TagsItemScorer final : public ItemScorer {
 public:
  explicit TagsItemScorer(TagsScorerSpec spec) : spec_(std::move(spec)) {}
  ItemJudgement Judge(const ScoreItem& item) const override;

 private:
  const TagsScorerSpec spec_;
};

}  // namespace sluice
