#include "reward/number_syntax.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "reward/number.h"

namespace sluice::number_syntax {
namespace {

using absl::string_view;

mpq_class PowerOfTen(unsigned long exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, exponent);
  return mpq_class(power);
}

}  // namespace

mpq_class FromDigits(const std::string& digits, size_t fraction_digits) {
  mpq_class value{mpz_class(digits, 10)};
  if (fraction_digits > 0) value /= PowerOfTen(fraction_digits);
  return value;
}

namespace {

// Digits with well-placed thousands commas: "1,234,567". Returns the end; digits go to `out`.
size_t ReadDigits(string_view s, size_t i, std::string& out) {
  size_t begin = i;
  while (IsDigit(At(s, i))) out.push_back(s[i++]);
  if (i - begin == 0 || i - begin > 3) return i;
  while (At(s, i) == ',' && IsDigit(At(s, i + 1)) && IsDigit(At(s, i + 2)) && IsDigit(At(s, i + 3)) &&
         !IsDigit(At(s, i + 4))) {
    absl::StrAppend(&out, s.substr(i + 1, 3));
    i += 4;
  }
  return i;
}

// "12", "1,200.5", ".5", with an exponent as in 1.5e3.
std::optional<Piece> ReadDecimal(string_view s, size_t i) {
  std::string digits;
  size_t fraction = 0;
  size_t end = ReadDigits(s, i, digits);
  if (At(s, end) == '.' && IsDigit(At(s, end + 1))) {
    size_t before = digits.size();
    for (++end; IsDigit(At(s, end)); ++end) digits.push_back(s[end]);
    fraction = digits.size() - before;
  }
  if (digits.empty()) return std::nullopt;
  Piece piece;
  piece.integer = fraction == 0;
  long exponent = 0;
  if (At(s, end) == 'e' || At(s, end) == 'E') {
    size_t k = end + 1;
    if (At(s, k) == '-' || At(s, k) == '+') ++k;
    size_t first = k;
    while (IsDigit(At(s, k))) ++k;
    if (k > first && !IsLetter(At(s, k))) {
      int parsed = 0;
      bool fits = absl::SimpleAtoi(s.substr(end + 1, k - end - 1), &parsed);
      if (!fits || std::abs(static_cast<long>(parsed)) > static_cast<long>(kMaxDigits))
        piece.too_large = true;
      exponent = parsed;
      piece.integer = false;
      end = k;
    }
  }
  piece.end = end;
  if (digits.size() > kMaxDigits) piece.too_large = true;
  if (piece.too_large) return piece;
  piece.value = FromDigits(digits, fraction);
  if (exponent > 0) piece.value *= PowerOfTen(exponent);
  if (exponent < 0) piece.value /= PowerOfTen(-exponent);
  return piece;
}

// a / b; a zero b is no number.
std::optional<Piece> Divide(Piece a, const Piece& b) {
  a.end = b.end;
  a.integer = false;
  a.too_large = a.too_large || b.too_large;
  if (a.too_large) return a;
  if (b.value == 0) return std::nullopt;
  a.value /= b.value;
  return a;
}

// The group or single digit after \frac: "{-12}" or "1".
std::optional<Piece> ReadFracArgument(string_view s, size_t i) {
  i = SkipSpaces(s, i);
  if (IsDigit(At(s, i))) return ReadDecimal(s.substr(0, i + 1), i);
  if (At(s, i) != '{') return std::nullopt;
  i = SkipSpaces(s, i + 1);
  bool negative = At(s, i) == '-';
  if (negative || At(s, i) == '+') i = SkipSpaces(s, i + 1);
  auto piece = ReadDecimal(s, i);
  if (!piece) return std::nullopt;
  size_t close = SkipSpaces(s, piece->end);
  if (At(s, close) != '}') return std::nullopt;
  piece->end = close + 1;
  if (negative) piece->value = -piece->value;
  return piece;
}

std::optional<Piece> ReadFrac(string_view s, size_t i) {
  if (!absl::StartsWith(s.substr(i), kFrac)) return std::nullopt;
  auto top = ReadFracArgument(s, i + kFrac.size());
  if (!top) return std::nullopt;
  auto bottom = ReadFracArgument(s, top->end);
  if (!bottom) return std::nullopt;
  return Divide(*std::move(top), *bottom);
}

// "a/b", not a date such as 1/2/2003.
std::optional<Piece> ReadSlash(string_view s, const Piece& top) {
  size_t i = SkipSpaces(s, top.end);
  if (At(s, i) != '/') return std::nullopt;
  auto bottom = ReadDecimal(s, SkipSpaces(s, i + 1));
  if (!bottom || (At(s, bottom->end) == '/' && IsDigit(At(s, bottom->end + 1)))) return std::nullopt;
  return Divide(top, *bottom);
}

// "5 1/2" and "5\frac{1}{2}": an integer and a proper fraction.
std::optional<Piece> ReadMixed(string_view s, const Piece& whole) {
  if (!whole.integer || whole.too_large) return std::nullopt;
  size_t i = SkipSpaces(s, whole.end);
  std::optional<Piece> part = ReadFrac(s, i);
  if (!part && i > whole.end && IsDigit(At(s, i))) {
    auto top = ReadDecimal(s, i);
    if (top && top->integer) part = ReadSlash(s, *top);
  }
  if (!part || part->too_large || part->value <= 0 || part->value >= 1) return std::nullopt;
  part->value += whole.value;
  return part;
}

// Powers of ten written after a number: "* 10^{8}", "million".
void ReadScale(string_view s, Piece& piece) {
  size_t i = SkipSpaces(s, piece.end);
  if (At(s, i) == '*') {
    i = SkipSpaces(s, i + 1);
    if (!absl::StartsWith(s.substr(i), "10^")) return;
    i += 3;
    bool group = At(s, i) == '{';
    if (group) ++i;
    size_t first = i;
    if (At(s, i) == '-') ++i;
    while (IsDigit(At(s, i))) ++i;
    int exponent = 0;
    bool fits = absl::SimpleAtoi(s.substr(first, i - first), &exponent);
    if (i == first || (group && At(s, i) != '}')) return;
    piece.end = group ? i + 1 : i;
    piece.integer = false;
    if (!fits || std::abs(exponent) > static_cast<int>(kMaxDigits)) piece.too_large = true;
    if (piece.too_large) return;
    if (exponent >= 0) piece.value *= PowerOfTen(exponent);
    if (exponent < 0) piece.value /= PowerOfTen(-exponent);
    return;
  }
  static constexpr std::array<std::pair<string_view, int>, 5> kWords = {
      {{"hundred", 2}, {"thousand", 3}, {"million", 6}, {"billion", 9}, {"trillion", 12}}};
  for (const auto& [word, power] : kWords) {
    if (!absl::StartsWithIgnoreCase(s.substr(i), word) || IsLetter(At(s, i + word.size()))) continue;
    piece.end = i + word.size();
    if (!piece.too_large) piece.value *= PowerOfTen(power);
  }
}

}  // namespace

std::optional<Piece> ReadMagnitude(string_view s, size_t i) {
  std::optional<Piece> piece = ReadFrac(s, i);
  if (piece) return piece;
  piece = ReadDecimal(s, i);
  if (!piece) return std::nullopt;
  if (auto mixed = ReadMixed(s, *piece)) return mixed;
  if (auto fraction = ReadSlash(s, *piece)) piece = std::move(fraction);
  ReadScale(s, *piece);
  return piece;
}

}  // namespace sluice::number_syntax
