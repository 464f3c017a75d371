#include "reward/math/parse/legible.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/math/text/lexer.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/wrapping.h"

namespace sluice::math {
namespace {

using absl::string_view;

// An operator that nothing follows: "3 +", "x^", "(2,", but "0^+" and "\mathbb{R}^*".
bool EndsInside(string_view text) {
  text = absl::StripAsciiWhitespace(text);
  while (absl::EndsWith(text, "$"))
    text = absl::StripTrailingAsciiWhitespace(text.substr(0, text.size() - 1));
  if (text.size() < 2) return false;
  char last = text.back(), before = text[text.size() - 2];
  if (last == ',') {
    return std::count_if(text.begin(), text.end(), [](char c) { return c == '(' || c == '['; }) >
           std::count_if(text.begin(), text.end(), [](char c) { return c == ')' || c == ']'; });
  }
  if (last == '*' && !IsDigit(before)) return false;  // emphasis
  return string_view("+-*/=^_{(\\").find(last) != string_view::npos && before != '^' && before != '{' &&
         before != '\\' && before != '*';
}

bool IsWordOrSign(const Token& token) {
  bool word = token.kind == TokenKind::kLetters && token.text.size() > 1;
  return word || token.kind == TokenKind::kOther || token.kind == TokenKind::kSymbol ||
         token.kind == TokenKind::kEmptySet || token.kind == TokenKind::kNumberSet;
}

bool IsValue(const Token& token) {
  return token.kind == TokenKind::kLetters || token.kind == TokenKind::kNumber ||
         token.kind == TokenKind::kBasedNumber || token.kind == TokenKind::kVulgar;
}

// Of formulas only.
bool IsStructure(const Token& token) {
  static constexpr TokenKind kKinds[] = {
      TokenKind::kFraction,        TokenKind::kRoot,      TokenKind::kCubeRoot,
      TokenKind::kBinomial,        TokenKind::kPlus,      TokenKind::kMinus,
      TokenKind::kTimes,           TokenKind::kDivide,    TokenKind::kPower,
      TokenKind::kSubscript,       TokenKind::kLeftBrace, TokenKind::kEqual,
      TokenKind::kEnvironmentBegin};
  return std::find(std::begin(kKinds), std::end(kKinds), token.kind) != std::end(kKinds);
}

}  // namespace

bool MayBeBroken(string_view text) {
  auto count = [&](char c) { return std::count(text.begin(), text.end(), c); };
  bool anything = std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
  });
  return !anything || count('{') != count('}') || absl::StrContains(text, "{}") ||
         (absl::StrContains(text, "\\begin") && !absl::StrContains(text, "\\end")) || EndsInside(text) ||
         (text[0] == '\\' && !std::any_of(text.begin(), text.end(), IsDigit));
}

bool IsBroken(string_view text, const std::vector<Reading>& readings) {
  bool words = std::all_of(readings.begin(), readings.end(),
                           [](const Reading& r) { return r.value.kind == Kind::kText; });
  if (!words) return EndsInside(text);
  Tokens tokens;
  Tokenize(StripWrapping(text), {}, &tokens);
  if (std::any_of(tokens.begin(), tokens.end(), IsWordOrSign)) return false;
  return std::any_of(tokens.begin(), tokens.end(), IsStructure) ||
         std::none_of(tokens.begin(), tokens.end(), IsValue);
}

}  // namespace sluice::math
