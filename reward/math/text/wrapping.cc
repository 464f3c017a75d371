#include "reward/math/text/wrapping.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "reward/math/text/notation.h"
#include "reward/math/text/number_lexer.h"

namespace sluice::math {
namespace {

using absl::string_view;

// Whether the brace at the front of `s` is closed by its last character.
bool BraceSpansAll(string_view s) {
  int open = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\') {
      ++i;
    } else if (s[i] == '{') {
      ++open;
    } else if (s[i] == '}' && --open == 0) {
      return i + 1 == s.size();
    }
  }
  return false;
}

bool StripPair(string_view& s, string_view open, string_view close) {
  if (s.size() < open.size() + close.size() || !absl::StartsWith(s, open) || !absl::EndsWith(s, close))
    return false;
  string_view inner = s.substr(open.size(), s.size() - open.size() - close.size());
  if (absl::StrContains(inner, close) || absl::EndsWith(inner, "\\")) return false;
  s = inner;
  return true;
}

bool StripBox(string_view& s) {
  for (string_view box : {"\\boxed", "\\fbox", "\\displaystyle"}) {
    if (!absl::StartsWith(s, box)) continue;
    string_view rest = s.substr(box.size());
    while (!rest.empty() && IsBlank(rest.front())) rest.remove_prefix(1);
    if (box == "\\displaystyle" && !IsLetter(At(rest, 0))) {
      s = rest;
      return true;
    }
    if (!BraceSpansAll(rest)) return false;
    s = rest.substr(1, rest.size() - 2);
    return true;
  }
  return false;
}

// Takes off emoji and check marks at the end.
void StripPictures(string_view& s) {
  for (;;) {
    while (!s.empty() && IsBlank(s.back())) s.remove_suffix(1);
    size_t last = s.size();
    while (last > 0 && (static_cast<unsigned char>(s[last - 1]) & 0xC0) == 0x80 && s.size() - last < 3)
      --last;
    if (last == 0 || static_cast<unsigned char>(s[last - 1]) < 0xC0) return;
    size_t bytes = 0;
    char32_t code = DecodeUtf8(s.substr(last - 1), &bytes);
    bool picture =
        (code >= 0x2600 && code <= 0x27BF) || (code >= 0x1F300 && code <= 0x1FAFF) || code == 0xFE0F;
    if (!picture || bytes != s.size() - last + 1) return;
    s.remove_suffix(bytes);
  }
}

bool StripEnds(string_view& s) {
  size_t before = s.size();
  if (absl::StartsWith(s, "> **")) s.remove_prefix(2);  // a quotation
  while (!s.empty() && (IsBlank(s.front()) || s.front() == ':' || s.front() == '#')) s.remove_prefix(1);
  while (!s.empty() && (IsBlank(s.back()) || s.back() == ',' || s.back() == ';' || s.back() == ':' ||
                        s.back() == '?' || s.back() == '#'))
    s.remove_suffix(1);

  if (absl::EndsWith(s, "\\")) s.remove_suffix(1);
  if (absl::EndsWith(s, " only") && s.find_first_of("=0123456789") != string_view::npos) s.remove_suffix(5);
  if (absl::EndsWith(s, ".") && !absl::EndsWith(s, "..")) s.remove_suffix(1);
  // "/-" stands behind rupees.
  for (string_view stop : {"\xE3\x80\x82", "\\.", "\\qquad", "\\quad", "~", "\\,", "/-"}) {
    if (absl::EndsWith(s, stop)) s.remove_suffix(stop.size());
  }
  StripPictures(s);
  return s.size() != before;
}

bool IsFullWidth(string_view s, size_t i) {
  unsigned char b = static_cast<unsigned char>(At(s, i + 1));
  return static_cast<unsigned char>(s[i]) == 0xEF && (b == 0xBC || b == 0xBD);
}

// Whether all backslashes before letters come in pairs and none alone.
bool AllDoubled(string_view s) {
  bool any = false;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') continue;
    size_t run = 1;
    while (At(s, i + run) == '\\') ++run;
    bool letter = IsLetter(At(s, i + run));
    if (run % 2 != 0) return false;
    any = any || (letter && run == 2);
    i += run;
  }
  return any && (absl::StrContains(s, "\\\\frac") || absl::StrContains(s, "\\\\begin") ||
                 absl::StrContains(s, "\\\\text") || absl::StrContains(s, "\\\\sqrt") ||
                 absl::StrContains(s, "\\\\left"));
}

}  // namespace

string_view StripWrapping(string_view s) {
  static constexpr std::array<std::pair<string_view, string_view>, 11> kPairs = {
      {{"**", "**"},
       {"__", "__"},
       {"$$", "$$"},
       {"$", "$"},
       {"\\(", "\\)"},
       {"\\[", "\\]"},
       {"\"", "\""},
       {"`", "`"},
       {"'", "'"},
       {"*", "*"},
       {"\xE2\x80\x9C", "\xE2\x80\x9D"}}};
  for (int rounds = 0; rounds < 16; ++rounds) {
    bool again = StripEnds(s);
    for (const auto& [open, close] : kPairs) again = StripPair(s, open, close) || again;
    again = StripBox(s) || again;
    if (!again) break;
  }
  while (absl::EndsWith(s, "*") && !absl::EndsWith(s, "^*")) s.remove_suffix(1);  // emphasis left open
  while (absl::StartsWith(s, "*")) s.remove_prefix(1);
  if (s.size() > 1 && absl::EndsWith(s, "_") && !absl::EndsWith(s, "__") && !absl::EndsWith(s, "\\_"))
    s.remove_suffix(1);
  if (s.size() > 2 && absl::EndsWith(s, "__") && !absl::EndsWith(s, "___")) s.remove_suffix(2);
  return s;
}

string_view MendSpelling(string_view answer, std::string* storage) {
  bool control = answer.find_first_of("\f\b") != string_view::npos;
  bool doubled = AllDoubled(answer);
  bool wide = absl::StrContains(answer, "\xEF\xBC") || absl::StrContains(answer, "\xEF\xBD");
  if (!control && !doubled && !wide) return answer;
  storage->clear();
  storage->reserve(answer.size() + 8);
  for (size_t i = 0; i < answer.size(); ++i) {
    char c = answer[i];
    if (c == '\f' || c == '\b') {
      storage->append(c == '\f' ? "\\f" : "\\b");
    } else if (c == '\\' && doubled) {
      storage->push_back(c);
      ++i;
    } else if (IsFullWidth(answer, i)) {
      size_t bytes = 0;
      char32_t code = DecodeUtf8(answer.substr(i), &bytes);
      bool ascii = code >= 0xFF01 && code <= 0xFF5E;
      if (ascii) {
        storage->push_back(static_cast<char>(code - 0xFF01 + '!'));
      } else {
        storage->append(answer.data() + i, bytes);
      }
      i += bytes - 1;
    } else {
      storage->push_back(c);
    }
  }
  return *storage;
}

}  // namespace sluice::math
