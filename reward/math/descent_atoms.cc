#include <utility>

#include "absl/strings/match.h"
#include "reward/math/descent.h"
#include "reward/math/number_lexer.h"
#include "reward/math/words.h"

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
  if (integer && IsOrdinalEnding(Peek()) && !Peek().space_before) Advance();
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

// "{...}" as LaTeX groups; "{1, 2}" with commas is a set all the same. The last brace may be missing.
bool Descent::Group(Expression* out, bool alone) {
  Level level(*this);
  if (!level.ok) return false;
  Advance();
  if (Consume(TokenKind::kRightBrace)) {
    if (StartsFactor() || Is(TokenKind::kSubscript) || Is(TokenKind::kPower)) return Primary(out);  // "{}x"
    *out = ListOf(Kind::kSet, {});
    return true;
  }
  Bar outer = std::exchange(bar_, alone ? Bar::kSeparates : Bar::kOpens);
  if (alone) ++enclosed_;  // "{x : x > 3}"
  Expression first;
  if (!Statement(&first)) return false;
  bar_ = outer;
  if (alone) --enclosed_;
  if (arrow_ && Consume(TokenKind::kArrow)) {
    Expression goal;
    if (!Statement(&goal)) return false;
    first = Applied("to", std::move(first), std::move(goal));
  }
  if (alone && (Is(TokenKind::kBar) || Is(TokenKind::kColon))) {
    Advance();
    Expression element = std::move(first);
    if (!SetCondition(std::move(element), &first)) return Fail();
  }

  if (Is(TokenKind::kComma) || Is(TokenKind::kSemicolon)) {
    std::vector<Expression> items;
    items.push_back(std::move(first));
    Joints joints;
    ConsumeJoint(&joints);
    if (!Items(&items, &joints)) return false;
    first = ListOf(Kind::kSet, std::move(items));
  }
  if (!Consume(TokenKind::kRightBrace) && !Is(TokenKind::kEnd)) return Fail();
  *out = std::move(first);
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

// A pair in brackets of which at least one is round or square: an interval, unless both are round (then a
// point is likelier) or the other reading is asked for.
Expression Descent::PairOf(std::vector<Expression> items, bool closed_left, bool closed_right) {
  Expression upper = std::move(items[1]);
  return IntervalOf(std::move(items[0]), closed_left, std::move(upper), closed_right);
}

// After "(".
bool Descent::Paren(Expression* out) {
  std::vector<Expression> items;
  Joints joints;
  Bar outer = std::exchange(bar_, Bar::kOpens);
  size_t first = index_;
  if (!Items(&items, &joints)) return false;
  bar_ = outer;
  if (Consume(TokenKind::kRightBracket)) {
    if (items.size() != 2) return Fail();
    *out = PairOf(std::move(items), false, true);
    return true;
  }
  if (!Consume(TokenKind::kRightParen) && !Is(TokenKind::kEnd)) return Fail();
  if (items.size() == 1) {
    bool digits =
        index_ == first + 2 && Is(TokenKind::kSubscript) && tokens_[first].kind == TokenKind::kNumber;
    *out = std::move(items[0]);
    if (!digits) return true;
    Advance();  // "(1011)_2"
    Expression base;
    if (!Argument(&base) || !IsNumber(base) || base.number->get_num() > 36 || *base.number < 2) return Fail();
    parsed_.base = static_cast<int>(base.number->get_num().get_si());
    auto value = ValueInBase(tokens_[first].text, parsed_.base, options_.limits.digits);
    if (!value) return Fail();
    *out = NumberOf(*std::move(value));
    return true;
  }
  bool infinite = items.size() == 2 && (IsInfinite(items[0]) || IsInfinite(items[1]));
  if (items.size() == 2 && (infinite || Flipped(kOpenPair))) {
    *out = PairOf(std::move(items), false, false);
  } else {
    *out = ListOf(Kind::kTuple, std::move(items));
  }
  return true;
}

// After "]" at the front: "]2, 5[" and "]2, 5]".
bool Descent::OpenedLeft(Expression* out) {
  std::vector<Expression> items;
  Joints joints;
  if (!Items(&items, &joints) || items.size() != 2) return Fail();
  bool closed = Is(TokenKind::kRightBracket);
  if (!closed && !Is(TokenKind::kLeftBracket)) return Fail();
  Advance();
  *out = PairOf(std::move(items), false, closed);
  return true;
}

// After "[".
bool Descent::Bracket(Expression* out) {
  if (Is(TokenKind::kLeftBracket)) return Rows(out);
  std::vector<Expression> items;
  Joints joints;
  Bar outer = std::exchange(bar_, Bar::kOpens);
  if (!Items(&items, &joints)) return false;
  bar_ = outer;
  bool open_right = Is(TokenKind::kRightParen) || (Is(TokenKind::kLeftBracket) && items.size() == 2);
  if (!open_right && !Is(TokenKind::kRightBracket) && !Is(TokenKind::kEnd)) return Fail();
  Advance();
  if (items.size() == 1 && !open_right) {
    *out = std::move(items[0]);
  } else if (items.size() == 2 && (open_right || !Flipped(kClosedPair))) {
    *out = PairOf(std::move(items), true, !open_right);
  } else if (!open_right) {
    *out = ListOf(Kind::kTuple, std::move(items));
    out->closed_left = out->closed_right = true;  // among sets it is an interval after all
  } else {
    return Fail();
  }
  return true;
}

// After the first "[" of "[[1, 2], [3, 4]]".
bool Descent::Rows(Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  Expression matrix;
  matrix.kind = Kind::kMatrix;
  do {
    if (!Consume(TokenKind::kLeftBracket)) return Fail();
    size_t before = matrix.args.size();
    Joints joints;
    if (!Items(&matrix.args, &joints) || !Consume(TokenKind::kRightBracket)) return Fail();
    int columns = static_cast<int>(matrix.args.size() - before);
    if (matrix.columns != 0 && matrix.columns != columns) return Fail();
    matrix.columns = columns;
  } while (Consume(TokenKind::kComma) || Consume(TokenKind::kSemicolon) || Is(TokenKind::kLeftBracket));
  if (!Consume(TokenKind::kRightBracket)) return Fail();
  *out = std::move(matrix);
  return true;
}

// After "\{": elements, or an element and a condition.
bool Descent::Braced(Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  if (Consume(TokenKind::kRightSet)) {
    *out = ListOf(Kind::kSet, {});
    return true;
  }
  Bar outer = std::exchange(bar_, Bar::kSeparates);
  std::vector<Expression> items;
  Joints joints;
  if (!Items(&items, &joints)) return false;
  bar_ = outer;
  bool condition = Is(TokenKind::kBar) || Is(TokenKind::kColon);
  if (condition) {
    Advance();
    if (items.size() != 1 || !SetCondition(std::move(items[0]), out)) return Fail();
  } else {
    *out = ListOf(Kind::kSet, std::move(items));
  }
  if (!Consume(TokenKind::kRightSet) && !Consume(TokenKind::kRightBrace) && !Is(TokenKind::kEnd))
    return Fail();
  return true;
}

namespace {

bool IsAllReals(const Expression& e) {
  return e.kind == Kind::kInterval && IsInfinite(e.args[0]) && IsInfinite(e.args[1]);
}

}  // namespace

// "x | x > 3": the set of the condition's solutions.
bool Descent::SetCondition(Expression element, Expression* out) {
  std::vector<Expression> conditions;
  Joints joints;
  if (!Items(&conditions, &joints)) return false;
  if (element.kind == Kind::kRelation && element.relations[0] == Relation::kIn) {  // "x in Z | ..."
    Expression symbol = element.args[0];
    conditions.push_back(std::move(element));
    element = std::move(symbol);
  }
  std::erase_if(conditions, [](const Expression& c) {  // "x in R" says nothing
    return c.kind == Kind::kRelation && c.relations[0] == Relation::kIn && IsAllReals(c.args[1]);
  });
  bool solutions = element.kind == Kind::kSymbol && !conditions.empty();
  for (const Expression& c : conditions) solutions = solutions && c.kind == Kind::kRelation;
  if (solutions) {
    Kind joined = joints.or_word ? Kind::kUnion : Kind::kIntersection;
    *out = NodeOf(Kind::kSet,
                  conditions.size() == 1 ? std::move(conditions[0]) : ListOf(joined, std::move(conditions)));
    return true;
  }
  *out = Applied("such that", std::move(element));
  for (Expression& c : conditions) out->args.push_back(std::move(c));
  return true;
}

bool Descent::Enclosed(TokenKind close, const char* function, Expression* out) {
  Bar outer = std::exchange(bar_, Bar::kOpens);
  Expression inner;
  if (!Statement(&inner) || !Consume(close)) return Fail();
  bar_ = outer;
  *out = Applied(function, std::move(inner));
  return true;
}

// After "|" or "\|": an absolute value, a determinant, a norm.
bool Descent::Bars(Expression* out, TokenKind close) {
  Bar outer = std::exchange(bar_, Bar::kCloses);
  Expression inner;
  if (!Sum(&inner) || !Consume(close)) return Fail();
  bar_ = outer;
  const char* name = close == TokenKind::kDoubleBar ? "norm" : inner.kind == Kind::kMatrix ? "det" : "abs";
  *out = Applied(name, std::move(inner));
  return true;
}

bool Descent::Environment(Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  string_view name = Peek().text;
  Advance();
  if (name == "cases" || name == "dcases") return Cases(out);
  Expression matrix;
  matrix.kind = Kind::kMatrix;
  Bar outer = std::exchange(bar_, Bar::kOpens);
  ++enclosed_;
  if (!Cells(&matrix.args, &matrix.columns)) return false;
  --enclosed_;
  bar_ = outer;
  if (absl::StartsWith(name, "vmatrix")) {
    *out = Applied("det", std::move(matrix));
  } else if (absl::StartsWith(name, "Vmatrix")) {
    *out = Applied("norm", std::move(matrix));
  } else {
    *out = std::move(matrix);
  }
  return true;
}

// Rows of equally many cells up to the end of the environment.
bool Descent::Cells(std::vector<Expression>* cells, int* columns) {
  int row = 0;
  while (true) {
    if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
    bool ends = Is(TokenKind::kEnvironmentEnd) || Is(TokenKind::kEnd);
    if (!ends || row > 0) {
      Expression cell;
      if (!Statement(&cell)) return false;
      cells->push_back(std::move(cell));
      ++row;
      if (Consume(TokenKind::kAmpersand)) continue;
    }
    if (row > 0) {
      if (*columns != 0 && *columns != row) return Fail();
      *columns = row;
      row = 0;
    }
    if (Consume(TokenKind::kRowEnd)) continue;
    return Consume(TokenKind::kEnvironmentEnd) || Is(TokenKind::kEnd) || Fail();
  }
}

// Values with conditions: cases(value, condition, value, condition).
bool Descent::Cases(Expression* out) {
  *out = Applied("cases");
  ++enclosed_;
  while (!Consume(TokenKind::kEnvironmentEnd) && !Is(TokenKind::kEnd)) {
    if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
    bool skip = Is(TokenKind::kComma) || Is(TokenKind::kAmpersand) || Is(TokenKind::kRowEnd) ||
                Is(TokenKind::kPeriod) ||
                (Is(TokenKind::kLetters) && RoleOf(Peek().text) == WordRole::kClause);
    if (skip) {
      Advance();
      continue;
    }
    Expression part;
    if (!Statement(&part)) return false;
    out->args.push_back(std::move(part));
  }
  --enclosed_;
  return !out->args.empty() || Fail();
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
    *out = SymbolOf(source_.substr(begin + 1, tokens_[index_ - 1].begin - begin - 1));
  } else if (argument.kind == Kind::kSymbol && name != "overline") {
    *out = SymbolOf(name + "(" + argument.name + ")");
  } else {
    *out = Applied(name == "overline" ? "conjugate" : name, std::move(argument));
  }
  return true;
}

}  // namespace sluice::math
