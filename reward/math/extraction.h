// Finds the answer of a completion. Pure and thread-safe; linear in the completion's length.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::math {

enum class ExtractionRule {
  kNone,
  kBoxed,
  kAnswerTag,  // <answer>...</answer>
  kFinalAnswer,
  kHashes,
  kAnswerIs,
  kLastFormula,
  kLastNumber,
  kWhole
};
const char* ExtractionRuleName(ExtractionRule rule);

struct Extraction {
  ExtractionRule rule = ExtractionRule::kNone;
  std::string text;   // the bare answer
  size_t offset = 0;  // of it in the completion
};

// A completion's answer. What stands in a reasoning section (<think>...</think>) counts only where nothing
// follows it.
Extraction ExtractAnswer(absl::string_view completion);

// A reference answer: by a box or "####" where it has them, else the whole text.
Extraction ExtractGold(absl::string_view gold);

}  // namespace sluice::math
