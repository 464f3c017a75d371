#include "reward/number.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "reward/number_syntax.h"
#include "reward/plain_spelling.h"

namespace sluice {
namespace {

using absl::string_view;
using namespace number_syntax;  // NOLINT: this file is written in terms of that grammar

NumberReading NotANumber(string_view text) {
  NumberReading out;
  out.text = std::string(text.substr(0, 256));
  return out;
}

NumberReading Reading(const Piece& piece, bool negative, string_view text) {
  NumberReading out;
  out.text = std::string(text);
  out.state = piece.too_large ? NumberReading::kTooLarge : NumberReading::kNumber;
  if (!piece.too_large) out.value = negative ? mpq_class(-piece.value) : piece.value;
  return out;
}

bool ConsumeCurrency(string_view& s) {
  for (string_view sign : {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"}) {
    if (absl::ConsumePrefix(&s, sign)) return true;
  }
  return false;
}

// Emphasis, quotes, mathematics delimiters and one pair of brackets around the whole.
string_view StripWrapping(string_view s) {
  auto strip = [](char c) { return IsSpace(c) || c == '`' || c == '"' || c == '\''; };
  for (bool again = true; again;) {
    again = false;
    while (!s.empty() && strip(s.front())) s.remove_prefix(1);
    while (!s.empty() && strip(s.back())) s.remove_suffix(1);
    static constexpr std::array<std::pair<string_view, string_view>, 6> kPairs = {
        {{"**", "**"}, {"__", "__"}, {"$$", "$$"}, {"$", "$"}, {"(", ")"}, {"{", "}"}}};
    for (const auto& [open, close] : kPairs) {
      if (s.size() > open.size() + close.size() && absl::StartsWith(s, open) && absl::EndsWith(s, close)) {
        s = s.substr(open.size(), s.size() - open.size() - close.size());
        again = true;
      }
    }
    if (!s.empty() && (s.back() == '.' || s.back() == ',') && s.size() > 1) {
      s.remove_suffix(1);
      again = true;
    }
  }
  return s;
}

// What stands right of "x =", where the left side is a name: no digits, no operators.
string_view StripName(string_view s) {
  size_t equals = s.rfind('=');
  if (equals == string_view::npos) return s;
  for (char c : s.substr(0, equals)) {
    if (!IsLetter(c) && !IsSpace(c) && c != '\\' && c != '_' && c != '{' && c != '}') return s;
  }
  return s.substr(equals + 1);
}

// Words that change the number they follow.
bool ChangesNumber(string_view word) {
  static constexpr std::array<string_view, 27> kWords = {
      "dozen",  "dozens", "half", "halves", "third", "thirds", "quarter", "quarters", "fourths",
      "fifths", "tenths", "pi",   "and",    "or",    "not",    "squared", "cubed",    "factorial",
      "mod",    "modulo", "plus", "minus",  "times", "over",   "sqrt",    "hundred",  "hundreds"};
  for (string_view w : kWords) {
    if (absl::EqualsIgnoreCase(w, word)) return true;
  }
  return absl::EndsWithIgnoreCase(word, "illion") || absl::EndsWithIgnoreCase(word, "illions") ||
         absl::EqualsIgnoreCase(word, "thousand") || absl::EqualsIgnoreCase(word, "thousands");
}

// Whether `rest`, what stands after a number, is a unit: "%", " km/h", " square cm", "cm^2", "°C".
bool IsUnit(string_view rest) {
  rest = absl::StripTrailingAsciiWhitespace(rest);
  bool apart = rest.empty() || IsSpace(rest.front());
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (ConsumeCurrency(rest) || absl::ConsumePrefix(&rest, "%") || absl::ConsumePrefix(&rest, "\xC2\xB0"))
    apart = true;
  rest = absl::StripLeadingAsciiWhitespace(rest);
  if (rest.size() > 64) return false;
  size_t i = 0;
  bool first = true;
  while (i < rest.size()) {
    size_t begin = i;
    while (IsLetter(At(rest, i))) ++i;
    string_view word = rest.substr(begin, i - begin);
    if (word.empty() || ChangesNumber(word)) return false;
    // A single letter is more often a variable than a unit.
    static constexpr string_view kLetters = "mgshlLWVANJKCF";
    if (word.size() == 1 && (!apart || kLetters.find(word[0]) == string_view::npos)) return false;
    if (first && !apart && (word == "e" || word == "i")) return false;
    first = false;
    apart = true;
    if (absl::StartsWith(rest.substr(i), "^{2}") || absl::StartsWith(rest.substr(i), "^{3}")) {
      i += 4;
    } else if (At(rest, i) == '^' && (At(rest, i + 1) == '2' || At(rest, i + 1) == '3')) {
      i += 2;
    }
    if (IsDigit(At(rest, i))) return false;
    if (At(rest, i) == '.') ++i;
    if (At(rest, i) == '/' && IsLetter(At(rest, i + 1))) ++i;
    i = SkipSpaces(rest, i);
  }
  return true;
}

}  // namespace

NumberReading ReadWholeNumber(string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (text.size() > 4 * kMaxDigits) {
    NumberReading out = NotANumber(text);
    bool digits = text.find_first_not_of("0123456789.,-+$ ") == string_view::npos;
    if (digits) out.state = NumberReading::kTooLarge;
    return out;
  }
  std::string plain = PlainSpelling(text);
  string_view s = StripWrapping(StripName(StripWrapping(plain)));
  NumberReading failed = NotANumber(text);
  bool negative = false, signed_once = false;
  for (int k = 0; k < 2; ++k) {  // "-$5" and "$-5"
    s = absl::StripLeadingAsciiWhitespace(s);
    if (!signed_once && !s.empty() && (s[0] == '-' || s[0] == '+')) {
      negative = s[0] == '-';
      signed_once = true;
      s.remove_prefix(1);
    }
    s = absl::StripLeadingAsciiWhitespace(s);
    ConsumeCurrency(s);
  }
  auto piece = ReadMagnitude(s, 0);
  if (!piece || !IsUnit(s.substr(piece->end))) return failed;
  return Reading(*piece, negative, text);
}

NumberReading ReadPlainDecimal(string_view text) {
  if (text.size() > kMaxDigits) {
    NumberReading out = NotANumber(text);
    out.state = NumberReading::kTooLarge;
    return out;
  }
  size_t point = text.size();
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && point == text.size() && i > 0 && i + 1 < text.size()) {
      point = i;
    } else if (IsDigit(text[i])) {
      digits.push_back(text[i]);
    } else {
      return NotANumber(text);
    }
  }
  if (digits.empty()) return NotANumber(text);
  Piece piece;
  piece.value = FromDigits(digits, point < text.size() ? text.size() - point - 1 : 0);
  return Reading(piece, false, text);
}

}  // namespace sluice
