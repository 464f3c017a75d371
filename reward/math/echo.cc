#include "reward/math/echo.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "reward/math/parse/build.h"
#include "reward/math/parse/parser.h"
#include "reward/math/text/number_lexer.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr size_t kMaxQuestion = 16 << 10;
constexpr size_t kMaxFormulas = 64;
constexpr size_t kMaxReadings = 2;  // of a formula: the likeliest

// The digits and decimal points in it.
std::string DigitsOf(string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDigit(text[i]) || (text[i] == '.' && IsDigit(At(text, i + 1)))) digits.push_back(text[i]);
  }
  return digits;
}

// What stands between dollars, \( \) and \[ \].
void AppendMarked(string_view text, std::vector<std::string>* formulas) {
  size_t i = 0;
  while (i + 1 < text.size() && formulas->size() < kMaxFormulas) {
    string_view rest = text.substr(i);
    bool bracket = absl::StartsWith(rest, "\\(") || absl::StartsWith(rest, "\\[");
    string_view open = bracket ? rest.substr(0, 2) : absl::StartsWith(rest, "$$") ? "$$" : "$";
    if (!bracket && rest[0] != '$') {
      i += rest[0] == '\\' ? 2 : 1;
      continue;
    }
    string_view close = open == "\\(" ? "\\)" : open == "\\[" ? "\\]" : open;
    size_t end = text.find(close, i + open.size());
    if (end == string_view::npos) return;
    formulas->emplace_back(text.substr(i + open.size(), end - i - open.size()));
    i = end + close.size();
  }
}

// "12", "+", "x^2", "sin(x)": not a word.
bool IsPartOfFormula(string_view chunk) {
  if (chunk.find_first_of("0123456789+*/=^<>") != string_view::npos || chunk == "-") return true;
  return chunk.size() == 1 && chunk != "a" && chunk != "A" && chunk != "I";
}

// Runs of such parts in text without marks, also with the word behind: "2 hours".
void AppendUnmarked(string_view text, std::vector<std::string>* formulas) {
  std::string run;
  for (string_view chunk : absl::StrSplit(text, absl::ByAnyChar(" \n\t"), absl::SkipEmpty())) {
    if (formulas->size() >= kMaxFormulas) return;
    string_view bare = chunk.substr(0, chunk.find_last_not_of(".,;:?!") + 1);
    if (bare.empty()) continue;
    if (IsPartOfFormula(bare)) absl::StrAppend(&run, run.empty() ? "" : " ", bare);
    if (run.empty() || (IsPartOfFormula(bare) && bare.size() == chunk.size())) continue;
    if (!IsPartOfFormula(bare)) formulas->push_back(absl::StrCat(run, " ", bare));
    formulas->push_back(std::exchange(run, ""));
  }
  if (!run.empty()) formulas->push_back(std::move(run));
}

// What is stated in it: its likeliest values, with the sides of relations and the members of lists.
std::vector<Reading> StatedIn(string_view formula) {
  std::vector<Reading> out;
  absl::StatusOr<std::vector<Reading>> readings = ReadAnswer(formula);
  if (!readings.ok()) return out;
  for (size_t i = 0; i < std::min(readings->size(), kMaxReadings); ++i) {
    const Reading& reading = (*readings)[i];
    out.push_back(reading);
    if (reading.value.kind != Kind::kRelation && reading.value.kind != Kind::kList) continue;
    for (const Expression& part : reading.value.args) {
      out.push_back(reading);
      out.back().value = part;
    }
  }
  return out;
}

bool SameWriting(const Reading& a, const Reading& b) {
  return SameTree(a.value, b.value) && a.percent == b.percent && a.value.kind != Kind::kText;
}

bool Contains(const std::vector<Reading>& stated, const Reading& reading) {
  return std::any_of(stated.begin(), stated.end(), [&](const Reading& r) { return SameWriting(r, reading); });
}

// Appends the digits of the whole numbers it is made of; whether there is nothing to work out in it.
bool IsPlain(const Expression& e, std::string* digits) {
  switch (e.kind) {
    case Kind::kNumber:
      absl::StrAppend(digits, mpz_class(abs(e.number->get_num())).get_str());
      return e.number->get_den() == 1;
    case Kind::kSymbol:
    case Kind::kText:
      return true;
    case Kind::kTuple:
    case Kind::kInterval:
    case Kind::kSet:
    case Kind::kList:
    case Kind::kMatrix:
      return std::all_of(e.args.begin(), e.args.end(),
                         [&](const Expression& arg) { return IsPlain(arg, digits); });
    case Kind::kProduct:  // "-x"
      return e.args.size() == 2 && IsNumber(e.args[0]) && *e.args[0].number == -1 &&
             IsPlain(e.args[1], digits);
    default:
      return false;
  }
}

// Whether the digits alone, "0.25", are worth it but for the sign.
bool IsDecimal(const std::string& digits, const mpq_class& value) {
  size_t point = digits.find('.');
  if (point == std::string::npos || digits.find('.', point + 1) != std::string::npos) return false;
  std::string whole = digits.substr(0, point) + digits.substr(point + 1);
  mpz_class scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, digits.size() - point - 1);
  mpq_class decimal(mpz_class(whole, 10), scale);
  decimal.canonicalize();
  return decimal == abs(value);
}

// As simple as it can be beside a gold.
bool IsSimple(const Reading& p, const std::string& digits, const std::vector<Reading>& golds,
              const std::string& gold_digits) {
  bool measured_alike = std::any_of(golds.begin(), golds.end(), [&](const Reading& g) {
    return g.percent == p.percent && (g.unit == p.unit || g.unit.empty() || p.unit.empty());
  });
  if (!measured_alike) return false;
  std::string plain;
  if (IsPlain(p.value, &plain) && plain == digits) return true;
  return absl::StrContains(gold_digits, '.') && IsNumber(p.value) && IsDecimal(digits, *p.value.number);
}

}  // namespace

bool RepeatsQuestion(string_view question, string_view gold, string_view prediction) {
  std::string digits = DigitsOf(prediction), gold_digits = DigitsOf(gold);
  std::vector<Reading> stated = StatedIn(prediction), golds = StatedIn(gold);
  if (stated.empty() || golds.empty() || IsSimple(stated[0], digits, golds, gold_digits)) return false;
  bool like_gold =
      absl::StrContains(gold_digits, digits) &&
      std::any_of(stated.begin(), stated.end(), [&](const Reading& r) { return Contains(golds, r); });
  if (like_gold) return false;
  question = question.substr(0, kMaxQuestion);
  std::vector<std::string> formulas;
  AppendMarked(question, &formulas);
  if (formulas.empty()) AppendUnmarked(question, &formulas);
  return std::any_of(formulas.begin(), formulas.end(), [&](const std::string& formula) {
    if (!absl::StrContains(DigitsOf(formula), digits)) return false;
    std::vector<Reading> asked = StatedIn(formula);
    return Contains(asked, stated[0]) || Contains(asked, stated.back());
  });
}

}  // namespace sluice::math
