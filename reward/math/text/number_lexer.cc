#include "reward/math/text/number_lexer.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "reward/math/text/words.h"

namespace sluice::math {
namespace {

using absl::string_view;

bool ThreeDigits(string_view s, size_t i) {
  return IsDigit(At(s, i)) && IsDigit(At(s, i + 1)) && IsDigit(At(s, i + 2)) && !IsDigit(At(s, i + 3));
}

// Length of a separator of thousands other than a plain comma at `i`, or 0: "{,}", "\,", ",\!", a blank, ...
size_t SeparatorLength(string_view s, size_t i) {
  static constexpr string_view kSeparators[] = {
      "{,}\\!", "{,}", ",\\! ", ",\\!", ",\\,",  "\\,",      "\\!",          "\\ ",
      "\\;",    "\\:", "~",     " ",    "{\\,}", "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};
  string_view rest = s.substr(i, 5);
  for (string_view separator : kSeparators) {
    if (absl::StartsWith(rest, separator)) return separator.size();
  }
  return 0;
}

size_t SkipDigits(string_view s, size_t i) {
  while (IsDigit(At(s, i))) ++i;
  return i;
}

// Past groups of three digits behind the first one to three.
size_t SkipGroups(string_view s, size_t i, bool join_thousands, Token* token) {
  while (true) {
    size_t separator = 0;
    if (At(s, i) == ',' && ThreeDigits(s, i + 1)) {
      bool certain = s[i + 1] == '0';  // "1,000": no item begins with a zero
      token->has_comma = token->has_comma || !certain;
      if (!join_thousands && !certain) return i;
      separator = 1;
    } else {
      separator = SeparatorLength(s, i);
      if (separator == 0 || !ThreeDigits(s, i + separator)) return i;
    }
    i += separator + 3;
  }
}

// Behind the first digits of "1,00,000": groups of two digits and a last one of three, where one begins with
// a zero, as no item of a list does. Returns the end, or `i` where it is none.
size_t SkipLakhs(string_view s, size_t i) {
  constexpr int kMostGroups = 8;
  size_t k = i;
  bool zero = false;
  for (int groups = 0; groups < kMostGroups && At(s, k) == ',' && IsDigit(At(s, k + 1)) &&
                       IsDigit(At(s, k + 2)) && At(s, k + 3) == ',';
       ++groups) {
    zero = zero || s[k + 1] == '0';
    k += 3;
  }
  if (k == i || At(s, k) != ',' || !ThreeDigits(s, k + 1) || At(s, k + 4) == ',') return i;
  return zero || s[k + 1] == '0' ? k + 4 : i;
}

// "1.234.567,8" and "3{,}14": a comma as the decimal point. Returns the end, or `i` where it is none.
size_t SkipDecimalComma(string_view s, size_t begin, size_t i, Token* token) {
  size_t k = i;
  if (At(s, k) == '.' && k - begin <= 3) {
    while (At(s, k) == '.' && ThreeDigits(s, k + 1)) k += 4;
    if (k == i || At(s, k) != ',' || !IsDigit(At(s, k + 1)) || ThreeDigits(s, k + 1)) return i;
    ++k;
  } else if (absl::StartsWith(s.substr(k), "{,}") && IsDigit(At(s, k + 3))) {
    k += 3;
  } else {
    return i;
  }
  size_t end = SkipDigits(s, k);
  token->fraction_digits = static_cast<uint32_t>(end - k);
  token->has_point = true;
  return end;
}

constexpr size_t kMaxPeriod = 256;  // digits between two dots

// "{7}" or "7" at `i`, behind "\dot"; `end` is past it.
bool DottedDigit(string_view s, size_t i, size_t* end) {
  while (At(s, i) == ' ') ++i;
  const bool group = At(s, i) == '{';
  i += group;
  if (!IsDigit(At(s, i)) || (group && At(s, i + 1) != '}')) return false;
  *end = i + (group ? 2 : 1);
  return true;
}

// The digits of "\overline{3}", "\bar{3}", "\dot{3}" or "(3)" at `i`; `end` is past them.
size_t RepeatingDigits(string_view s, size_t i, size_t* end) {
  static constexpr string_view kMarks[] = {"\\overline", "\\bar", "\\dot", "("};
  for (string_view mark : kMarks) {
    if (!absl::StartsWith(s.substr(i), mark)) continue;
    size_t k = i + mark.size();
    char close = mark == "(" ? ')' : '\0';
    while (close == '\0' && At(s, k) == ' ') ++k;
    if (close == '\0' && At(s, k) == '{') {
      ++k;
      close = '}';
    }
    size_t stop = close == '\0' ? (IsDigit(At(s, k)) ? k + 1 : k) : SkipDigits(s, k);
    if (stop == k || (close != '\0' && At(s, stop) != close)) return 0;
    *end = stop + (close == '\0' ? 0 : 1);
    const size_t digits = stop - k;
    if (mark != "\\dot") return digits;
    // "\dot{1}4285\dot{7}": dots over the first and the last digit.
    const size_t last = SkipDigits(s, *end);
    size_t end_of_last = last;
    const bool again = last - *end <= kMaxPeriod && absl::StartsWith(s.substr(last), "\\dot") &&
                       DottedDigit(s, last + 4, &end_of_last);
    if (!again) return digits;
    const size_t between = last - *end;
    *end = end_of_last;
    return digits + between + 1;
  }
  return 0;
}

void LexExponent(string_view s, size_t* i, Token* token) {
  if (At(s, *i) != 'e' && At(s, *i) != 'E') return;
  size_t k = *i + 1;
  bool negative = At(s, k) == '-';
  if (negative || At(s, k) == '+') ++k;
  size_t first = k;
  int64_t value = 0;
  for (; IsDigit(At(s, k)); ++k) value = std::min<int64_t>(value * 10 + (s[k] - '0'), 1 << 30);
  if (k == first || IsLetter(At(s, k)) || At(s, k) == '_') return;
  token->exponent = static_cast<int32_t>(negative ? -value : value);
  token->has_exponent = true;
  *i = k;
}

mpz_class PowerOfTen(unsigned long exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, exponent);
  return power;
}

// Past braces, blanks, \text and the word "base"; `open` counts the braces. `i` itself at anything else.
size_t SkipBeforeBase(string_view s, size_t i, int* open) {
  char c = At(s, i);
  if (c == '{' || c == '(') {
    ++*open;
  } else if ((c == '}' || c == ')') && *open > 0) {
    --*open;
  } else if (absl::StartsWith(s.substr(i), "base")) {
    return i + 4;
  } else if (absl::StartsWith(s.substr(i), "\\text") || absl::StartsWith(s.substr(i), "\\mathrm")) {
    for (++i; IsLetter(At(s, i));) ++i;
    return i;
  } else if (c != ' ' && c != '~') {
    return i;
  }
  return i + 1;
}

// The base written after "_": "2", "{16}", "{\text{two}}", "\text{base } 2"; 0 if there is none. `end` is
// past it.
int LexBase(string_view s, size_t i, size_t* end) {
  int open = 0;
  for (size_t limit = i + 24, next; i < limit && (next = SkipBeforeBase(s, i, &open)) > i;) i = next;
  size_t first = i;
  int base = 0;
  if (IsDigit(At(s, i))) {
    i = SkipDigits(s, i);
    if (i - first <= 2) base = std::atoi(std::string(s.substr(first, i - first)).c_str());
  } else {
    while (IsLetter(At(s, i))) ++i;
    base = NumberWordValue(s.substr(first, i - first)).value_or(0);
  }
  for (; open > 0; ++i) {
    if (At(s, i) == '}' || At(s, i) == ')') {
      --open;
    } else if (At(s, i) != ' ') {
      return 0;
    }
  }
  *end = i;
  return base >= 2 && base <= 36 ? base : 0;
}

int DigitValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (IsUpper(c)) return c - 'A' + 10;
  return IsLower(c) ? c - 'a' + 10 : 99;
}

// "0xFF", "0b101", "0o17".
std::optional<Token> LexPrefixed(string_view s, size_t begin) {
  if (s[begin] != '0') return std::nullopt;
  Token token;
  token.value = At(s, begin + 1) == 'x' ? 16 : At(s, begin + 1) == 'b' ? 2 : At(s, begin + 1) == 'o' ? 8 : 0;
  size_t end = begin + 2;
  while (DigitValue(At(s, end)) < token.value) ++end;
  if (token.value == 0 || end == begin + 2 || IsLetter(At(s, end)) || IsDigit(At(s, end)) ||
      At(s, end) == '^') {
    return std::nullopt;
  }
  token.kind = TokenKind::kBasedNumber;
  token.text = s.substr(begin + 2, end - begin - 2);
  token.begin = static_cast<uint32_t>(begin);
  token.end = static_cast<uint32_t>(end);
  return token;
}

}  // namespace

Token LexNumber(string_view s, size_t begin, const LexOptions& options) {
  bool join_thousands = options.join_thousands;
  Token token;
  token.kind = TokenKind::kNumber;
  size_t i = SkipDigits(s, begin);
  size_t whole = i - begin;
  size_t comma = whole > 0 ? SkipDecimalComma(s, begin, i, &token) : i;
  if (whole >= 1 && whole <= 3 && comma == i && !(whole == 1 && s[begin] == '0')) {
    const size_t lakhs = whole <= 2 ? SkipLakhs(s, i) : i;
    comma = i = lakhs > i ? lakhs : SkipGroups(s, i, join_thousands, &token);
  } else if (absl::StartsWith(s.substr(i), "{,}") && ThreeDigits(s, i + 3) && whole <= 3 && s[begin] != '0') {
    token.fraction_digits = 0;
    token.has_point = false;
    comma = i = SkipGroups(s, i, join_thousands, &token);
  }
  i = comma;
  bool grouped = absl::StartsWith(s.substr(i), "{.}") && IsDigit(At(s, i + 3));
  if (!token.has_point && (At(s, i) == '.' || grouped)) {
    size_t fraction = i + (grouped ? 3 : 1), end = SkipDigits(s, fraction);
    size_t repeats = RepeatingDigits(s, end, &i);
    if (end > fraction || repeats > 0) {
      token.has_point = true;
      token.fraction_digits = static_cast<uint32_t>(end - fraction + repeats);
      token.repeating_digits = static_cast<uint32_t>(repeats);
      if (repeats == 0) i = end;
    }
  }
  token.begin = static_cast<uint32_t>(begin);
  token.text = s.substr(begin, i - begin);
  if (options.scientific || token.has_point) LexExponent(s, &i, &token);
  token.end = static_cast<uint32_t>(i);
  return token;
}

std::optional<Token> LexBasedNumber(string_view s, size_t begin) {
  if (auto prefixed = LexPrefixed(s, begin)) return prefixed;
  size_t i = begin;
  bool digits = false, letters = false, lower = false;
  constexpr size_t kMostDigits = 1024;  // each token of a longer run looks ahead no further: linear in all
  for (; IsDigit(At(s, i)) || IsUpper(At(s, i)) || (At(s, i) >= 'a' && At(s, i) <= 'f'); ++i) {
    if (i - begin == kMostDigits) return std::nullopt;
    (IsDigit(s[i]) ? digits : letters) = true;
    lower = lower || IsLower(s[i]);
  }
  size_t end_of_digits = i;
  while (At(s, i) == '}' && i == end_of_digits) ++i;  // \text{BAD}_{16}
  if (At(s, i) == ' ') ++i;
  if (At(s, i) != '_' || i == begin) return std::nullopt;
  if (!digits && end_of_digits - begin < 2) return std::nullopt;
  Token token;
  size_t end = 0;
  token.value = LexBase(s, i + 1, &end);
  if (token.value == 0 || (letters && token.value <= 10) || (lower && token.value != 16)) return std::nullopt;
  token.text = s.substr(begin, end_of_digits - begin);
  for (char c : token.text) {
    if (DigitValue(c) >= token.value) return std::nullopt;
  }
  token.kind = TokenKind::kBasedNumber;
  token.begin = static_cast<uint32_t>(begin);
  token.end = static_cast<uint32_t>(end);
  return token;
}

std::optional<mpq_class> NumberValue(const Token& number, int max_digits) {
  if (!number.has_point && !number.has_exponent && number.text.size() <= 18) {
    unsigned long value = 0;
    for (char c : number.text) {
      if (IsDigit(c)) value = value * 10 + static_cast<unsigned long>(c - '0');
    }
    return mpq_class(value);
  }
  std::string digits;
  digits.reserve(number.text.size());
  for (char c : number.text) {
    if (IsDigit(c)) digits.push_back(c);
  }
  if (digits.size() > static_cast<size_t>(max_digits) || std::abs(number.exponent) > max_digits) {
    return std::nullopt;
  }
  mpq_class value{mpz_class(digits, 10)};
  unsigned long fraction = number.fraction_digits;
  if (number.repeating_digits > 0) {
    // x = (all digits - those before the period) / (10^fraction - 10^(fraction - period))
    std::string fixed = digits.substr(0, digits.size() - number.repeating_digits);
    value -= mpq_class(mpz_class(fixed.empty() ? "0" : fixed, 10));
    value /= mpq_class(PowerOfTen(fraction) - PowerOfTen(fraction - number.repeating_digits));
  } else if (fraction > 0) {
    value /= mpq_class(PowerOfTen(fraction));
  }
  if (number.exponent > 0) value *= mpq_class(PowerOfTen(static_cast<unsigned long>(number.exponent)));
  if (number.exponent < 0) value /= mpq_class(PowerOfTen(static_cast<unsigned long>(-number.exponent)));
  return value;
}

std::optional<mpq_class> ValueInBase(string_view digits, int base, int max_digits) {
  if (digits.empty() || digits.size() > static_cast<size_t>(max_digits)) return std::nullopt;
  std::string upper(digits);
  for (char& c : upper) {
    if (DigitValue(c) >= base) return std::nullopt;
    if (IsLower(c)) c = static_cast<char>(c - 'a' + 'A');
  }
  return mpq_class(mpz_class(upper, base));
}

}  // namespace sluice::math
