#include "reward/math/words_equal.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "reward/math/units.h"

namespace sluice::math {
namespace {

using absl::string_view;

bool IsAmong(string_view word, std::initializer_list<string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "20th" is 20.
string_view WithoutOrdinal(string_view word) {
  if (word.size() < 3 || !absl::ascii_isdigit(static_cast<unsigned char>(word[0]))) return word;
  bool ordinal = IsAmong(word.substr(word.size() - 2), {"st", "nd", "rd", "th"});
  return ordinal ? word.substr(0, word.size() - 2) : word;
}

std::vector<std::string> WordsOf(string_view text) {
  std::vector<std::string> words;
  for (string_view piece : absl::StrSplit(text, absl::ByAnyChar(" .,;!'\"`~\t\n"), absl::SkipEmpty())) {
    if (IsAmong(piece, {"a", "an", "the", "of", "is", "it", "function", "on"})) continue;
    string_view word = WithoutOrdinal(piece);
    bool keep = IsAmong(word, {"yes", "always", "does", "this", "is", "s"}) || word.size() <= 3;
    words.push_back(keep ? std::string(word) : SingularOf(word));
  }
  return words;
}

bool HasMonth(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& w) {
    return IsAmong(w, {"january", "february", "march", "april", "may", "june", "july", "august", "september",
                       "october", "november", "december"});
  });
}

// One of the words that mean the same.
std::string Canonical(std::vector<std::string> words) {
  if (HasMonth(words)) std::sort(words.begin(), words.end());
  std::string text = absl::StrJoin(words, " ");
  if (IsAmong(text, {"yes", "correct"})) return "true";
  if (IsAmong(text, {"no", "incorrect"})) return "false";
  if (IsAmong(text, {"does not exist", "doe not exist", "dne", "not defined", "doesn t exist"}))
    return "undefined";
  if (IsAmong(text, {"no solution", "none", "empty set", "no real solution"})) return "no solution";
  return text;
}

}  // namespace

bool SayTheSame(string_view gold, string_view prediction, bool exact) {
  if (gold == prediction) return true;
  if (exact) return false;
  std::string g = Canonical(WordsOf(gold));
  return !g.empty() && g == Canonical(WordsOf(prediction));
}

}  // namespace sluice::math
