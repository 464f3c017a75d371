#include "reward/code/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "reward/code/integer.h"

namespace sluice {
namespace {

using Views = std::vector<absl::string_view>;

// Lines without blanks at their ends, without empty ones at the end.
Views Lines(absl::string_view text) {
  Views lines = absl::StrSplit(text, '\n');
  for (absl::string_view& line : lines) line = absl::StripTrailingAsciiWhitespace(line);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

Views Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t\n\v\f\r"), absl::SkipEmpty());
}

bool Near(const ComparisonRule& rule, double expected, double actual) {
  if (expected == actual) return true;
  if (std::isnan(expected) && std::isnan(actual)) return true;
  if (!std::isfinite(expected) || !std::isfinite(actual)) return false;
  double difference = std::abs(expected - actual);
  return difference <= rule.absolute_tolerance || difference <= rule.relative_tolerance * std::abs(expected);
}

// A decimal number, "inf" or "nan": no hexadecimal, no suffix.
bool ReadNumber(absl::string_view word, double& out) {
  if (word.empty() || word.find_first_of("xXpP") != absl::string_view::npos) return false;
  return absl::SimpleAtod(word, &out);
}

bool IsInteger(absl::string_view word) {
  if (!word.empty() && (word[0] == '-' || word[0] == '+')) word.remove_prefix(1);
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Sign and digits without what does not count.
std::string PlainInteger(absl::string_view word) {
  bool negative = word[0] == '-';
  if (negative || word[0] == '+') word.remove_prefix(1);
  word.remove_prefix(std::min(word.find_first_not_of('0'), word.size()));
  return absl::StrCat(negative && !word.empty() ? "-" : "", word);
}

bool WordEquals(const ComparisonRule& rule, absl::string_view expected, absl::string_view actual) {
  if (expected == actual) return true;
  if (IsInteger(expected) && IsInteger(actual)) return PlainInteger(expected) == PlainInteger(actual);
  double a = 0, b = 0;
  return ReadNumber(expected, a) && ReadNumber(actual, b) && Near(rule, a, b);
}

bool SortedEquals(Views a, Views b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

// --- values ---

bool IsNumber(const TypedValue& v) { return v.kind >= TypedValue::kBool && v.kind <= TypedValue::kFloat; }
bool IsGroup(const TypedValue& v) { return v.kind == TypedValue::kSet || v.kind == TypedValue::kFrozenSet; }

std::string Canonical(const TypedValue& value);

std::string CanonicalNumber(const TypedValue& v) {
  if (v.kind != TypedValue::kFloat) return absl::StrCat("n", ExactInteger(v).get_str(16));
  if (!std::isfinite(v.real)) return std::isnan(v.real) ? "nan" : v.real > 0 ? "inf" : "-inf";
  if (v.real == std::floor(v.real)) return absl::StrCat("n", mpz_class(v.real).get_str(16));
  char text[64];
  snprintf(text, sizeof text, "f%a", v.real);
  return text;
}

// A key of an object of JSON is text; the key it stands for may be a number.
std::string CanonicalKey(const TypedValue& key) {
  switch (key.kind) {
    case TypedValue::kText:
      return key.text;
    case TypedValue::kNone:
      return "null";
    case TypedValue::kBool:
      return key.integer ? "true" : "false";
    case TypedValue::kInteger:
    case TypedValue::kBigInteger:
    case TypedValue::kFloat:
      return TypedValueToJson(key);
    default:
      return Canonical(key);
  }
}

void AppendPart(absl::string_view part, std::string& out) {
  absl::StrAppend(&out, part.size(), ":", part, ",");
}

std::string JoinedParts(char open, std::vector<std::string> parts, bool sorted) {
  if (sorted) std::sort(parts.begin(), parts.end());
  std::string out(1, open);
  for (const std::string& part : parts) AppendPart(part, out);
  return out;
}

std::vector<std::string> CanonicalItems(const TypedValue& value) {
  std::vector<std::string> parts;
  for (const TypedValue& item : value.items) parts.push_back(Canonical(item));
  return parts;
}

std::string CanonicalDict(const TypedValue& value) {
  std::vector<std::string> parts;
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    std::string& part = parts.emplace_back();
    AppendPart(CanonicalKey(value.items[i]), part);
    absl::StrAppend(&part, Canonical(value.items[i + 1]));
  }
  return JoinedParts('{', std::move(parts), true);
}

// Equal texts for equal values and for no others.
std::string Canonical(const TypedValue& value) {
  switch (value.kind) {
    case TypedValue::kNone:
      return "N";
    case TypedValue::kText:
      return absl::StrCat("u", value.text);
    case TypedValue::kBytes:
      return absl::StrCat("b", value.text);
    case TypedValue::kEllipsis:
      return ".";
    case TypedValue::kDict:
      return CanonicalDict(value);
    case TypedValue::kSet:
    case TypedValue::kFrozenSet:
      return JoinedParts('<', CanonicalItems(value), true);
    case TypedValue::kList:
    case TypedValue::kTuple:
      return JoinedParts('[', CanonicalItems(value), false);
    case TypedValue::kComplex:
      if (value.items[1].real == 0) return CanonicalNumber(value.items[0]);
      return JoinedParts('y', CanonicalItems(value), false);
    default:
      return CanonicalNumber(value);
  }
}

std::string CanonicalMembers(const TypedValue& value) {
  return JoinedParts('<', CanonicalItems(value), true);
}

double ToDouble(const TypedValue& v) {
  return v.kind == TypedValue::kFloat ? v.real : ExactInteger(v).get_d();
}

bool NumericEquals(const ComparisonRule& rule, const TypedValue& expected, const TypedValue& actual);

bool NumericItems(const ComparisonRule& rule, const TypedValue& expected, const TypedValue& actual) {
  if (expected.items.size() != actual.items.size()) return false;
  for (size_t i = 0; i < expected.items.size(); ++i) {
    if (!NumericEquals(rule, expected.items[i], actual.items[i])) return false;
  }
  return true;
}

using Entries = std::vector<std::pair<std::string, const TypedValue*>>;

Entries SortedEntries(const TypedValue& value) {
  Entries out;
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    out.emplace_back(CanonicalKey(value.items[i]), &value.items[i + 1]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool NumericDict(const ComparisonRule& rule, const TypedValue& expected, const TypedValue& actual) {
  Entries a = SortedEntries(expected), b = SortedEntries(actual);
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].first != b[i].first || !NumericEquals(rule, *a[i].second, *b[i].second)) return false;
  }
  return true;
}

bool NumericEquals(const ComparisonRule& rule, const TypedValue& expected, const TypedValue& actual) {
  if (IsNumber(expected) && IsNumber(actual)) {
    if (expected.kind != TypedValue::kFloat && actual.kind != TypedValue::kFloat) {
      return Canonical(expected) == Canonical(actual);
    }
    return Near(rule, ToDouble(expected), ToDouble(actual));
  }
  if (expected.IsSequence() && actual.IsSequence()) return NumericItems(rule, expected, actual);
  if (expected.kind == TypedValue::kComplex && actual.kind == TypedValue::kComplex) {
    return NumericItems(rule, expected, actual);
  }
  if (expected.kind == TypedValue::kDict && actual.kind == TypedValue::kDict) {
    return NumericDict(rule, expected, actual);
  }
  return Canonical(expected) == Canonical(actual);
}

}  // namespace

bool OutputEquals(const ComparisonRule& rule, absl::string_view expected, absl::string_view actual) {
  switch (rule.comparison) {
    case CodeComparison::kExact:
      return Lines(expected) == Lines(actual);
    case CodeComparison::kUnordered:
      return SortedEquals(Lines(expected), Lines(actual));
    case CodeComparison::kTokens:
      return Words(expected) == Words(actual);
    default:
      break;
  }
  Views a = Words(expected), b = Words(actual);
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](absl::string_view x, absl::string_view y) { return WordEquals(rule, x, y); });
}

bool ValueEquals(const ComparisonRule& rule, const TypedValue& expected, const TypedValue& actual) {
  if (rule.comparison == CodeComparison::kNumeric) return NumericEquals(rule, expected, actual);
  bool members = expected.IsSequence() && (actual.IsSequence() || IsGroup(actual));
  if (rule.comparison == CodeComparison::kUnordered && members) {
    return CanonicalMembers(expected) == CanonicalMembers(actual);
  }
  return Canonical(expected) == Canonical(actual);
}

}  // namespace sluice
