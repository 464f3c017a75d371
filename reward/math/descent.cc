#include "reward/math/descent.h"

#include <utility>

#include "absl/strings/match.h"
#include "reward/math/number_lexer.h"
#include "reward/math/units.h"
#include "reward/math/words.h"

namespace sluice::math {

using absl::string_view;

ParseOutcome Descent::Run() {
  bool read = AnswerList();
  if (read) SkipRemark();
  while (read && Is(TokenKind::kPeriod)) Advance();
  if (read && !Is(TokenKind::kEnd)) Fail();
  return outcome_;
}

// "5 (five)": words in parentheses at the end.
void Descent::SkipRemark() {
  if (!Is(TokenKind::kLeftParen)) return;
  size_t ahead = 1;
  while (Peek(ahead).kind == TokenKind::kLetters) ++ahead;
  if (ahead == 1 || Peek(ahead).kind != TokenKind::kRightParen || Peek(ahead + 1).kind != TokenKind::kEnd)
    return;
  for (; ahead > 0; --ahead) Advance();
  Advance();
}

bool Descent::IsWord(string_view word, size_t ahead) const {
  return Peek(ahead).kind == TokenKind::kLetters && absl::EqualsIgnoreCase(Peek(ahead).text, word);
}

bool Descent::Consume(TokenKind kind) {
  if (!Is(kind)) return false;
  Advance();
  return true;
}

bool Descent::Fail(ParseOutcome why) {
  if (outcome_ == ParseOutcome::kParsed) outcome_ = why;
  return false;
}

bool Descent::Down() {
  if (++depth_ > options_.limits.depth) return Fail(ParseOutcome::kTooDeep);
  if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
  return outcome_ == ParseOutcome::kParsed;
}

bool Descent::Flipped(Ambiguity which) {
  parsed_.met |= which;
  return (options_.flipped & which) != 0;
}

void Descent::Step(size_t bytes) {
  sub_ += bytes;
  if (sub_ >= Peek().text.size()) Advance();
}

// The whole answer. Percent signs and units belong to the answer if all items have them alike (a unit may
// stand behind the last only); a percent sign on some of them is a hundredth.
bool Descent::AnswerList() {
  std::vector<ItemMarks> marks;
  do {
    SkipFillers();
    marks_ = {};
    Expression item;
    if (!Statement(&item) || !CompoundTail(&item)) return false;
    parsed_.items.push_back(std::move(item));
    marks.push_back(std::move(marks_));
  } while (ConsumeJoint(&parsed_.joints) && !Is(TokenKind::kEnd));
  return CollectMarks(marks);
}

bool Descent::CollectMarks(std::vector<ItemMarks>& marks) {
  if (JoinCompound(marks)) return true;
  size_t percents = 0;
  for (const ItemMarks& m : marks) {
    percents += m.percent ? 1 : 0;
    if (m.unit.empty()) continue;
    if (!parsed_.unit.empty() && parsed_.unit != m.unit) return Fail();
    parsed_.unit = m.unit;
  }
  parsed_.percent = percents == marks.size() || (percents == 1 && marks.back().percent);
  for (size_t i = 0; percents > 0 && !parsed_.percent && i < marks.size(); ++i) {
    if (!marks[i].percent) continue;
    Expression& item = parsed_.items[i];
    item = Quotient(std::move(item), NumberOf(100));
  }
  return true;
}

// "4 ft 3 in": further numbers with smaller units.
bool Descent::CompoundTail(Expression* item) {
  for (int parts = 0; Is(TokenKind::kNumber) && !marks_.unit.empty() && parts < 4; ++parts) {
    std::string unit = std::exchange(marks_.unit, "");
    Expression smaller;
    if (!Statement(&smaller) || !Compound(item, unit, std::move(smaller), marks_.unit)) return Fail();
  }
  return true;
}

// "2 hours and 30 minutes" is one item.
bool Descent::JoinCompound(std::vector<ItemMarks>& marks) {
  bool two = marks.size() == 2 && parsed_.joints.and_word && marks[0].unit != marks[1].unit;
  if (!two || !Compound(&parsed_.items[0], marks[0].unit, parsed_.items[1], marks[1].unit)) return false;
  parsed_.items.pop_back();
  parsed_.unit = marks[1].unit;
  return true;
}

// Adds both in the smaller unit.
bool Descent::Compound(Expression* larger, string_view larger_unit, Expression smaller, string_view unit) {
  int ratio = SmallerUnits(larger_unit, unit);
  if (ratio == 0 || !IsNumber(*larger) || !IsNumber(smaller)) return false;
  *larger->number = *larger->number * ratio + *smaller.number;
  return true;
}

// Statements with joints between them, at least one; for use within brackets.
bool Descent::Items(std::vector<Expression>* items, Joints* joints) {
  Level level(*this);
  if (!level.ok) return false;
  ++enclosed_;
  do {
    Expression item;
    if (!Statement(&item)) return false;
    items->push_back(std::move(item));
  } while (ConsumeJoint(joints));
  --enclosed_;
  return true;
}

// "," ";" "and" "or", also ", and".
bool Descent::ConsumeJoint(Joints* joints) {
  bool any = false;
  for (bool again = true; again; any = any || again) {
    again = true;
    bool line = Is(TokenKind::kSemicolon);
    if (Consume(TokenKind::kComma) || Consume(TokenKind::kSemicolon)) {
      if (any && !line) return true;  // the next item fails at a second comma
      joints->comma = true;
    } else if (Is(TokenKind::kAnd) || (Is(TokenKind::kLetters) && RoleOf(Rest()) == WordRole::kAnd)) {
      joints->logical = joints->logical || Peek().spelled;
      Advance();
      joints->and_word = true;
    } else if (Is(TokenKind::kOr) || (Is(TokenKind::kLetters) && RoleOf(Rest()) == WordRole::kOr)) {
      joints->logical = joints->logical || Is(TokenKind::kOr);
      Advance();
      joints->or_word = true;
    } else {
      again = false;
    }
  }
  return any;
}

// "approximately", "=", "\approx" before a value.
void Descent::SkipFillers() {
  while (true) {
    bool word = Is(TokenKind::kLetters) && RoleOf(Peek().text) == WordRole::kFiller;
    if (!word && !Is(TokenKind::kEqual) && !Is(TokenKind::kApproximately)) return;
    Advance();
  }
}

bool Descent::ConsumeRelation(Relation* relation) {
  static constexpr struct {
    TokenKind kind;
    Relation relation;
  } kRelations[] = {{TokenKind::kEqual, Relation::kEqual},
                    {TokenKind::kNotEqual, Relation::kNotEqual},
                    {TokenKind::kLess, Relation::kLess},
                    {TokenKind::kLessEqual, Relation::kLessEqual},
                    {TokenKind::kGreater, Relation::kGreater},
                    {TokenKind::kGreaterEqual, Relation::kGreaterEqual},
                    {TokenKind::kIn, Relation::kIn},
                    {TokenKind::kNotIn, Relation::kNotIn},
                    {TokenKind::kApproximately, Relation::kApproximately},
                    {TokenKind::kCongruent, Relation::kEqual}};
  for (const auto& entry : kRelations) {
    if (!Consume(entry.kind)) continue;
    *relation = entry.relation;
    return true;
  }
  if (!IsWord("in")) return false;
  Advance();
  *relation = Relation::kIn;
  return true;
}

// "3 : 2"
bool Descent::Ratio(Expression* out) {
  *out = Applied("ratio", std::move(*out));
  while (Consume(TokenKind::kColon)) {
    Expression part;
    if (!SetTerm(&part)) return false;
    if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
    out->args.push_back(std::move(part));
  }
  return true;
}

// Values with relations between them.
bool Descent::Statement(Expression* out) {
  if (!SetTerm(out)) return false;
  if (Is(TokenKind::kOver) || Is(TokenKind::kChoose)) {
    bool choose = Is(TokenKind::kChoose);
    Advance();
    Expression below;
    if (!SetTerm(&below)) return false;
    *out = choose ? Applied("binomial", std::move(*out), std::move(below))
                  : Quotient(std::move(*out), std::move(below));
  }
  bool word = out->kind == Kind::kSymbol && out->name.size() > 1;
  if (Is(TokenKind::kColon) && enclosed_ == 0 && !word && !Ratio(out)) return false;
  Relation relation;
  if (!ConsumeRelation(&relation)) return true;
  Expression chain = NodeOf(Kind::kRelation, std::move(*out));
  do {
    chain.relations.push_back(relation);
    Expression right;
    if (!SetTerm(&right)) return false;
    if (relation == Relation::kIn || relation == Relation::kNotIn) {
      right = AsSet(std::move(right));
    }
    chain.args.push_back(std::move(right));
    if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
  } while (ConsumeRelation(&relation));
  *out = std::move(chain);
  return true;
}

// "(1, 2) U (3, 4)"
bool Descent::IsUnionLetter() const {
  if (!Is(TokenKind::kLetters) || sub_ > 0 || Peek().text != "U" || index_ == 0) return false;
  TokenKind before = tokens_[index_ - 1].kind, behind = Peek(1).kind;
  return (before == TokenKind::kRightParen || before == TokenKind::kRightBracket ||
          before == TokenKind::kRightSet) &&
         (behind == TokenKind::kLeftParen || behind == TokenKind::kLeftBracket ||
          behind == TokenKind::kLeftSet);
}

bool Descent::SetOperator(Kind* kind) {
  if (Consume(TokenKind::kUnion)) {
    *kind = Kind::kUnion;
  } else if (Consume(TokenKind::kIntersection)) {
    *kind = Kind::kIntersection;
  } else if (Consume(TokenKind::kSetMinus)) {
    *kind = Kind::kDifference;
  } else if (IsUnionLetter()) {
    Advance();
    *kind = Kind::kUnion;
  } else {
    return false;
  }
  return true;
}

// A pair as the interval that it is among sets.
Expression Descent::AsSet(Expression e) {
  if (e.kind != Kind::kTuple || e.args.size() != 2) return e;
  return PairOf(std::move(e.args), e.closed_left, e.closed_right);
}

// Unions, intersections and differences, from left to right; pairs in them are open intervals.
bool Descent::SetTerm(Expression* out) {
  if (!Sum(out)) return false;

  Kind kind;
  for (int chained = 0; SetOperator(&kind); ++chained) {
    Expression right;
    if (!Sum(&right)) return false;
    *out = AsSet(std::move(*out));
    right = AsSet(std::move(right));
    if (out->kind == kind && kind != Kind::kDifference) {
      out->args.push_back(std::move(right));
    } else {
      if (chained >= options_.limits.depth) return Fail(ParseOutcome::kTooDeep);
      *out = NodeOf(kind, std::move(*out), std::move(right));
    }
  }
  return true;
}

bool Descent::Sum(Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  bool outer = std::exchange(later_term_, false);
  bool spread = PlusOrMinusInWords();
  bool negative = !spread && Signs();
  Expression first;
  if (spread || Is(TokenKind::kPlusMinus) || Is(TokenKind::kMinusPlus)) {
    if (!spread) Advance();
    if (!Term(&first)) return false;
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
  while (Is(TokenKind::kPlus) || Is(TokenKind::kMinus)) {
    if (Is(TokenKind::kMinus)) negative = !negative;
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
  bool literal = Is(TokenKind::kNumber) && !Peek().has_point && !Peek().has_exponent;
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
    } else if (Consume(TokenKind::kTimes) || ConsumeTimesLetter()) {
      bool literal = Is(TokenKind::kNumber) && !Peek().has_point && !Peek().has_exponent;
      Expression factor;
      if (!SignedFactor(&factor)) return false;
      literal = literal && IsNumber(factor);
      factors.push_back(std::move(factor));
      if (literal && (Is(TokenKind::kFraction) || Is(TokenKind::kVulgar)) && !Multiply(factors, true))
        return false;
    } else {
      size_t before = index_;
      if (!Unit(factors)) return false;
      if (index_ != before) continue;
      if (!StartsFactor()) return true;
      if (!Multiply(factors, false)) return false;
    }
  }
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
      return first.kind != TokenKind::kMod && !word;
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
        Advance();
        *base = Applied("factorial", std::move(*base));
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
  if (enclosed_ == 0 && in_function_ == 0) return SetUnit("degree");
  std::vector<Expression> factors;
  factors.push_back(Quotient(std::move(*base), NumberOf(180)));
  factors.push_back(SymbolOf("pi"));
  *base = ProductOf(std::move(factors));
  return true;
}

ParseOutcome ParseTokens(absl::Span<const Token> tokens, string_view source, const GrammarOptions& options,
                         Parsed* parsed) {
  return Descent(tokens, source, options, parsed).Run();
}

}  // namespace sluice::math
