#include "reward/math/parse/plain_text.h"

#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

using absl::string_view;

bool IsWordLike(TokenKind kind) {
  return kind == TokenKind::kLetters || kind == TokenKind::kNumber || kind == TokenKind::kOther ||
         kind == TokenKind::kSymbol || kind == TokenKind::kFunction || kind == TokenKind::kBasedNumber;
}

}  // namespace

Expression TextOf(absl::Span<const Token> tokens, string_view source) {
  std::string text;
  TokenKind last = TokenKind::kEnd;
  for (const Token& token : tokens) {
    if (token.kind == TokenKind::kEnd || token.kind == TokenKind::kLeftBrace ||
        token.kind == TokenKind::kRightBrace) {
      continue;
    }
    if (token.kind == TokenKind::kPeriod && last == TokenKind::kLetters) continue;
    bool number_before = last == TokenKind::kNumber && token.kind == TokenKind::kLetters;  // "2:45pm"
    bool apart = (token.space_before || number_before) && IsWordLike(last) && IsWordLike(token.kind);
    if (apart) text += ' ';
    const bool named = (token.spelled || token.kind == TokenKind::kArrow) && !token.text.empty();
    text += absl::AsciiStrToLower(named ? token.text : source.substr(token.begin, token.end - token.begin));
    last = token.kind;
  }
  string_view bare = text;
  for (string_view article : {"the ", "an ", "a "}) {
    if (absl::ConsumePrefix(&bare, article)) break;
  }
  while (!bare.empty() && (bare.back() == '.' || bare.back() == ',')) bare.remove_suffix(1);
  return Named(Kind::kText, bare == "dne" ? "does not exist" : bare);
}

std::vector<Expression> MeaningOfText(string_view text) {
  std::vector<Expression> out;
  for (string_view empty : {"no solution", "no solutions", "no real solution", "no real solutions",
                            "empty set", "no real numbers", "no values", "none"}) {
    if (text == empty) out.push_back(ListOf(Kind::kSet, {}));
  }
  for (string_view all :
       {"all real numbers", "all reals", "real numbers", "all real values", "any real number", "all real x",
        "all real values of x", "all real numbers x", "reals"}) {
    if (text == all) {
      out.push_back(IntervalOf(Negated(SymbolOf("infinity")), false, SymbolOf("infinity"), false));
    }
  }
  if (text == "origin") {
    out.push_back(ListOf(Kind::kTuple, {NumberOf(0), NumberOf(0)}));
    out.push_back(ListOf(Kind::kTuple, {NumberOf(0), NumberOf(0), NumberOf(0)}));
  }
  static constexpr string_view kOrdinals[] = {"first",   "second", "third", "fourth", "fifth",    "sixth",
                                              "seventh", "eighth", "ninth", "tenth",  "eleventh", "twelfth"};
  for (size_t i = 0; i < std::size(kOrdinals); ++i) {
    if (text == kOrdinals[i]) out.push_back(NumberOf(static_cast<unsigned long>(i + 1)));
  }
  return out;
}

}  // namespace sluice::math
