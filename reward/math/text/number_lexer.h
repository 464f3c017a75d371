// Numbers in digits at a place in an answer: thousands separators, points, exponents, repeating digits,
// bases. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

#include <optional>

#include "absl/strings/string_view.h"
#include "reward/math/text/lexer.h"
#include "reward/math/text/token.h"

namespace sluice::math {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
inline bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
inline bool IsLetter(char c) { return IsLower(c) || IsUpper(c); }
inline bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
inline char At(absl::string_view s, size_t i) { return i < s.size() ? s[i] : '\0'; }

// Whether a number begins at `i`: a digit, or a point before one.
inline bool StartsNumber(absl::string_view s, size_t i) {
  if (IsDigit(At(s, i))) return true;
  return At(s, i) == '.' &&
         (IsDigit(At(s, i + 1)) || (s.substr(i + 1, 10) == "\\overline{" && IsDigit(At(s, i + 11))));
}

// The number that begins at `i`, as a kNumber token.
Token LexNumber(absl::string_view s, size_t i, const LexOptions& options);

// Digits with a base, as a kBasedNumber token, if they begin at `i`: "1011_2", "BAD_{16}",
// "21_{\text{three}}".
std::optional<Token> LexBasedNumber(absl::string_view s, size_t i);

// The value of a kNumber token; nullopt where it takes more than `max_digits` digits.
std::optional<mpq_class> NumberValue(const Token& number, int max_digits);

// The value of a kBasedNumber token, or of any digits and letters in a base of 2 to 36; nullopt for a digit
// that the base does not have, or more than `max_digits`.
std::optional<mpq_class> ValueInBase(absl::string_view digits, int base, int max_digits);

}  // namespace sluice::math
