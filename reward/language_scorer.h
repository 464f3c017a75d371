// Judges whether a completion is written in the script of the language that is asked for.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "reward/item_scorer.h"
#include "reward/script.h"

namespace sluice {

// The share of letters that are of the language's script, outside code (fences and backticks), formulas
// ($...$, $$...$$, \(...\), \[...\]), LaTeX commands and tags (<think>). CORRECT at 1, WRONG at 0, GRADED
// between. What has no letters is in no language: 0, so that silence, digits and symbols never pay. Languages
// that share a script (English, French) are not told apart. Classes: in_language, mixed, other_language,
// no_letters.
class LanguageItemScorer final : public ItemScorer {
 public:
  // INVALID_ARGUMENT: a language whose script is not known here.
  static absl::StatusOr<std::unique_ptr<ItemScorer>> Create(const LanguageScorerSpec& spec);
  ItemJudgement Judge(const ScoreItem& item) const override;

 private:
  explicit LanguageItemScorer(std::vector<Script> scripts) : scripts_(std::move(scripts)) {}
  const std::vector<Script> scripts_;
};

}  // namespace sluice
