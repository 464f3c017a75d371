#include "reward/math/extract/restatement.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "reward/math/text/notation.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/wrapping.h"

namespace sluice::math {
namespace {

using absl::string_view;

constexpr string_view kAbout[] = {"\\approx", "\\simeq", "\\doteq", "\xE2\x89\x88"};
constexpr size_t kMaxRounded = 64;  // bytes of a fraction or decimal

// A value that no decimal states exactly, and no name: "\frac{2}{3}", "3\sqrt2", "2/3".
bool IsExact(string_view value) {
  value = absl::StripAsciiWhitespace(value);
  while (!value.empty() && (value[0] == '-' || value[0] == '$')) value.remove_prefix(1);
  bool number =
      IsDigit(At(value, 0)) || absl::StartsWith(value, "e^") || absl::StartsWith(value, "\xE2\x88\x9A");
  for (string_view command :
       {"\\frac", "\\dfrac", "\\tfrac", "\\sqrt", "\\pi", "\\ln", "\\log", "(", "\\left(", "ln ", "log ",
        "sqrt", "\\arctan", "\\arcsin", "\\arccos", "arctan", "arcsin", "arccos"}) {
    number = number || absl::StartsWith(value, command);
  }
  if (!number) return false;
  for (string_view sign : {"\\frac", "\\dfrac", "\\tfrac", "/", "\\sqrt", "\xE2\x88\x9A", "\\pi", "\xCF\x80",
                           "\\ln", "\\log", "e^", "ln ", "log ", "sqrt", "arc"}) {
    if (absl::StrContains(value, sign)) return true;
  }
  return false;
}

std::optional<double> FractionOf(string_view text) {
  if (text.size() > kMaxRounded) return std::nullopt;
  std::string plain =
      absl::StrReplaceAll(text, {{"\\dfrac", "\\frac"}, {"\\tfrac", "\\frac"}, {"$", ""}, {" ", ""}});
  string_view rest = plain;
  double sign = absl::ConsumePrefix(&rest, "-") ? -1 : 1;
  string_view over, under;
  if (absl::ConsumePrefix(&rest, "\\frac")) {
    if (rest.size() == 2 && IsDigit(rest[0]) && IsDigit(rest[1])) {
      over = rest.substr(0, 1);
      under = rest.substr(1);
    } else {
      size_t middle = rest.find("}{");
      if (!absl::StartsWith(rest, "{") || !absl::EndsWith(rest, "}") || middle == string_view::npos)
        return std::nullopt;
      over = rest.substr(1, middle - 1);
      under = rest.substr(middle + 2, rest.size() - middle - 3);
    }
  } else {
    size_t slash = rest.find('/');
    if (slash == string_view::npos) return std::nullopt;
    over = rest.substr(0, slash);
    under = rest.substr(slash + 1);
  }
  int64_t a = 0, b = 0;
  if (!absl::SimpleAtoi(over, &a) || !absl::SimpleAtoi(under, &b) || b == 0) return std::nullopt;
  return sign * static_cast<double>(a) / static_cast<double>(b);
}

}  // namespace

string_view ExactPart(string_view text) {
  for (string_view other : {" or ", " (or "}) {
    size_t at = text.find(other);
    if (at == string_view::npos) continue;
    string_view second = text.substr(at + other.size());
    if (other == " (or ") absl::ConsumeSuffix(&second, ")");
    if (IsRounding(text.substr(0, at), second)) return StripWrapping(text.substr(0, at));
  }
  size_t about = text.size();
  for (string_view sign : kAbout) about = std::min(about, text.find(sign));
  if (about == text.size()) return text;
  string_view exact = text.substr(0, about);
  size_t equals = exact.rfind('=');
  if (equals != string_view::npos) exact = exact.substr(equals + 1);
  exact = absl::StripAsciiWhitespace(exact);
  return IsExact(exact) ? exact : text;
}

bool IsRounding(string_view exact, string_view decimal) {
  decimal = StripWrapping(decimal);
  if (decimal.size() > kMaxRounded) return false;
  const std::optional<double> value = FractionOf(StripWrapping(exact));
  double scale = 1;
  if (absl::ConsumeSuffix(&decimal, "%")) {
    absl::ConsumeSuffix(&decimal, "\\");
    decimal = absl::StripAsciiWhitespace(decimal);
    scale = 100;
  }
  size_t point = decimal.find('.');
  double given = 0;
  if (!value || decimal.find_first_not_of("-.0123456789") != string_view::npos ||
      !absl::SimpleAtod(decimal, &given))
    return false;
  if (point == string_view::npos && scale == 1) return false;
  size_t places = point == string_view::npos ? 0 : decimal.size() - point - 1;
  return std::abs(*value * scale - given) <= 0.5001 * std::pow(10.0, -static_cast<double>(places));
}

Restatement RestatementIn(string_view text) {
  for (string_view marker :
       {", i.e. ", ", i.e., ", " i.e. ", " i.e., ", ", that is, ", " (that is, ", ", that is ", ", namely ",
        ", in other words, ", ", or equivalently ", ", equivalently "}) {
    size_t at = text.find(marker);
    if (at == string_view::npos || at == 0) continue;
    Restatement out{text.substr(0, at), text.substr(at + marker.size())};
    absl::ConsumeSuffix(&out.second, ")");
    bool value = IsDigit(At(out.second, 0)) || absl::StrContains("$\\-*(", At(out.second, 0));
    if (!value) out.second = {};
    return out;
  }
  return {text, {}};
}

}  // namespace sluice::math
