#include "reward/math/equal/words_equal.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "reward/math/text/units.h"

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

// "october" of "october", "oct"; empty for other words.
string_view MonthOf(string_view word) {
  for (string_view month : {"january", "february", "march", "april", "may", "june", "july", "august",
                            "september", "october", "november", "december"}) {
    if (word == month || (word.size() == 3 && word == month.substr(0, 3)) ||
        (word == "sept" && month[0] == 's'))
      return month;
  }
  return {};
}

std::vector<std::string> WordsOf(string_view text) {
  std::vector<std::string> words;
  for (string_view piece : absl::StrSplit(text, absl::ByAnyChar(" .,;!'\"`~\t\n"), absl::SkipEmpty())) {
    if (IsAmong(piece, {"a", "an", "the", "of", "is", "it", "function", "on", "are", "there", "to"}))
      continue;
    string_view word = WithoutOrdinal(piece);
    const bool ending = !words.empty() && absl::ascii_isdigit(static_cast<unsigned char>(words.back()[0])) &&
                        IsAmong(piece, {"st", "nd", "rd", "th"});  // "10 th"
    if (ending) continue;
    if (IsAmong(piece, {"remainder", "R"})) word = "r";
    if (string_view month = MonthOf(piece); !month.empty()) word = month;
    bool name = std::any_of(word.begin(), word.end(), absl::ascii_isupper);
    bool keep = name || IsAmong(word, {"yes", "always", "does", "this", "is", "s"}) || word.size() <= 3;
    words.push_back(keep ? std::string(word) : SingularOf(word));
  }
  return words;
}

bool HasMonth(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& w) { return !MonthOf(w).empty(); });
}

// One of the words that mean the same.
std::string Canonical(std::vector<std::string> words) {
  if (HasMonth(words)) std::sort(words.begin(), words.end());
  std::string text = absl::StrJoin(words, " ");
  if (IsAmong(text, {"yes", "correct"})) return "true";
  if (IsAmong(text, {"no", "incorrect"})) return "false";
  if (IsAmong(text, {"does not exist", "doe not exist", "dne", "not defined", "doesn t exist",
                     "limit doe not exist", "limit does not exist", "limit undefined"}))
    return "undefined";
  if (IsAmong(text, {"divergent", "diverge", "it diverge", "series diverge"})) return "diverges";
  if (IsAmong(text, {"no solution", "none", "empty set", "no real solution", "no solution exist",
                     "no solution exists"}))
    return "no solution";
  return text;
}

// Without what the words describe: "isosceles triangle", "infinitely many solutions", "Bob wins".
std::vector<std::string> WithoutNoun(std::vector<std::string> words) {
  if (words.size() > 1 && IsAmong(words.back(), {"triangle", "series", "win", "wins", "sequence"}))
    words.pop_back();
  if (words.size() == 3 && words[0] == "infinitely" && words[1] == "many") words.pop_back();
  return words;
}

// "3:30" of "03:30 pm"; `half` is "am" or "pm" or empty. Empty for what is no time of day.
string_view TimeOf(string_view text, string_view* half) {
  *half = {};
  if (text == "noon" || text == "midnight") {
    *half = text == "noon" ? "pm" : "am";
    return "12:00";
  }
  size_t blank = text.find(' ');
  *half = blank == string_view::npos ? string_view() : text.substr(blank + 1);
  string_view time = text.substr(0, blank);
  if (time.size() == 5 && time[0] == '0') time.remove_prefix(1);
  bool form = (time.size() == 4 || time.size() == 5) && time[time.size() - 3] == ':' &&
              time.find_first_not_of("0123456789:") == string_view::npos;
  return form && (half->empty() || IsAmong(*half, {"am", "pm"})) ? time : string_view();
}

// Since midnight; -1 for "5:30", which is in neither half of the day.
int MinutesOf(string_view time, string_view half) {
  const size_t colon = time.find(':');
  int hours = 0, minutes = 0;
  if (!absl::SimpleAtoi(time.substr(0, colon), &hours) || !absl::SimpleAtoi(time.substr(colon + 1), &minutes))
    return -1;
  if (half.empty()) return hours > 12 ? hours * 60 + minutes : -1;
  return (hours % 12 + (half == "pm" ? 12 : 0)) * 60 + minutes;
}

// Times of day, of which one may leave out the half of the day.
bool AreSameTime(string_view gold, string_view prediction) {
  string_view half_g, half_p, g = TimeOf(gold, &half_g), p = TimeOf(prediction, &half_p);
  if (g.empty() || p.empty()) return false;
  const int minutes = MinutesOf(g, half_g);
  if (minutes >= 0 && minutes == MinutesOf(p, half_p)) return true;  // "13:03", "1:03 pm"
  return g == p && (half_g == half_p || half_g.empty() || half_p.empty());
}

// What "and" and commas join, in the order of the alphabet.
std::string SortedItems(string_view text) {
  std::string flat = absl::StrReplaceAll(text, {{", and ", ","}, {" and ", ","}});
  if (flat.find(',') == std::string::npos) return "";
  std::vector<std::string> items;
  for (string_view item : absl::StrSplit(flat, ',', absl::SkipEmpty()))
    items.push_back(Canonical(WordsOf(item)));
  std::sort(items.begin(), items.end());
  return absl::StrJoin(items, ",");
}

}  // namespace

bool SayTheSame(string_view gold, string_view prediction, bool exact) {
  if (gold == prediction) return true;
  if (exact) return false;
  std::string g = Canonical(WordsOf(gold));
  if (!g.empty() && g == Canonical(WordsOf(prediction))) return true;
  const std::string bare = Canonical(WithoutNoun(WordsOf(gold)));
  if (!bare.empty() && bare == Canonical(WithoutNoun(WordsOf(prediction)))) return true;
  if (AreSameTime(gold, prediction)) return true;
  std::string items = SortedItems(gold);
  return !items.empty() && items == SortedItems(prediction);
}

}  // namespace sluice::math
