#include "reward/math/equal/name.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "reward/math/equal/value.h"

namespace sluice::math {
namespace {

using absl::string_view;

bool IsOneLetter(string_view name) {
  return name.size() == 1 && absl::ascii_isalpha(static_cast<unsigned char>(name[0]));
}

bool IsUpperCase(string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); });
}

// "f" of "f(x)", else empty.
string_view FunctionOf(string_view name) {
  string_view front = name.substr(0, std::min(name.find('('), name.size()));
  bool function = front.size() < name.size() && front.find_first_of("*+ ") == string_view::npos;
  return function ? front : string_view();
}

// "x_1", "C_2".
bool IsIndexedLetter(string_view name) {
  return name.size() > 2 && IsOneLetter(name.substr(0, 1)) && name[1] == '_';
}

// The names of symbols in it: "d", "y", "x" of "d*y*(d*x)^(-1)".
std::vector<string_view> SymbolsOf(string_view name) {
  std::vector<string_view> symbols = absl::StrSplit(name, absl::ByAnyChar("+*()^ -,"), absl::SkipEmpty());
  std::erase(symbols, "1");  // of "^(-1)"
  return symbols;
}

// "dy/dx", "y'", "f'(x)".
bool IsDerivative(string_view name) {
  if (absl::StrContains(name, '\'')) return true;
  return absl::StartsWith(name, "d*") && absl::StrContains(name, "*(d*");
}

// "xy", "x + y": made of several unknowns, which no other name stands for.
bool IsComposed(string_view name) {
  if (IsDerivative(name) || name.find_first_of("+*") == string_view::npos || absl::StrContains(name, ','))
    return false;
  std::vector<string_view> symbols = SymbolsOf(name);
  return std::count_if(symbols.begin(), symbols.end(), [](string_view s) {
           return (IsOneLetter(s) || IsIndexedLetter(s)) &&
                  absl::ascii_islower(static_cast<unsigned char>(s[0]));
         }) >= 2;
}

// The points of a segment, angle or triangle, in order of the alphabet: "AB" of "B*A" and of "AB"; empty for
// all else.
std::string PointsOf(string_view name) {
  std::string points;
  for (string_view symbol : SymbolsOf(name)) {
    if (IsUpperCase(symbol)) {
      points += std::string(symbol);
    } else if (symbol != "angle" && symbol != "triangle" && symbol != "m" && symbol != "abs") {
      return "";
    }
  }
  if (FunctionOf(name) != "" && !absl::StartsWith(name, "abs(")) return "";
  std::sort(points.begin(), points.end());
  return points;
}

bool IsAngle(string_view name) { return absl::StrContains(name, "angle"); }

}  // namespace

bool NamesConflict(const std::string& g, const std::string& p) {
  if (g.empty() || p.empty() || g == p) return false;
  if (IsDerivative(g) != IsDerivative(p) && IsFormulaName(g) && IsFormulaName(p)) return true;
  bool letters = IsOneLetter(p) || IsIndexedLetter(p) || IsComposed(p);
  if (IsComposed(g) && letters) return true;
  if (IsOneLetter(g) && IsOneLetter(p)) return true;
  if (IsIndexedLetter(g) && IsIndexedLetter(p)) return true;
  std::string points_g = PointsOf(g), points_p = PointsOf(p);
  bool points = points_g.size() >= 2 || IsAngle(g) || IsAngle(p);
  if (points && !points_g.empty() && !points_p.empty()) return points_g != points_p;
  return !FunctionOf(g).empty() && !FunctionOf(p).empty();
}

std::string NameOf(const Reading& r) {
  if (!r.name.empty() || r.value.kind != Kind::kRelation) return r.name;
  for (const Expression* side : {&r.value.args.front(), &r.value.args.back()}) {
    bool letter = side->kind == Kind::kSymbol && (IsOneLetter(side->name) || IsIndexedLetter(side->name));
    if (letter && !IsClosedConstant(*side)) return side->name;
    string_view function = string_view(side->name).substr(0, side->name.find_first_of("'^"));
    if (side->kind == Kind::kFunction && IsOneLetter(function)) return ToText(*side);
  }
  return "";
}

bool IsFormulaName(const std::string& name) {
  return IsOneLetter(name) || IsIndexedLetter(name) || IsComposed(name) || IsDerivative(name) ||
         !FunctionOf(name).empty();
}

bool NameBelongsToAnswer(const std::string& name) {
  bool modulus = name.size() == 6 && absl::StartsWith(name, "abs(") && name[4] != 'z' && name[4] != 'w';
  return IsComposed(name) || (modulus && absl::ascii_islower(static_cast<unsigned char>(name[4])));
}

}  // namespace sluice::math
