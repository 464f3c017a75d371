// Finds the answer of a completion. Pure and thread-safe; linear in the completion's length.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "reward/math/extract/passage.h"

namespace sluice::math {

enum class ExtractionRule {
  kNone,
  kBoxed,
  kAnswerTag,  // <answer>...</answer>
  kFinalAnswer,
  kHashes,
  kAnswerIs,
  kLastFormula,  // of the last sentence that concludes something
  kLastNumber,
  kLastWords,
  kWhole
};
const char* ExtractionRuleName(ExtractionRule rule);

struct Extraction {
  ExtractionRule rule = ExtractionRule::kNone;
  std::string text;   // the bare answer; of several with "or" between them
  size_t offset = 0;  // of it in the completion
  std::vector<std::string>
      alternatives;    // several answers of which each has to be right: "8 or 9", "1/2 or 0.5"
  std::string listed;  // what the answer counts, "6 integers: 1, 2, 3, 4, 6, 12": says the same at length
  std::string
      restated;  // the same value again: "1.5 hours, which is 90 minutes"; counts where both are equal
  bool approximate = false;           // a whole number that is said to be about right
  bool aside = false;                 // stands behind a preposition: "the remainder by 7"
  const char* missing = "no answer";  // why there is none, if there is none
};

// What an answer has to be, by its reference answer as extracted.
Asked AskedBy(absl::string_view gold);

// The answer that a completion stands by, in what follows the last end of its reasoning (</think>); reasoning
// that is never closed holds none. An answer that its sentence denies is none; one that is taken back or
// corrected later gives way to the correction, and one beside which another is put has alternatives.
Extraction ExtractAnswer(absl::string_view completion, Asked asked = Asked::kValue);

// A reference answer: by a box or "####" where it has them, else the whole text.
Extraction ExtractGold(absl::string_view gold);

}  // namespace sluice::math
