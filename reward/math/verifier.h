// The whole judgement of a mathematical answer: extraction, reading, comparison. Pure and thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "reward/math/equal/equivalence.h"
#include "reward/math/extract/extraction.h"

namespace sluice::math {

struct Explanation {
  Decision decision;
  ExtractionRule extracted_by = ExtractionRule::kNone;
  std::string gold, prediction;  // as extracted, at most 4 KiB
  bool answered = true;          // false: the completion holds no answer, and the rule says why
  std::string reason;            // of what could not be read; empty otherwise
};

// Both are bare answers.
Explanation ComparePair(absl::string_view gold, absl::string_view prediction,
                        const EquivalenceOptions& options = {});

// The completion's extracted answer with the reference answer.
Explanation JudgeCompletion(absl::string_view gold, absl::string_view completion,
                            const EquivalenceOptions& options = {});

// Several lines for people: what was extracted and by which rule, the normal forms, the rule that decided.
std::string ToText(const Explanation& explanation);

}  // namespace sluice::math
