// The grammar of unsigned numbers at a place in a text; what number.h and its callers are made of. Pure.
#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace sluice::number_syntax {

inline bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
inline bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }
inline bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
inline char At(absl::string_view s, size_t i) { return i < s.size() ? s[i] : '\0'; }

inline size_t SkipSpaces(absl::string_view s, size_t i) {
  while (IsSpace(At(s, i))) ++i;
  return i;
}

// A number that was read: where it ends and what it is worth.
struct Piece {
  size_t end = 0;
  bool too_large = false;  // more than kMaxDigits digits or powers of ten: without a value
  bool integer = true;     // written without point, exponent or fraction
  mpq_class value;
};

// `digits` are decimal digits only; `fraction_digits` of them stand after the point.
mpq_class FromDigits(const std::string& digits, size_t fraction_digits);

constexpr absl::string_view kFrac = "\\frac";

// An unsigned number that begins exactly at i, in plain spelling (plain_spelling.h): "12", "1,200.5", "3/4",
// "\frac12", "5 1/2", "2.5e3", "3 * 10^8", "2 million".
std::optional<Piece> ReadMagnitude(absl::string_view s, size_t i);

}  // namespace sluice::number_syntax
