#include "reward/math/suite/rewrites.h"

#include <cstdlib>
#include <functional>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace sluice::math {
namespace {

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool HasText(const std::string& s) { return Has(s, "\\text") || Has(s, "\\mbox"); }

std::string Substitute(const std::string& text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

// "\frac12" and "\frac 9{20}" with all braces.
std::string WithBraces(std::string text) {
  text = Substitute(text, R"(\\([dt]?frac)\s*(\d)\s*(\d))", R"(\$1{$2}{$3})");
  text = Substitute(text, R"(\\([dt]?frac)\s*(\d)\s*\{)", R"(\$1{$2}{)");
  text = Substitute(text, R"(\\([dt]?frac)(\{[^{}]*\})\s*(\d))", R"(\$1$2{$3})");
  return Substitute(text, R"(\\sqrt\s*(\d))", R"(\sqrt{$1})");
}

// The end of the group that opens at `open`; npos where it never closes.
size_t Closing(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '{' ? 1 : text[i] == '}' ? -1 : 0;
    if (depth == 0) return i;
  }
  return std::string::npos;
}

// Each \frac{a}{b} as ((a)/(b)); empty for mixed numbers and what has no braces.
std::string WithSlashes(std::string text) {
  for (size_t at; (at = text.rfind("\\frac{")) != std::string::npos;) {
    const size_t top = at + 5, top_end = Closing(text, top);
    if (top_end == std::string::npos || top_end + 1 >= text.size() || text[top_end + 1] != '{') return "";
    const size_t end = Closing(text, top_end + 1);
    if (end == std::string::npos) return "";
    size_t before = at;
    while (before > 0 && text[before - 1] == ' ') --before;
    if (before > 0 && IsDigit(text[before - 1])) return "";
    text = absl::StrCat(text.substr(0, at), "((", text.substr(top + 1, top_end - top - 1), ")/(",
                        text.substr(top_end + 2, end - top_end - 2), "))", text.substr(end + 1));
  }
  return text;
}

// Splits a sum at its outermost signs: "a-b" to {"+a", "-b"}. Empty for what is no plain sum.
std::vector<std::string> Terms(const std::string& text) {
  for (const char* part : {",", "=", "<", ">", "\\le", "\\ge", "\\cup", "\\text", "\\mbox", "\\begin", "\\pm",
                           "\\{", "_", "\\in", "\\$", "%", "[", "circ"}) {
    if (Has(text, part)) return {};
  }
  if (text.back() == '.') return {};
  std::vector<std::string> terms(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' || c == '(' ? 1 : c == '}' || c == ')' ? -1 : 0;
    const bool blank = terms.back().find_first_not_of(' ') == std::string::npos;
    if (depth == 0 && (c == '+' || c == '-') && (!blank || terms.size() == 1)) {
      if (!blank) terms.push_back("");
      terms.back() = c;
    } else {
      terms.back() += c;
    }
  }
  for (std::string& term : terms) {
    if (term.empty()) return {};
    if (term[0] != '+' && term[0] != '-') term.insert(0, "+");
  }
  return terms;
}

std::string Reversed(const std::string& text) {
  const std::vector<std::string> terms = Terms(text);
  if (terms.size() < 2) return "";
  const std::string sum = absl::StrJoin(terms.rbegin(), terms.rend(), "");
  return sum[0] == '+' ? sum.substr(1) : sum;
}

// A product of a number, roots, pi and bracketed sums, its factors in the other order.
std::string Commuted(const std::string& text) {
  static const std::regex kFactor(
      R"(\s*(\d+(?:\.\d+)?|\\sqrt\{\d+\}|\\pi|\([^()]*\)(?:\^\d)?|[a-z](?:\^\d|\^\{\d+\})?))");
  if (Terms(text).size() != 1) return "";
  std::vector<std::string> factors;
  auto at = text.cbegin();
  for (std::smatch match;
       std::regex_search(at, text.cend(), match, kFactor, std::regex_constants::match_continuous);
       at = match[0].second) {
    factors.push_back(match[1]);
  }
  if (at != text.cend() || factors.size() < 2) return "";
  return absl::StrJoin(factors.rbegin(), factors.rend(), "\\cdot ");
}

// Blanks around signs and separators, outside of words.
std::string Spaced(const std::string& text) {
  if (HasText(text) || Has(text, "\\begin") || Has(text, "\\!") || Has(text, "{,}")) return "";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool number = i > 0 && i + 1 < text.size() && IsDigit(text[i - 1]) && IsDigit(text[i + 1]);
    const bool sign = std::string("+-=<>").find(text[i]) != std::string::npos;
    const bool separator = text[i] == ',' && !number;
    absl::StrAppend(&out, sign ? " " : "", std::string(1, text[i]), sign || separator ? " " : "");
  }
  return out;
}

// Without the blanks that no command needs.
std::string Tight(const std::string& text) {
  if (HasText(text)) return "";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t word = out.size();
    while (word > 0 && IsLetter(out[word - 1])) --word;
    const bool command = word < out.size() && word > 0 && out[word - 1] == '\\';
    const bool after_digit = !out.empty() && IsDigit(out.back());
    const bool needed = i + 1 < text.size() && ((command && IsLetter(text[i + 1])) || after_digit);
    if (text[i] != ' ' || needed) out += text[i];
  }
  return out;
}

std::string Sized(const std::string& text) {
  if (Has(text, "\\left") || Has(text, "\\text") || Has(text, "\\mbox")) return "";
  return absl::StrReplaceAll(text,
                             {{"(", "\\left("}, {")", "\\right)"}, {"[", "\\left["}, {"]", "\\right]"}});
}

std::string Scaled(const std::string& text) {
  static const std::regex kFraction(R"((-?)\\[dt]?frac\{(\d{1,6})\}\{(\d{1,6})\})");
  std::smatch match;
  if (!std::regex_match(text, match, kFraction)) return "";
  return absl::StrCat(match[1].str(), "\\frac{", 6 * std::stol(match[2]), "}{", 6 * std::stol(match[3]), "}");
}

// A fraction whose denominator divides 10^9, as a decimal.
std::string Decimal(const std::string& text) {
  static const std::regex kFraction(R"((-?)\\[dt]?frac\{(\d{1,6})\}\{(\d{1,6})\})");
  std::smatch match;
  if (!std::regex_match(text, match, kFraction)) return "";
  const long top = std::stol(match[2]), bottom = std::stol(match[3]), scale = 1000000000;
  if (bottom == 0 || scale % bottom != 0) return "";
  const long value = top * (scale / bottom);
  const std::string digits = std::to_string(value % scale + scale).substr(1);
  return absl::StrCat(match[1].str(), value / scale, ".", digits);
}

std::string Grouped(const std::string& text, const char* separator) {
  static const std::regex kInteger(R"(\d{4,})");
  if (!std::regex_match(text, kInteger)) return "";
  std::string out = text;
  for (size_t at = text.size(); at > 3;) out.insert(at -= 3, separator);
  return out;
}

// Sides of an equation between plain expressions.
std::string Swapped(const std::string& text) {
  const size_t at = text.find('=');
  if (at == std::string::npos || text.find('=', at + 1) != std::string::npos || HasText(text)) return "";
  return absl::StrCat(text.substr(at + 1), "=", text.substr(0, at));
}

void AddNumbers(const std::string& gold, const std::function<void(const char*, std::string)>& add) {
  if (std::regex_match(gold, std::regex(R"(-?\d+)"))) {
    add("decimal point", gold + ".0");
    add("fraction of integers", absl::StrCat("\\frac{", gold, "}{1}"));
    const long value = std::stol(gold);
    add("quotient", absl::StrCat(value < 0 ? "-" : "", "\\frac{", 3 * std::labs(value), "}{3}"));
    add("sum", absl::StrCat(gold, "+5-5"));
  }
  if (std::regex_match(gold, std::regex(R"(-?\d*\.\d+)"))) {
    add("zeros", gold + "00");
    add("scientific", gold + "\\times 10^{0}");
  }
  for (const char* separator : {",", "{,}", "\\,", ",\\!"}) add(separator, Grouped(gold, separator));
  add("scaled", Scaled(WithBraces(gold)));
  add("decimal", Decimal(WithBraces(gold)));
}

void AddShapes(const std::string& gold, const std::function<void(const char*, std::string)>& add) {
  const std::string braces = WithBraces(gold);
  add("braces", braces);
  for (const char* name : {"\\frac", "\\dfrac", "\\tfrac", "\\cfrac"}) {
    add(name, Substitute(gold, R"(\\[dt]?frac)", (std::string("\\") + name).c_str()));
  }
  add("one digit", Substitute(gold, R"(\\frac\{(\d)\}\{(\d)\})", R"(\frac$1$2)"));
  add("slash", WithSlashes(absl::StrReplaceAll(braces, {{"\\dfrac", "\\frac"}, {"\\tfrac", "\\frac"}})));
  add("no sizes", absl::StrReplaceAll(gold, {{"\\left", ""}, {"\\right", ""}}));
  add("sizes", Sized(gold));
  add("reversed sum", Reversed(gold));
  add("reversed product", Commuted(braces));
  add("cdot", Substitute(braces, R"((\d)\s*(\\sqrt|\\pi))", R"($1\cdot $2)"));
  add("times", Substitute(braces, R"((\d)\s*(\\sqrt|\\pi))", R"($1 \times $2)"));
  add("root as power", Substitute(braces, R"(\\sqrt\{(\d+)\})", R"((($1)^{1/2}))"));
  add("swapped sides", Swapped(gold));
  add("bmatrix", absl::StrReplaceAll(gold, {{"pmatrix", "bmatrix"}}));
  add("degree", Substitute(gold, R"(\^\\circ|\^\{\\circ\})", "^{\\circ}"));
  add("degree sign", Substitute(gold, R"(\^\\circ|\^\{\\circ\})", "°"));
  add("words", Substitute(gold, R"(\\(text|mbox)\{([^{}]*)\})", "$2"));
  add("textbf", Substitute(gold, R"(\\(text|mbox)\{([^{}]*)\})", "\\textbf{$2}"));
}

// The digit at `at` may change without the value: part of zero, of a power of one, of a base, of a word.
bool DigitMatters(const std::string& gold, size_t at) {
  const bool alone = (at == 0 || !IsDigit(gold[at - 1])) && (at + 1 == gold.size() || !IsDigit(gold[at + 1]));
  if (std::regex_search(gold, std::regex(R"(\\frac\{?0\}?)")) || Has(gold, "1^")) return false;
  return !(alone && gold[at] == '0' && at + 1 < gold.size() && IsLetter(gold[at + 1]));
}

void AddSigns(const std::string& gold, const std::function<void(const char*, std::string)>& add) {
  const bool even =
      Has(gold, "|") || Has(gold, "cos") || Has(gold, ")^2") || Has(gold, "\\pm") || HasText(gold);
  if (even) return;
  for (size_t i = 0; i < gold.size(); ++i) {
    if (gold[i] != '+' && gold[i] != '-') continue;
    std::string other = gold;
    other[i] = gold[i] == '+' ? '-' : '+';
    add("sign", other);
  }
  static const std::regex kPlain(
      R"([\d.]*[1-9][\d.]*|\\[dt]?frac\s*\{?[^{}]+\}?\s*\{?[^{}]+\}?|\d*\s*\\sqrt\{\d+\}|[\d.]+\s*\\pi)");
  if (std::regex_match(gold, kPlain)) add("negated", "-" + gold);
}

}  // namespace

std::vector<Rewritten> SameValue(const std::string& gold) {
  std::vector<Rewritten> out;
  const auto add = [&](const char* by, std::string text) {
    if (!text.empty() && text != gold) out.push_back({by, std::move(text)});
  };
  for (const auto& [before, after] :
       {std::pair("$", "$"), {"\\(", "\\)"}, {"\\[", "\\]"}, {"$$", "$$"}, {"\\boxed{", "}"}, {" ", "  "}}) {
    add(before, absl::StrCat(before, gold, after));
  }
  add("spaces", Spaced(gold));
  add("tight", Tight(gold));
  AddNumbers(gold, add);
  AddShapes(gold, add);
  return out;
}

std::vector<Rewritten> OtherValue(const std::string& gold) {
  std::vector<Rewritten> out;
  const auto add = [&](const char* by, std::string text) {
    if (!text.empty() && text != gold) out.push_back({by, std::move(text)});
  };
  for (size_t i = 0; i < gold.size(); ++i) {
    if (!IsDigit(gold[i]) || !DigitMatters(gold, i)) continue;
    std::string other = gold;
    other[i] = gold[i] == '9' ? '4' : static_cast<char>(gold[i] + 1);
    add("digit", other);
  }
  AddSigns(gold, add);
  const std::string braces = WithBraces(gold);
  static const std::regex kFraction(R"((-?)\\[dt]?frac\{(\d+)\}\{(\d+)\})");
  std::smatch match;
  if (std::regex_match(braces, match, kFraction) && match[2] != match[3]) {
    add("upside down", absl::StrCat(match[1].str(), "\\frac{", match[3].str(), "}{", match[2].str(), "}"));
  }
  const auto changed = [&](const char* pattern, const char* by) {
    const std::string other = Substitute(braces, pattern, by);
    return other == braces ? "" : other;
  };
  add("no root", changed(R"(\\sqrt\{(\d+)\})", "($1)"));
  add("e for pi", absl::StrReplaceAll(gold, {{"\\pi", " e"}}));
  add("cap", absl::StrReplaceAll(gold, {{"\\cup", "\\cap"}}));
  add("quotient", changed(R"((\d)\s*\\(sqrt|pi))", R"($1/\$2)"));
  if (std::regex_match(gold, std::regex(R"(-?\d*[1-9]\d*)"))) {
    for (const char* tail :
         {"0", "!+1", "i", "x", "\\pi", "+1", "^3-2", "\\%1", ".5", "\\sqrt{2}", "/7", ",8"}) {
      add("tail", gold + tail);
    }
  }
  return out;
}

}  // namespace sluice::math
