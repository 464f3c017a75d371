#include "reward/prose_number.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/number_syntax.h"
#include "reward/plain_spelling.h"

namespace sluice {
namespace {

using absl::string_view;
using namespace number_syntax;  // NOLINT: this file is written in terms of that grammar

bool IsOrdinal(string_view s, size_t end) {
  string_view suffix = s.substr(end, 2);
  return (suffix == "st" || suffix == "nd" || suffix == "rd" || suffix == "th") && !IsLetter(At(s, end + 2));
}

// Whether the digits at i belong to a word, an exponent or an index.
bool BelongsToPrevious(string_view s, size_t i) {
  if (i == 0) return false;
  char before = s[i - 1];
  if (before == '{' && i >= 2) before = s[i - 2] == '^' || s[i - 2] == '_' ? s[i - 2] : before;
  if (before == '-' && i >= 2 && (s[i - 2] == '^' || (s[i - 2] == '{' && i >= 3 && s[i - 3] == '^')))
    return true;
  return IsLetter(before) || before == '_' || before == '^';
}

bool UnderRoot(string_view s, size_t i) {
  string_view before = s.substr(0, i);
  return absl::EndsWith(before, "\\sqrt{") || absl::EndsWith(before, "\\sqrt") ||
         absl::EndsWith(before, "\\sqrt ") || absl::EndsWith(before, "\xE2\x88\x9A");
}

// Past what goes on like a date or a version: 1/2/2003, 1.2.3.
size_t EndOfChain(string_view s, size_t end) {
  while ((At(s, end) == '/' || At(s, end) == '.') && IsDigit(At(s, end + 1))) {
    for (++end; IsDigit(At(s, end)); ++end) continue;
  }
  return end;
}

// Whether what follows makes the number part of something else: a power, a root, pi.
bool PartOfTerm(string_view s, size_t end) {
  if (At(s, end) == '^' && (IsDigit(At(s, end + 1)) || IsLetter(At(s, end + 1)) || At(s, end + 1) == '{' ||
                            At(s, end + 1) == '(')) {
    return true;
  }
  string_view rest = s.substr(end);
  return absl::StartsWith(rest, "\\sqrt") || absl::StartsWith(rest, "\\pi") ||
         absl::StartsWith(rest, "\\frac") || absl::StartsWith(rest, "\xCF\x80") ||
         absl::StartsWith(rest, "\xE2\x88\x9A");
}

// A minus directly before the digits (or their currency sign) that is no subtraction and no hyphen.
bool IsNegative(string_view s, size_t i) {
  if (i > 0 && s[i - 1] == '$') --i;
  if (i == 0 || s[i - 1] != '-') return false;
  if (i == 1) return true;
  unsigned char before = static_cast<unsigned char>(s[i - 2]);
  return !absl::ascii_isalnum(before) && before != ')' && before != '}' && before != ']' && before != '-' &&
         before < 0x80;
}

// Past "\frac{...}{...}" that is no number; braces are matched within a bound.
size_t SkipFrac(string_view s, size_t i) {
  i += kFrac.size();
  for (int group = 0; group < 2; ++group) {
    if (At(s, i) != '{') return i;
    int depth = 0;
    size_t k = i;
    for (; k < s.size() && k < i + 256; ++k) {
      if (s[k] == '{') ++depth;
      if (s[k] == '}' && --depth == 0) break;
    }
    if (depth != 0) return i;
    i = k + 1;
  }
  return i;
}

NumberReading NotANumber(string_view text) {
  NumberReading out;
  out.text = std::string(text.substr(0, 256));
  return out;
}

NumberReading Signed(const Piece& piece, string_view text, bool negative) {
  NumberReading out;
  out.text = std::string(text);
  out.state = piece.too_large ? NumberReading::kTooLarge : NumberReading::kNumber;
  if (!piece.too_large) out.value = negative ? mpq_class(-piece.value) : piece.value;
  return out;
}

// Calls `keep` with each number in order until it returns false.
template <typename Keep>
void ForEachNumber(string_view s, const Keep& keep) {
  size_t i = 0;
  while (i < s.size()) {
    bool frac = s[i] == '\\' && absl::StartsWith(s.substr(i), kFrac);
    if (!frac && !IsDigit(s[i]) && !(s[i] == '.' && IsDigit(At(s, i + 1)))) {
      ++i;
      continue;
    }
    auto piece = ReadMagnitude(s, i);
    if (!piece) {  // \frac of something else, or with a zero below
      size_t end = SkipFrac(s, i);
      if (!keep(NotANumber(s.substr(i, end - i)))) return;
      i = end;
      continue;
    }
    size_t end = EndOfChain(s, piece->end);
    bool skip = !frac && (BelongsToPrevious(s, i) || IsOrdinal(s, end));
    bool part = end > piece->end || UnderRoot(s, i) || PartOfTerm(s, end);
    string_view text = s.substr(i, end - i);
    bool go_on = skip || keep(part ? NotANumber(text) : Signed(*piece, text, IsNegative(s, i)));
    if (!go_on) return;
    i = end;
  }
}

}  // namespace

NumberReading FindFirstNumber(string_view text) {
  std::string plain = PlainSpelling(text);
  NumberReading out;
  ForEachNumber(plain, [&](NumberReading r) {
    out = std::move(r);
    return false;
  });
  return out;
}

NumberReading FindLastNumber(string_view text) {
  std::string plain = PlainSpelling(text);
  NumberReading out;
  ForEachNumber(plain, [&](NumberReading r) {
    out = std::move(r);
    return true;
  });
  return out;
}

}  // namespace sluice
