// Words with a meaning in answers. All are looked up without regard to case. Pure and thread-safe.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "reward/math/text/token.h"

namespace sluice::math {

// Functions, constants and signs spelled in letters: "sqrt", "pi", "cup", "sin".
struct Spelled {
  TokenKind kind = TokenKind::kOther;
  absl::string_view text;
};
std::optional<Spelled> FindSpelled(absl::string_view word);

// The longest name of a function or constant that `letters` begin with, such as "sin" of "sinx"; its length
// in `bytes`.
std::optional<Spelled> FindSpelledPrefix(absl::string_view letters, size_t* bytes);

enum class WordRole {
  kNone,
  kAnd,
  kOr,
  kTo,        // "5 to 7"
  kFiller,    // "about", "approximately", "exactly", "the", "a"
  kNegation,  // "not", "no"; also what doubts, takes back or multiplies: "maybe", "wrong", "gross"
  kClause,    // begins a condition or a reason: "if", "for", "because"
  kPercent,
  kScale,  // "million": NumberWordValue gives the exponent of ten
  kDate,   // months and days of the week
  kWord,   // a common word that is no product of letters: "yes", "even", "east"
};
WordRole RoleOf(absl::string_view word);

// "two", "twelve", "ninety": 0 to 99 of one word.
std::optional<int> NumberWordValue(absl::string_view word);
// "half" 2, "thirds" 3, ... "tenth" 10 and so on: the denominator.
std::optional<int> DenominatorWordValue(absl::string_view word);
// "hundred" 2, "thousand" 3, "million" 6, ...: the power of ten.
std::optional<int> ScaleWordValue(absl::string_view word);

// "lakh", "dozen", "squared", "tens": behind a number it makes another number of it.
bool ChangesMagnitude(absl::string_view word);

// Whether a run of letters in plain text is a product of symbols, "xy", and not a word, "apples".
bool IsProductOfLetters(absl::string_view letters, bool blank_before);

}  // namespace sluice::math
