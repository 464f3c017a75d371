// Judges the form of a completion: whether a regular expression is found in it.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "reward/item_scorer.h"

namespace sluice {

// PCRE2, "." matches line ends, invalid UTF-8 matches nothing. A search that takes more than a fixed number
// of steps is UNDECIDED; the number does not depend on the machine.
class RegexItemScorer final : public ItemScorer {
 public:
  // INVALID_ARGUMENT says what is wrong with the pattern and where.
  static absl::StatusOr<std::unique_ptr<ItemScorer>> Create(const std::string& pattern);
  ~RegexItemScorer() override;
  ItemJudgement Judge(const ScoreItem& item) const override;

 private:
  RegexItemScorer(void* code, std::string pattern) : code_(code), pattern_(std::move(pattern)) {}
  void* code_;  // pcre2_code, owned; read-only while matching
  std::string pattern_;
};

}  // namespace sluice
