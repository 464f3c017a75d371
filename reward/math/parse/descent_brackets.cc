#include <utility>

#include "absl/strings/match.h"
#include "reward/math/parse/descent.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/words.h"

namespace sluice::math {

using absl::string_view;

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
  if (!JoinLogical(&items, joints)) return false;
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

namespace {

// "x = 1", "y = 2": one equation a line, each for another symbol.
bool IsSystem(const std::vector<Expression>& lines) {
  constexpr size_t kMostLines = 32;
  for (size_t i = 0; i < lines.size() && i < kMostLines; ++i) {
    const Expression& e = lines[i];
    bool given = e.kind == Kind::kRelation && e.relations.size() == 1 && e.relations[0] == Relation::kEqual &&
                 e.args[0].kind == Kind::kSymbol;
    for (size_t k = 0; k < i && given; ++k) given = lines[k].args[0].name != e.args[0].name;
    if (!given) return false;
  }
  return lines.size() > 1 && lines.size() <= kMostLines;
}

}  // namespace

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
    *out = matrix.columns == 1 && IsSystem(matrix.args) ? ListOf(Kind::kList, std::move(matrix.args))
                                                        : std::move(matrix);
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
  if (IsSystem(out->args)) *out = ListOf(Kind::kList, std::move(out->args));
  return !out->args.empty() || Fail();
}

}  // namespace sluice::math
