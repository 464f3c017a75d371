#include "reward/math/extract/prose.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "reward/math/text/notation.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"
#include "reward/math/text/wrapping.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr size_t kMaxTerm = 512;  // bytes of a number with what belongs to it
constexpr size_t kMaxTerms = 64;  // terms with digits that are looked at for a number

// Whether the dollar at `i` can open or close a formula: a formula has no blanks at its ends, but before a
// command, and no digit behind it.
bool OpensFormula(string_view s, size_t i) {
  if (!IsBlank(At(s, i + 1))) return At(s, i + 1) != '\0';
  size_t command = s.find_first_not_of(" \t\n", i + 1);
  return command != string_view::npos && s[command] == '\\' && IsLetter(At(s, command + 1));
}
bool ClosesFormula(string_view s, size_t i, bool spaced) {
  return i > 0 && (spaced || !IsBlank(s[i - 1])) && !IsDigit(At(s, i + 1));
}

bool IsBracket(char c) { return c == '(' || c == ')' || c == '[' || c == ']' || c == '{' || c == '}'; }

// Takes off punctuation and brackets without partners at both ends.
string_view Trim(string_view term) {
  auto surplus = [](string_view s, char open, char close) {
    return std::count(s.begin(), s.end(), open) - std::count(s.begin(), s.end(), close);
  };
  while (!term.empty()) {
    char first = term.front(), last = term.back();
    if (absl::StrContains(".,;:!?=<>", last)) {
      term.remove_suffix(1);
    } else if (absl::StrContains(",;:=<>!/", first)) {
      term.remove_prefix(1);
    } else if ((last == ')' && surplus(term, '(', ')') < 0) || (last == ']' && surplus(term, '[', ']') < 0) ||
               (last == '}' && surplus(term, '{', '}') < 0)) {
      term.remove_suffix(1);
    } else if ((first == '(' && surplus(term, '(', ')') > 0) ||
               (first == '[' && surplus(term, '[', ']') > 0) ||
               (first == '{' && surplus(term, '{', '}') > 0)) {
      term.remove_prefix(1);
    } else {
      break;
    }
  }
  return term;
}

bool IsOrdinal(string_view term) {
  if (term.size() < 3 || !IsDigit(term[term.size() - 3])) return false;
  string_view end = term.substr(term.size() - 2);
  return end == "st" || end == "nd" || end == "rd" || end == "th";
}

// What of a term without blanks is a number: behind the last "=", and behind a hyphen between two numbers.
// Empty for words with digits, units and ordinals.
string_view NumberOfTerm(string_view term) {
  size_t equals = term.find_last_of("=<>");
  if (equals != string_view::npos && equals + 1 < term.size()) term = Trim(term.substr(equals + 1));
  if (!std::any_of(term.begin(), term.end(), IsDigit) || IsOrdinal(term)) return {};
  string_view bare = term.substr(std::min(term.find_first_not_of("-+(["), term.size()));
  if (bare.empty() || IsLetter(bare[0])) return {};
  size_t hyphen = term.rfind('-');
  bool range = hyphen != string_view::npos && hyphen > 0 && IsDigit(term[hyphen - 1]) &&
               IsDigit(At(term, hyphen + 1)) && term.find_first_of("(^{\\eE") == string_view::npos;
  if (range) term.remove_prefix(hyphen + 1);
  if (term.find('-') != string_view::npos && IsLetter(At(term, term.find('-') + 1))) {
    term = term.substr(0, term.find('-'));  // "5-year"
  }
  return term;
}

// The term within brackets that close in it and open before: "(1, 2)".
string_view WithOpening(string_view text, string_view term) {
  if (term.empty() || !IsBracket(term.back())) return term;
  size_t end = static_cast<size_t>(term.data() - text.data()) + term.size();
  int open = 0;
  for (size_t i = end; i > 0 && end - i < kMaxTerm; --i) {
    char c = text[i - 1];
    if (c == '\n' || (IsLetter(c) && IsLetter(At(text, i)))) return term;
    if (c == ')' || c == ']' || c == '}') ++open;
    if ((c == '(' || c == '[' || c == '{') && --open == 0) {
      bool set = c == '{' && i > 1 && text[i - 2] == '\\';
      size_t begin = std::min(i - (set ? 2 : 1), static_cast<size_t>(term.data() - text.data()));
      return text.substr(begin, end - begin);
    }
  }
  return term;
}

// Adds the integer of a mixed number before the term, and "million" or "%" behind it.
string_view WithNeighbours(string_view text, string_view term) {
  size_t begin = static_cast<size_t>(term.data() - text.data()), end = begin + term.size();
  bool fraction = IsDigit(term[0]) && absl::StrContains(term, '/') && begin > 1 && text[begin - 1] == ' ' &&
                  IsDigit(text[begin - 2]);
  if (fraction) {
    size_t k = begin - 1;
    while (k > 0 && begin - k < 16 && IsDigit(text[k - 1])) --k;
    if (k > 0 && text[k - 1] == '-' && (k == 1 || IsBlank(text[k - 2]))) --k;
    if (k == 0 || !absl::ascii_isalnum(static_cast<unsigned char>(text[k - 1]))) begin = k;
  }
  size_t word = end + (At(text, end) == ' ' ? 1 : 0), stop = word;
  while (stop < word + 12 && IsLetter(At(text, stop))) ++stop;
  string_view next = text.substr(std::min(word, text.size()), stop - word);
  if (word > end && (RoleOf(next) == WordRole::kScale || RoleOf(next) == WordRole::kPercent)) end = stop;
  if (At(text, end) == ' ' && (At(text, end + 1) == '%' || absl::StartsWith(text.substr(end + 1), "\\%"))) {
    end += At(text, end + 1) == '%' ? 2 : 3;
  }
  return text.substr(begin, end - begin);
}

// Cuts a plain sentence where it goes on to something else.
size_t EndOfStatement(string_view s) {
  static constexpr string_view kReasons[] = {
      " because ",       " since ",    " so ",        ", not ",        ", which ",     ", since ",
      ", so ",           ", because ", ", as ",       " which is ",    " when ",       ", where ",
      ", and the ",      " (since",    " (because",   " rather than ", " instead of ", " and not ",
      " as opposed to ", ", while ",   ", but not ",  ", no,",         ", no wait",    ", wait",
      ", sorry",         ", though ",  ", although ", ", rather ",     ", I mean "};
  size_t end = s.size();
  for (string_view reason : kReasons) end = std::min(end, s.find(reason));
  return end;
}

// The end of a sentence or line, not within braces or dollars.
size_t EndOfSentence(string_view s) {
  bool dollars = false;
  int open = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    if (c == '\\') {
      if (At(s, i + 1) == '[' || At(s, i + 1) == '(') dollars = true;
      if (At(s, i + 1) == ']' || At(s, i + 1) == ')') dollars = false;
      ++i;
    } else if (c == '$') {
      dollars = !dollars && s.find('$', i + 1) != string_view::npos;
      if (At(s, i + 1) == '$') ++i;
    } else if (c == '{') {
      ++open;
    } else if (c == '}') {
      --open;
    } else if (!dollars && c == '\n' && (open <= 0 || At(s, i + 1) == '\n')) {
      return i;
    } else if (!dollars && open <= 0 && c == '.' && (IsBlank(At(s, i + 1)) || i + 1 == s.size())) {
      bool half_day = i >= 3 && (absl::EndsWithIgnoreCase(s.substr(0, i), "a.m") ||
                                 absl::EndsWithIgnoreCase(s.substr(0, i), "p.m"));
      string_view front = s.substr(0, i);
      bool abbreviates =
          absl::EndsWith(front, "i.e") || absl::EndsWith(front, "e.g") || absl::EndsWith(front, " cf");
      if (half_day || abbreviates) continue;
      while (i > 0 && s[i - 1] == '.') --i;  // an ellipsis
      return i;
    }
  }
  return s.size();
}

// If the statement begins with a formula and goes on in prose: the formula alone.
string_view LeadingFormula(string_view s) {
  static constexpr struct {
    string_view open, close;
  } kPairs[] = {{"$$", "$$"}, {"$", "$"}, {"\\(", "\\)"}, {"\\[", "\\]"}};
  for (const auto& pair : kPairs) {
    if (!absl::StartsWith(s, pair.open)) continue;
    size_t close = s.find(pair.close, pair.open.size());
    if (close == string_view::npos) return s;
    string_view rest = absl::StripLeadingAsciiWhitespace(s.substr(close + pair.close.size()));
    bool goes_on = absl::StartsWith(rest, "and ") || absl::StartsWith(rest, "or ") ||
                   absl::StartsWith(rest, ",") || std::count(rest.begin(), rest.end(), ' ') <= 2;
    return goes_on ? s : s.substr(0, close + pair.close.size());
  }
  return s;
}

// A sentence with a subject of its own: "The largest $n$ is 34", not "12 dollars" or "No solution".
bool IsSentence(string_view s) {
  if (!IsLetter(At(s, 0)) || std::count(s.begin(), s.end(), ' ') < 2) return false;
  string_view first = s.substr(0, s.find(' '));
  for (string_view word : {"all", "any", "no", "none", "yes", "true", "false", "every", "each", "neither",
                           "both", "only", "there", "x", "y", "n"}) {
    if (absl::EqualsIgnoreCase(first, word)) return false;
  }
  return std::all_of(first.begin(), first.end(), [](char c) { return IsLetter(c); }) &&
         !NumberWordValue(first);
}

// What a sentence states: what is set in bold in it, else what stands behind its verb.
string_view StatedBySentence(string_view s) {
  size_t open = s.find("**"), close = open == string_view::npos ? open : s.find("**", open + 2);
  bool bold = close != string_view::npos && close > open + 2 && s.find("**", close + 2) == string_view::npos;
  if (bold) return s.substr(open + 2, close - open - 2);
  size_t behind = 0;
  for (string_view verb : {" is ", " are ", " equals ", " = ", " was "}) {
    size_t at = s.rfind(verb);
    if (at != string_view::npos) behind = std::max(behind, at + verb.size());
  }
  string_view value = s.substr(behind);
  bool plain = !value.empty() && std::count(value.begin(), value.end(), ' ') <= 3;
  return behind > 0 && plain ? value : s;
}

}  // namespace

bool IsFormula(string_view text, size_t open, size_t close) {
  return OpensFormula(text, open) && ClosesFormula(text, close, IsBlank(At(text, open + 1)));
}

size_t TermBytes(string_view s, size_t i) {
  char c = s[i];
  if (c == ':') return i > 0 && IsDigit(s[i - 1]) && IsDigit(At(s, i + 1)) ? 1 : 0;
  if (static_cast<unsigned char>(c) >= 0x80) {
    size_t bytes = 0;
    auto sign = FindCharacter(DecodeUtf8(s.substr(i), &bytes));
    if (!sign) return 0;
    switch (sign->kind) {
      case TokenKind::kMinus:
      case TokenKind::kRoot:
      case TokenKind::kSymbol:
      case TokenKind::kDegree:
      case TokenKind::kVulgar:
      case TokenKind::kSuperDigits:
      case TokenKind::kCurrency:
      case TokenKind::kTimes:
        return bytes;
      default:
        return 0;
    }
  }
  static constexpr string_view kSigns = "+-/.,^_{}()[]\\%!$=<>";
  return IsLetter(c) || IsDigit(c) || kSigns.find(c) != string_view::npos ? 1 : 0;
}

string_view CompleteNumber(string_view text, string_view term) {
  term = term.substr(term.size() - std::min(term.size(), kMaxTerm));
  while (!term.empty() && absl::StrContains(".,;:!?", term.back())) term.remove_suffix(1);
  string_view number = WithOpening(text, term);
  if (number.size() == term.size()) number = NumberOfTerm(Trim(term));
  return number.empty() ? number : WithNeighbours(text, number);
}

namespace {

// Terms with digits in order, until `take` returns false.
template <typename Take>
void ForEachTerm(string_view text, const Take& take) {
  size_t i = 0;
  while (i < text.size()) {
    size_t begin = i;
    bool digits = false;
    for (size_t bytes; i < text.size() && (bytes = TermBytes(text, i)) > 0; i += bytes) {
      digits = digits || IsDigit(text[i]);
    }
    if (digits && !take(text.substr(begin, i - begin))) return;
    if (i == begin) ++i;
  }
}

}  // namespace

std::optional<string_view> FirstNumber(string_view text) {
  string_view found;
  size_t count = 0;
  ForEachTerm(text, [&](string_view term) {
    found = CompleteNumber(text, term);
    return found.empty() && ++count < kMaxTerms;
  });
  if (found.empty()) return std::nullopt;
  return found;
}

string_view StatedAnswer(string_view rest) {
  size_t begin = rest.find_first_not_of(" \t\r\n:*_`=>");
  if (begin == string_view::npos) return {};
  bool item = begin > 0 && rest[begin] == '-' && rest[begin - 1] == '\n' && At(rest, begin + 1) == ' ';
  if (item) begin = std::min(rest.find_first_not_of(" *_`", begin + 1), rest.size());
  rest = rest.substr(begin, 4096);
  for (string_view filler :
       {"therefore", "thus", "indeed", "then", "simply", "equal to", "given by", "that", "the number",
        "the value", "probably", "likely", "most likely", "clearly", "definitely", "actually", "now"}) {
    if (absl::StartsWith(rest, filler) && !IsLetter(At(rest, filler.size()))) {
      rest.remove_prefix(filler.size());
      rest = rest.substr(std::min(rest.find_first_not_of(" ,:"), rest.size()));
    }
  }
  rest = rest.substr(0, EndOfSentence(rest));
  string_view formula = LeadingFormula(rest);
  if (formula.size() < rest.size()) return formula;
  rest = rest.substr(0, EndOfStatement(rest));
  return IsSentence(rest) ? StatedBySentence(rest) : rest;
}

}  // namespace sluice::math
