// Answers in running text: formulas, numbers, ends of sentences. Each is linear. Pure and thread-safe.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"

namespace sluice::math {

// The content of the last $...$, $$...$$, \(...\) or \[...\]. A dollar before an amount opens nothing.
std::optional<absl::string_view> LastFormula(absl::string_view text);

// The last number with what belongs to it: "-$1,234.50", "5 1/2", "2\sqrt{3}", "3 million", "(1, 2)". Digits
// of words, indices, units and ordinals are no numbers.
std::optional<absl::string_view> LastNumber(absl::string_view text);

// The first one.
std::optional<absl::string_view> FirstNumber(absl::string_view text);

// What a sentence that goes on with `rest` states: "**5**. I hope it is correct." -> "5". Empty if nothing.
absl::string_view StatedAnswer(absl::string_view rest);

}  // namespace sluice::math
