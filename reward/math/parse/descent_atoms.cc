#include <utility>

#include "absl/strings/match.h"
#include "reward/math/parse/descent.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"

namespace sluice::math {

using absl::string_view;

bool Descent::Primary(Expression* out) {
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::kNumber:
      return Number(out);
    case TokenKind::kBasedNumber: {
      auto value = ValueInBase(token.text, token.value, options_.limits.digits);
      if (!value) return Fail(ParseOutcome::kTooManyDigits);
      parsed_.base = token.value;
      Advance();
      *out = NumberOf(*std::move(value));
      return true;
    }
    case TokenKind::kVulgar:
      *out = NumberOf(mpq_class(token.value / 100, token.value % 100));
      Advance();
      return true;
    case TokenKind::kLetters:
      return Letters(out);
    case TokenKind::kSymbol: {
      string_view name = token.text;
      Advance();
      return Symbol(name, out);
    }
    case TokenKind::kFunction: {
      string_view name = token.text;
      Advance();
      return Function(name, out);
    }
    case TokenKind::kOperator:
      return Operator(out);
    case TokenKind::kCurrency: {
      if (!SetUnit(token.text)) return false;
      Advance();
      return SignedFactor(out);
    }
    default:
      return PrimarySign(out);
  }
}

bool Descent::PrimarySign(Expression* out) {
  TokenKind kind = Peek().kind;
  if (kind == TokenKind::kNumberSet) {
    *out = SymbolOf(Peek().text);
    out->name.insert(0, "set ");
    Advance();
    if (out->name == "set R" && !Is(TokenKind::kPower)) {
      *out = IntervalOf(Negated(SymbolOf("infinity")), false, SymbolOf("infinity"), false);
    }
    return true;
  }
  if (kind == TokenKind::kEnvironmentBegin) return Environment(out);
  if (kind == TokenKind::kAccent) return Accent(out);
  if (StartsNegation()) {
    Advance();
    Expression statement;
    if (!Factor(&statement)) return false;
    *out = Applied("not", std::move(statement));
    return true;
  }
  if (kind == TokenKind::kLeftBrace) return Group(out, true);
  if (kind == TokenKind::kRightBracket) {  // "]2, 5["
    Advance();
    return OpenedLeft(out);
  }
  Advance();
  switch (kind) {
    case TokenKind::kFraction:
      return Fraction(out);
    case TokenKind::kRoot:
    case TokenKind::kCubeRoot:
      return Root(out, kind == TokenKind::kCubeRoot);
    case TokenKind::kBinomial:
      return Binomial(out);
    case TokenKind::kSubscript:
    case TokenKind::kPower:
      return Choices(out);
    case TokenKind::kLeftParen:
      return Paren(out);
    case TokenKind::kLeftBracket:
      return Bracket(out);
    case TokenKind::kLeftSet:
      return Braced(out);
    case TokenKind::kLeftAngle: {
      std::vector<Expression> items;
      Joints joints;
      if (!Items(&items, &joints)) return false;
      if (!Consume(TokenKind::kRightAngle) && !Consume(TokenKind::kGreater)) return Fail();
      *out = ListOf(Kind::kTuple, std::move(items));
      return true;
    }
    case TokenKind::kLeftFloor:
      return Enclosed(TokenKind::kRightFloor, "floor", out);
    case TokenKind::kLeftCeil:
      return Enclosed(TokenKind::kRightCeil, "ceil", out);
    case TokenKind::kBar:
    case TokenKind::kDoubleBar:
      return Bars(out, kind);
    case TokenKind::kEmptySet:
      *out = ListOf(Kind::kSet, {});
      return true;
    case TokenKind::kEllipsis:
      *out = SymbolOf("...");
      return true;
    default:
      return Fail();
  }
}

bool Descent::Number(Expression* out) {
  if (sub_ > 0) {  // what an argument of one digit has left: "\frac123"
    auto value = ValueInBase(Rest(), 10, options_.limits.digits);
    if (!value) return Fail();
    Advance();
    *out = NumberOf(*std::move(value));
    return true;
  }
  const Token literal = Peek();
  auto value = NumberValue(literal, options_.limits.digits);
  if (!value) return Fail(ParseOutcome::kTooManyDigits);
  parsed_.decimal = parsed_.decimal || literal.has_point;
  Advance();
  if (literal.has_point && Is(TokenKind::kEllipsis) && !EllipsisAfter(literal, &*value)) return Fail();
  *out = NumberOf(*std::move(value));
  return MixedTail(out, literal);
}

// "0.333...": the dots repeat what is repeated already, else they say nothing. Goes past them.
bool Descent::EllipsisAfter(const Token& literal, mpq_class* value) {
  Advance();
  string_view digits = literal.text;
  if (literal.repeating_digits > 0 || literal.has_exponent || literal.fraction_digits > digits.size())
    return true;
  string_view fraction = digits.substr(digits.size() - literal.fraction_digits);
  for (size_t period = 1; period <= 6 && period * 2 < fraction.size() + 1; ++period) {
    size_t repeats = 1;
    string_view last = fraction.substr(fraction.size() - period);
    while ((repeats + 1) * period <= fraction.size() &&
           fraction.substr(fraction.size() - (repeats + 1) * period, period) == last) {
      ++repeats;
    }
    if (repeats < (period == 1 ? 3u : 2u)) continue;
    Token exact = literal;
    exact.text = digits.substr(0, digits.size() - (repeats - 1) * period);
    exact.fraction_digits = static_cast<uint32_t>(fraction.size() - (repeats - 1) * period);
    exact.repeating_digits = static_cast<uint32_t>(period);
    auto repeating = NumberValue(exact, options_.limits.digits);
    if (repeating) *value = *std::move(repeating);
    return true;
  }
  return true;
}

// What "3rd" and "5th" end with.
bool Descent::IsOrdinalEnding(const Token& token) {
  return token.kind == TokenKind::kLetters &&
         (token.text == "st" || token.text == "nd" || token.text == "rd" || token.text == "th");
}

// "1011 base 2", "1011 (base 2)", "1011 in base 2".
bool Descent::InBase(Expression* number, const Token& literal) {
  size_t at = Is(TokenKind::kLeftParen) || IsWord("in") ? 1 : 0;
  if (!IsWord("base", at) || Peek(at + 1).kind != TokenKind::kNumber || literal.has_point) return true;
  auto base = NumberValue(Peek(at + 1), 2);
  bool paren = at == 1 && Is(TokenKind::kLeftParen);
  if (!base || *base < 2 || *base > 36) return Fail();
  auto value = ValueInBase(literal.text, static_cast<int>(base->get_num().get_si()), options_.limits.digits);
  if (!value) return Fail();
  parsed_.base = static_cast<int>(base->get_num().get_si());
  for (size_t i = 0; i < at + 2; ++i) Advance();
  *number = NumberOf(*std::move(value));
  return !paren || Consume(TokenKind::kRightParen) || Fail();
}

// "5 1/2" and "5 and a half": the proper fraction in digits behind an integer in digits. Also "2 million".
bool Descent::MixedTail(Expression* whole, const Token& literal) {
  bool integer = !literal.has_point && !literal.has_exponent;
  if (integer && IsOrdinalEnding(Peek()) && (!Peek().space_before || Peek().in_text)) {
    bool part = index_ > 1 && tokens_[index_ - 2].kind == TokenKind::kDivide;  // "1/4th"
    if (!part) marks_.doubt = UnitDoubt::kChanges;
    Advance();
  }
  if (!TryScale(whole) || !InBase(whole, literal)) return false;
  const Token &above = Peek(), &below = Peek(2);
  if (!integer || above.kind != TokenKind::kNumber || !above.space_before ||
      below.kind != TokenKind::kNumber || Peek(1).kind != TokenKind::kDivide || above.has_point ||
      below.has_point || above.has_exponent || below.has_exponent || Peek(3).kind == TokenKind::kDivide) {
    return true;
  }
  auto top = NumberValue(above, options_.limits.digits), bottom = NumberValue(below, options_.limits.digits);
  if (!top || !bottom) return Fail(ParseOutcome::kTooManyDigits);
  if (*top <= 0 || *top >= *bottom) return Fail();
  *whole->number += *top / *bottom;
  for (int i = 0; i < 3; ++i) Advance();
  return true;
}

// What a command takes: a group, else one digit, letter or sign.
bool Descent::Argument(Expression* out) {
  if (Is(TokenKind::kLeftBrace)) return Group(out);
  Level level(*this);
  if (!level.ok) return false;
  if (Is(TokenKind::kNumber) && !Rest().empty() && IsDigit(Rest()[0])) {
    *out = NumberOf(Rest()[0] - '0');
    if (Rest().size() == 1 || (sub_ == 0 && Peek().has_point)) {
      if (Rest().size() > 1) return Fail();
      Advance();
    } else {
      Step(1);
    }
    return true;
  }
  if (Is(TokenKind::kLetters) && !Peek().in_text) {
    *out = SymbolOf(Rest().substr(0, 1));
    Step(1);
    return true;
  }
  if (Is(TokenKind::kMinus)) {
    Advance();
    if (!Argument(out)) return false;
    *out = Negated(std::move(*out));
    return true;
  }
  return Primary(out);
}

bool Descent::Fraction(Expression* out) {
  Expression above, below;
  if (!Argument(&above) || !Argument(&below)) return false;
  *out = Quotient(std::move(above), std::move(below));
  return true;
}

// After \sqrt: "[3]{x}", "{x}", "(x)", "13", "x".
bool Descent::Root(Expression* out, bool cube) {
  Level level(*this);
  if (!level.ok) return false;
  Expression index = NumberOf(cube ? 3 : 2);
  if (!cube && Consume(TokenKind::kLeftBracket)) {
    if (!Sum(&index) || !Consume(TokenKind::kRightBracket)) return Fail();
  }
  Expression radicand;
  bool whole_number = Is(TokenKind::kNumber) && sub_ == 0;
  if (whole_number) {
    auto value = NumberValue(Peek(), options_.limits.digits);
    if (!value) return Fail(ParseOutcome::kTooManyDigits);
    parsed_.decimal = parsed_.decimal || Peek().has_point;
    radicand = NumberOf(*std::move(value));
    Advance();
  } else if (!Argument(&radicand)) {
    return false;
  }
  *out = RootOf(std::move(radicand), std::move(index));
  return true;
}

// "_5C_2", "{}_nC_r", "^5P_2", after its first sign.
bool Descent::Choices(Expression* out) {
  Expression n, k;
  if (!Argument(&n)) return false;
  bool choose = Is(TokenKind::kLetters) && Rest() == "C", arrange = Is(TokenKind::kLetters) && Rest() == "P";
  if (!choose && !arrange) return Fail();
  Advance();
  if (!Consume(TokenKind::kSubscript) || !Argument(&k)) return Fail();
  *out = choose ? Applied("binomial", std::move(n), std::move(k)) : Arrangements(std::move(n), std::move(k));
  return true;
}

bool Descent::Binomial(Expression* out) {
  Expression above, below;
  if (!Argument(&above) || !Argument(&below)) return false;
  *out = Applied("binomial", std::move(above), std::move(below));
  return true;
}

bool Descent::Accent(Expression* out) {
  std::string name(Peek().text);
  Advance();
  Expression argument;
  if (name == "overset" && !Argument(&argument)) return false;
  if (name == "underline") return Argument(out);
  size_t begin = Peek().begin;
  bool letters = Is(TokenKind::kLeftBrace) && Peek(1).kind == TokenKind::kLetters &&
                 Peek(2).kind == TokenKind::kRightBrace && Peek(1).text.size() > 1;
  if (letters) {
    for (int i = 0; i < 3; ++i) Advance();
  } else if (!Argument(&argument)) {
    return false;
  }
  if (name == "overset") {
    *out = std::move(argument);
  } else if (letters) {  // a segment or an arc
    std::string ends(source_.substr(begin + 1, tokens_[index_ - 1].begin - begin - 1));
    if (name == "overline" && ends.size() == 2 && ends[1] < ends[0]) std::swap(ends[0], ends[1]);
    *out = SymbolOf(ends);
  } else if (argument.kind == Kind::kSymbol && name != "overline") {
    *out = SymbolOf(name + "(" + argument.name + ")");
  } else {
    *out = Applied(name == "overline" ? "conjugate" : name, std::move(argument));
  }
  return true;
}

}  // namespace sluice::math
