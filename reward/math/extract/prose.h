// Answers in running text: formulas, numbers, ends of sentences. Each is linear. Pure and thread-safe.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"

namespace sluice::math {

// Whether the dollars at `open` and `close` enclose a formula and are no amounts.
bool IsFormula(absl::string_view text, size_t open, size_t close);

// Bytes of the character at `i` if it may be part of a number or formula in running text, else 0.
size_t TermBytes(absl::string_view text, size_t i);

// The number in a run of such characters, `term` of `text`, with what belongs to it: "-$1,234.50", "5 1/2",
// "2\sqrt{3}", "3 million", "(1, 2)". Empty for digits of words, indices, units and ordinals.
absl::string_view CompleteNumber(absl::string_view text, absl::string_view term);

// The first number in a text.
std::optional<absl::string_view> FirstNumber(absl::string_view text);

// What a sentence that goes on with `rest` states: "**5**. I hope it is correct." -> "5". Empty if nothing.
absl::string_view StatedAnswer(absl::string_view rest);

}  // namespace sluice::math
