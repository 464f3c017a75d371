#include <utility>

#include "absl/strings/match.h"
#include "reward/math/parse/descent.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"

namespace sluice::math {

using absl::string_view;

namespace {

// A point or a column.
bool IsCoordinates(const Expression& e) {
  return e.kind == Kind::kTuple || (e.kind == Kind::kMatrix && e.columns == 1);
}

}  // namespace

bool Descent::Sum(Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  bool outer = std::exchange(later_term_, false);
  bool spread = PlusOrMinusInWords();
  bool negative = !spread && Signs();
  Expression first;
  if (spread || Is(TokenKind::kPlusMinus) || Is(TokenKind::kMinusPlus)) {
    const bool minus = Is(TokenKind::kMinusPlus);
    if (!spread) Advance();
    if (!Term(&first)) return false;
    if (minus) first = Negated(std::move(first));  // "(\pm 1, \mp 2)"
    first = NodeOf(Kind::kPlusMinus, std::move(first));
  } else if (!Term(&first)) {
    return false;
  }
  if (negative) first = Negated(std::move(first));
  std::vector<Expression> terms;
  terms.push_back(std::move(first));
  if (!SumTail(terms)) return false;
  later_term_ = outer;
  *out = terms.size() == 1 ? std::move(terms[0]) : ListOf(Kind::kSum, std::move(terms));
  return Modulo(out);
}

// "plus or minus"
bool Descent::PlusOrMinusInWords() {
  if (!Is(TokenKind::kPlus) || !IsWord("or", 1) || Peek(2).kind != TokenKind::kMinus) return false;
  for (int i = 0; i < 3; ++i) Advance();
  return true;
}

// Goes past "+" and "-"; whether they make a minus.
bool Descent::Signs() {
  bool negative = false;
  auto spelled = [&] {  // "negative seven"
    const Token& next = Peek(1);
    return IsWord("negative") &&
           (next.kind == TokenKind::kNumber || next.kind == TokenKind::kFraction || next.text == "infinity" ||
            (next.kind == TokenKind::kLetters && NumberWordValue(next.text)));
  };
  while (Is(TokenKind::kPlus) || Is(TokenKind::kMinus) || spelled()) {
    if (!Is(TokenKind::kPlus)) negative = !negative;
    Advance();
  }
  return negative;
}

// Further terms; "a \pm b" closes the sum before it.
bool Descent::SumTail(std::vector<Expression>& terms) {
  int spreads = 0;
  while (true) {
    TokenKind sign = Peek().kind;
    bool spread = sign == TokenKind::kPlusMinus || sign == TokenKind::kMinusPlus;
    if (sign != TokenKind::kPlus && sign != TokenKind::kMinus && !spread) return true;
    if (PlusOrMinusInWords()) {
      spread = true;
    } else {
      Advance();
    }
    later_term_ = true;
    bool negative = (sign == TokenKind::kMinus || sign == TokenKind::kMinusPlus) != Signs();
    Expression term;
    if (!Term(&term)) return false;
    if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
    if (negative) term = Negated(std::move(term));
    if (!spread) {
      terms.push_back(std::move(term));
      continue;
    }
    if (++spreads > 4) return Fail();
    Expression before = terms.size() == 1 ? std::move(terms[0]) : ListOf(Kind::kSum, std::move(terms));
    terms.clear();
    terms.push_back(NodeOf(Kind::kPlusMinus, std::move(before), std::move(term)));
  }
}

// "a \pmod{b}", "a mod b", "a (mod b)".
bool Descent::Modulo(Expression* out) {
  bool paren = Is(TokenKind::kLeftParen) && Peek(1).kind == TokenKind::kMod;
  if (!paren && !Is(TokenKind::kMod)) return true;
  Advance();
  if (paren) Advance();
  Expression modulus;
  if (!Term(&modulus)) return false;
  if (paren && !Consume(TokenKind::kRightParen)) return Fail();
  *out = Applied("mod", std::move(*out), std::move(modulus));
  return true;
}

bool Descent::Term(Expression* out) {
  std::vector<Expression> factors;
  factors.reserve(2);
  const Token& digits = Peek(Is(TokenKind::kCurrency) ? 1 : 0);  // "\$3\frac12"
  bool literal = digits.kind == TokenKind::kNumber && !digits.has_point && !digits.has_exponent;
  Expression first;
  if (!Factor(&first)) return false;
  literal = literal && IsNumber(first);
  factors.push_back(std::move(first));
  if (literal && (Is(TokenKind::kFraction) || Is(TokenKind::kVulgar)) && !TextUnitFraction()) {
    if (!Multiply(factors, true)) return false;
  }
  if (!TermTail(factors)) return false;
  *out = ProductOf(std::move(factors));
  return true;
}

bool Descent::TermTail(std::vector<Expression>& factors) {
  while (true) {
    if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
    if (Is(TokenKind::kDivide) && !StartsUnitBelow()) {
      Advance();
      if (!Divide(factors)) return false;
    } else if (Is(TokenKind::kTimes) || ConsumeTimesLetter()) {
      if (!Times(factors)) return false;
    } else {
      size_t before = index_;
      if (!Unit(factors)) return false;
      if (index_ != before) continue;
      if (!StartsFactor()) return true;
      if (!Multiply(factors, false)) return false;
    }
  }
}

// The factor behind a sign; between vectors "\times" is no "\cdot".
bool Descent::Times(std::vector<Expression>& factors) {
  const bool sign = Is(TokenKind::kTimes) && Peek().text == "cross";
  const bool marked = sign && index_ > 0 && IsVector(index_ - 1, false) && IsVector(index_ + 1, true);
  Consume(TokenKind::kTimes);
  bool literal = Is(TokenKind::kNumber) && !Peek().has_point && !Peek().has_exponent;
  Expression factor;
  if (!SignedFactor(&factor)) return false;
  if (marked || (sign && IsCoordinates(factors.back()) && IsCoordinates(factor))) {
    factors.back() = CrossProduct(std::move(factors.back()), std::move(factor));
    return true;
  }
  literal = literal && IsNumber(factor);
  factors.push_back(std::move(factor));
  return !literal || (!Is(TokenKind::kFraction) && !Is(TokenKind::kVulgar)) || Multiply(factors, true);
}

// Whether the factor that ends or begins at `at` is marked as a vector, by an arrow or bold letters; a
// magnitude, a function and a product in parentheses are none.
bool Descent::IsVector(size_t at, bool forward) const {
  constexpr int kMostTokens = 32;
  const TokenKind paren = forward ? TokenKind::kLeftParen : TokenKind::kRightParen;
  const TokenKind brace = forward ? TokenKind::kLeftBrace : TokenKind::kRightBrace;
  const TokenKind paren_end = forward ? TokenKind::kRightParen : TokenKind::kLeftParen;
  const TokenKind brace_end = forward ? TokenKind::kRightBrace : TokenKind::kLeftBrace;
  int open = 0;
  bool vector = false;
  for (int seen = 0; seen < kMostTokens && at < tokens_.size(); ++seen) {
    const Token& token = tokens_[at];
    const TokenKind kind = token.kind;
    if (kind == paren || kind == brace) ++open;
    if ((kind == paren_end || kind == brace_end) && --open < 0) break;
    if (token.bold && kind == TokenKind::kNumber) return false;  // a formula that is set off
    const bool bar = kind == TokenKind::kBar || kind == TokenKind::kDoubleBar;
    if (bar && seen > 0 && open == 0) break;
    if (bar || kind == TokenKind::kFunction) return false;
    const bool product = kind == TokenKind::kTimes;
    if (product && open > 0) return false;
    const bool sign = product || kind == TokenKind::kPlus || kind == TokenKind::kMinus ||
                      kind == TokenKind::kComma || kind == TokenKind::kEqual || kind == TokenKind::kEnd ||
                      kind == TokenKind::kDivide;
    if (sign && open == 0) break;
    vector = vector || (token.bold && kind == TokenKind::kLetters) ||
             (kind == TokenKind::kAccent && token.text == "vec");
    at += forward ? 1 : static_cast<size_t>(-1);
  }
  return vector;
}

// b x a is -(a x b).
Expression Descent::CrossProduct(Expression a, Expression b) {
  if (ToText(b) < ToText(a)) return Negated(Applied("cross", std::move(b), std::move(a)));
  return Applied("cross", std::move(a), std::move(b));
}

// The letter of "3 x 10^8".
bool Descent::ConsumeTimesLetter() {
  bool letter = Is(TokenKind::kLetters) && (Peek().text == "x" || Peek().text == "X") && sub_ == 0 &&
                index_ > 0 && tokens_[index_ - 1].kind == TokenKind::kNumber &&
                Peek(1).kind == TokenKind::kNumber && tokens_[index_ - 1].text != "0";
  if (letter) Advance();
  return letter;
}

// "A(1, 2)" is a point; "C(5, 2)" are choices, less likely a point; "P(5, 2)" is a point, less likely
// arrangements.
Expression Descent::NamedPair(char name, Expression pair) {
  if (pair.args.size() != 2 || (name != 'C' && name != 'P')) return pair;
  if (Flipped(kNamedPoint) == (name == 'C')) return pair;
  Expression lower = std::move(pair.args[1]);
  if (name == 'C') return Applied("binomial", std::move(pair.args[0]), std::move(lower));
  return Arrangements(std::move(pair.args[0]), std::move(lower));
}

// Multiplies by the next factor. `mixed`: the factor before is an integer in digits, so that a proper
// fraction is added to it, "5\frac{1}{2}".
bool Descent::Multiply(std::vector<Expression>& factors, bool mixed) {
  Expression factor;
  if (!Factor(&factor)) return false;
  mixed = mixed && IsNumber(factor) && *factor.number > 0 && *factor.number < 1;
  bool named = factor.kind == Kind::kTuple && factors.size() == 1 && factors[0].kind == Kind::kSymbol &&
               factors[0].name.size() == 1 && IsUpper(factors[0].name[0]);
  if (named) {
    factors[0] = NamedPair(factors[0].name[0], std::move(factor));
    return true;
  }
  if (mixed) {
    *factors.back().number += *factor.number;
  } else {
    factors.push_back(std::move(factor));
  }
  return true;
}

bool Descent::Divide(std::vector<Expression>& factors) {
  Expression below;
  if (!SignedFactor(&below)) return false;
  // "a/bc" and "1/2x": what follows directly may belong below the line; within a run of letters it likely
  // does.
  bool run = sub_ > 0;
  if (StartsFactor() && (run || !Peek().space_before) && !Is(TokenKind::kLeftParen) &&
      Flipped(kSlashProduct) != run) {
    std::vector<Expression> product;
    product.push_back(std::move(below));
    while (StartsFactor()) {
      if (!Multiply(product, false)) return false;
    }
    below = ProductOf(std::move(product));
  }
  bool literals = IsNumber(factors.back()) && IsNumber(below) && *below.number != 0;
  if (literals) {
    *factors.back().number /= *below.number;
  } else {
    factors.push_back(Inverted(std::move(below)));
  }
  return true;
}

// Whether a factor follows without a sign between.
bool Descent::StartsFactor() const {
  const Token& token = Peek();
  switch (token.kind) {
    case TokenKind::kLetters: {
      if (IsUnionLetter()) return false;
      if (sub_ > 0 || token.text.size() == 1) return true;
      if (token.in_text) return FindSpelled(token.text).has_value();
      if (FindSpelled(token.text)) return true;
      return IsProductOfLetters(token.text, token.space_before);
    }
    case TokenKind::kSymbol:
    case TokenKind::kFunction:
    case TokenKind::kOperator:
    case TokenKind::kFraction:
    case TokenKind::kRoot:
    case TokenKind::kCubeRoot:
    case TokenKind::kBinomial:
    case TokenKind::kVulgar:
    case TokenKind::kAccent:
    case TokenKind::kEnvironmentBegin:
    case TokenKind::kLeftBrace:
    case TokenKind::kLeftFloor:
    case TokenKind::kLeftCeil:
      return true;
    case TokenKind::kEllipsis:  // "2 \cdots n", not the end of a list
      return Peek(1).kind != TokenKind::kEnd && Peek(1).kind != TokenKind::kComma &&
             Peek(1).kind != TokenKind::kRightSet && Peek(1).kind != TokenKind::kRightParen;
    case TokenKind::kLeftParen: {  // not "(mod 5)" nor "(five)"
      const Token& first = Peek(1);
      bool word = first.kind == TokenKind::kLetters && first.text.size() > 1 && !FindSpelled(first.text) &&
                  !IsProductOfLetters(first.text, true);
      bool domain = first.kind == TokenKind::kLetters && first.text.size() == 1 &&
                    Peek(2).kind == TokenKind::kIn;  // "(k \in \mathbb{Z})"
      return first.kind != TokenKind::kMod && !word && !domain;
    }
    case TokenKind::kLeftBracket: {  // not "[2, 5["
      TokenKind next = Peek(1).kind;
      return !token.space_before && (next == TokenKind::kNumber || next == TokenKind::kLetters ||
                                     next == TokenKind::kLeftParen || next == TokenKind::kMinus);
    }
    case TokenKind::kBar:
    case TokenKind::kDoubleBar:
      return bar_ == Bar::kOpens;
    case TokenKind::kNumber: {
      if (index_ == 0 || sub_ > 0) return sub_ > 0;
      TokenKind last = tokens_[index_ - 1].kind;
      if (tokens_[index_ - 1].text == "i" && !token.space_before) return true;  // "i9"
      const bool letter = last == TokenKind::kLetters && tokens_[index_ - 1].text.size() == 1;
      if (letter && Peek(1).kind == TokenKind::kPower) return true;  // "n 2^{n-1}"
      return last == TokenKind::kRightParen || last == TokenKind::kRightBrace ||
             last == TokenKind::kFactorial || last == TokenKind::kSymbol;
    }
    default:
      return false;
  }
}

bool Descent::SignedFactor(Expression* out) {
  bool negative = Signs();
  if (!Factor(out)) return false;
  if (negative) *out = Negated(std::move(*out));
  return true;
}

bool Descent::Factor(Expression* out) {
  Level level(*this);
  return level.ok && Primary(out) && Postfixes(out);
}

bool Descent::Postfixes(Expression* base) {
  for (int wraps = 0;; ++wraps) {
    if (wraps > 8) return Fail();
    switch (Peek().kind) {
      case TokenKind::kLetters: {
        if (!IsNumber(*base) || (!IsWord("squared") && !IsWord("cubed"))) return true;
        Expression exponent = NumberOf(IsWord("squared") ? 2 : 3);
        *base = NodeOf(Kind::kPower, std::move(*base), std::move(exponent));
        Advance();
        break;
      }
      case TokenKind::kPower:
        Advance();
        if (!Exponent(base)) return false;
        break;
      case TokenKind::kSuperDigits: {
        Expression exponent = Peek().text.empty() ? NumberOf(Peek().value) : SymbolOf(Peek().text);
        *base = NodeOf(Kind::kPower, std::move(*base), std::move(exponent));
        Advance();
        break;
      }
      case TokenKind::kFactorial:
        if (!Factorial(base)) return false;
        break;
      case TokenKind::kPercent:
        Advance();
        if (!Percent(base)) return false;
        break;
      case TokenKind::kDegree:
        Advance();
        if (!Degree(base)) return false;
        break;
      default:
        return true;
    }
  }
}

// "n!", and "7!!", the product of every second number up to 7.
bool Descent::Factorial(Expression* base) {
  constexpr unsigned long kLargest = 300;
  Advance();
  if (!Is(TokenKind::kFactorial)) {
    *base = Applied("factorial", std::move(*base));
    return true;
  }
  Advance();
  if (!IsNumber(*base) || base->number->get_den() != 1 || *base->number < 0 || *base->number > kLargest) {
    *base = Applied("double factorial", std::move(*base));
    return true;
  }
  mpz_class product;
  mpz_2fac_ui(product.get_mpz_t(), base->number->get_num().get_ui());
  *base = NumberOf(mpq_class(product));
  return true;
}

// What stands behind "^".
bool Descent::Exponent(Expression* base) {
  bool group = Is(TokenKind::kLeftBrace);
  const Token& inner = Peek(group ? 1 : 0);
  bool closes = !group || Peek(2).kind == TokenKind::kRightBrace;
  if (closes && inner.kind == TokenKind::kDegree) {
    for (int i = group ? 3 : 1; i > 0; --i) Advance();
    return Degree(base);
  }
  if (closes && IsOrdinalEnding(inner) && IsNumber(*base)) {
    marks_.doubt = UnitDoubt::kChanges;
    for (int i = group ? 3 : 1; i > 0; --i) Advance();
    return true;
  }
  if (closes && inner.kind == TokenKind::kLetters && inner.text == "o" && IsNumber(*base)) {  // a degree sign
    for (int i = group ? 3 : 1; i > 0; --i) Advance();
    return Degree(base);
  }
  Expression exponent;
  if (!ExponentValue(&exponent)) return false;
  *base = NodeOf(Kind::kPower, std::move(*base), std::move(exponent));
  return true;
}

bool Descent::ExponentValue(Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  bool negative = Signs();
  if (Is(TokenKind::kLeftBrace) ? !Group(out) : !Primary(out)) return false;
  if (Consume(TokenKind::kPower)) {  // towers hang to the right
    Expression upper;
    if (!ExponentValue(&upper)) return false;
    *out = NodeOf(Kind::kPower, std::move(*out), std::move(upper));
  }
  if (negative) *out = Negated(std::move(*out));
  return true;
}

// Behind the only term of an item the sign marks the answer; anywhere else it is a hundredth.
bool Descent::Percent(Expression* base) {
  TokenKind next = Peek().kind;
  bool ends = next == TokenKind::kEnd || next == TokenKind::kComma || next == TokenKind::kSemicolon ||
              next == TokenKind::kAnd || next == TokenKind::kLetters;
  if (enclosed_ == 0 && in_function_ == 0 && ends && !later_term_) {
    marks_.percent = true;
    return true;
  }
  *base = Quotient(std::move(*base), NumberOf(100));
  return true;
}

// Where the token behind `count` primes is, "30'" or "30^{\prime}"; 0 for any other number of them.
size_t Descent::PastPrimes(size_t ahead, size_t count) const {
  const bool power = Peek(ahead).kind == TokenKind::kPower;
  const bool group = power && Peek(ahead + 1).kind == TokenKind::kLeftBrace;
  ahead += (power ? 1 : 0) + (group ? 1 : 0);
  for (; Peek(ahead).kind == TokenKind::kPrime; ++ahead) {
    if (count-- == 0) return 0;
  }
  if (count > 0 || (group && Peek(ahead).kind != TokenKind::kRightBrace)) return 0;
  return ahead + (group ? 1 : 0);
}

// "30' 15''" behind the sign of degrees: adds sixtieths of them.
bool Descent::Minutes(Expression* degrees) {
  int part = 60;
  for (size_t primes = 1; primes <= 2; ++primes, part *= 60) {
    if (!IsNumber(*degrees) || !Is(TokenKind::kNumber) || sub_ > 0) return true;
    size_t end = PastPrimes(1, primes);
    if (end == 0) return true;
    auto value = NumberValue(Peek(), options_.limits.digits);
    if (!value || *value >= 60) return Fail();
    *degrees->number += *value / part;
    for (; end > 0; --end) Advance();
  }
  return true;
}

// At the top a unit; in brackets and functions an angle in radians.
bool Descent::Degree(Expression* base) {
  bool temperature =
      Is(TokenKind::kLetters) && sub_ == 0 &&
      (Peek().text == "C" || Peek().text == "F" || absl::EqualsIgnoreCase(Peek().text, "celsius") ||
       absl::EqualsIgnoreCase(Peek().text, "fahrenheit"));
  if (temperature) {
    bool celsius = absl::EqualsIgnoreCase(Peek().text.substr(0, 1), "c");
    Advance();
    return SetUnit(celsius ? "celsius" : "fahrenheit");
  }
  if (!Minutes(base)) return false;
  if (enclosed_ == 0 && in_function_ == 0) return SetUnit("degree");
  std::vector<Expression> factors;
  factors.push_back(Quotient(std::move(*base), NumberOf(180)));
  factors.push_back(SymbolOf("pi"));
  *base = ProductOf(std::move(factors));
  return true;
}

}  // namespace sluice::math
