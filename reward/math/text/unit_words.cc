#include "reward/math/text/unit_words.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/math/text/units.h"
#include "reward/math/text/words.h"

namespace sluice::math {
namespace {

using absl::string_view;

// All sorted. They make another number of a number, or take it back.
constexpr string_view kChanging[] = {
    "added",   "always",     "bc",         "bce",        "decreased",  "divided", "dos",
    "doubled", "failed",     "falsely",    "fold",       "folds",      "halved",  "increased",
    "invalid", "inverse",    "inverted",   "ish",        "least",      "minus",   "mistaken",
    "most",    "multiplied", "nd",         "negated",    "negative",   "nth",     "odd",
    "plus",    "quadruple",  "quadrupled", "rd",         "reciprocal", "reduced", "rejected",
    "seis",    "sometimes",  "st",         "subtracted", "th",         "thrice",  "times",
    "tres",    "triple",     "tripled",    "trois",      "twice",      "untrue",  "wrongly"};
constexpr string_view kComparing[] = {"below", "short", "under"};
// Plurals without an "s", and what stands for a noun: "8 left".
constexpr string_view kCounted[] = {"ad",    "altogether", "away",    "cattle", "ce",     "children",
                                    "data",  "deer",       "dice",    "feet",   "fish",   "geese",
                                    "left",  "mice",       "overall", "oxen",   "people", "remaining",
                                    "sheep", "teeth",      "total"};
static_assert(std::is_sorted(std::begin(kChanging), std::end(kChanging)));
static_assert(std::is_sorted(std::begin(kComparing), std::end(kComparing)));
static_assert(std::is_sorted(std::begin(kCounted), std::end(kCounted)));

template <size_t n>
bool Among(string_view word, const string_view (&words)[n]) {
  return std::binary_search(std::begin(words), std::end(words), word);
}

bool IsNumberName(string_view word) {
  return NumberWordValue(word) || DenominatorWordValue(word) || ScaleWordValue(word) ||
         ChangesMagnitude(word);
}

// "nines", "thousandfold", "tenish": begins with the name of a number. Short ones begin other words as well,
// "tents".
bool IsMadeOfNumberName(string_view word) {
  for (size_t size = 2; size <= std::min<size_t>(word.size(), 12); ++size) {
    if (!IsNumberName(word.substr(0, size))) continue;
    string_view rest = word.substr(size);
    if (size > 3 || rest.empty() || rest == "s" || rest == "es" || rest == "th" || rest == "ths" ||
        rest == "fold" || rest == "ish") {
      return true;
    }
  }
  return false;
}

// "XVIII" as it is written.
bool IsRomanNumeral(string_view word) {
  return word.size() > 1 && word.find_first_not_of("IVXLCDM") == string_view::npos;
}

bool ChangesValue(string_view word, string_view lower) {
  return Among(lower, kChanging) || IsRomanNumeral(word) || IsMadeOfNumberName(lower) ||
         absl::EndsWith(lower, "illion") || absl::EndsWith(lower, "illions") ||
         RoleOf(lower) == WordRole::kNegation;
}

bool IsPlural(string_view lower) {
  if (Among(lower, kCounted) || absl::EndsWith(lower, "men") || absl::EndsWith(lower, "people")) return true;
  bool singular = absl::EndsWith(lower, "ss") || absl::EndsWith(lower, "us") || absl::EndsWith(lower, "is");
  return lower.size() > 3 && lower.back() == 's' && !singular;
}

}  // namespace

void UnitPhraseDoubt::Add(string_view word, bool known) {
  if (known) {
    counted_ = true;
    return;
  }
  const std::string lower = absl::AsciiStrToLower(word);
  changes_ = changes_ || ChangesValue(word, lower);
  unknown_ = unknown_ || Among(lower, kComparing);
  counted_ = counted_ || IsPlural(lower);
}

UnitDoubt UnitPhraseDoubt::Result(bool countable) const {
  if (changes_) return UnitDoubt::kChanges;
  return unknown_ || (countable && !counted_) ? UnitDoubt::kUnknown : UnitDoubt::kNone;
}

}  // namespace sluice::math
