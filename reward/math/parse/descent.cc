#include "reward/math/parse/descent.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/strings/match.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/units.h"
#include "reward/math/text/words.h"

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
    SkipForAll();
    SkipIntegers();
    if (!ConsumeJoint(&parsed_.joints)) break;
    TokenKind joint = tokens_[index_ - 1].kind;
    if (Is(TokenKind::kEnd) && joint != TokenKind::kComma && joint != TokenKind::kSemicolon)
      return Fail();  // "8 or"
  } while (!Is(TokenKind::kEnd));
  const Joints& joints = parsed_.joints;
  if (joints.logical && joints.and_word && joints.or_word) return Fail();  // "p \land q \lor r"
  return CollectMarks(marks);
}

bool Descent::CollectMarks(std::vector<ItemMarks>& marks) {
  if (JoinCompound(marks)) return true;
  size_t percents = 0;
  for (const ItemMarks& m : marks) {
    percents += m.percent ? 1 : 0;
    parsed_.doubt = std::max(parsed_.doubt, m.doubt);
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
    if (!Statement(&smaller)) return false;
    bool whole = IsNumber(smaller) && *smaller.number == 0;
    if (!Compound(item, unit, std::move(smaller), marks_.unit)) return Fail();
    if (whole) marks_.unit = unit;
  }
  return true;
}

// "2 hours and 30 minutes" is one item; with "0 minutes" it is in hours.
bool Descent::JoinCompound(std::vector<ItemMarks>& marks) {
  bool two = marks.size() == 2 && parsed_.joints.and_word && marks[0].unit != marks[1].unit;
  if (!two || !Compound(&parsed_.items[0], marks[0].unit, parsed_.items[1], marks[1].unit)) return false;
  bool whole = *parsed_.items[1].number == 0;
  parsed_.items.pop_back();
  parsed_.unit = marks[whole ? 0 : 1].unit;
  return true;
}

// Adds both in the smaller unit; zero of it leaves the larger as it is.
bool Descent::Compound(Expression* larger, string_view larger_unit, Expression smaller, string_view unit) {
  int ratio = SmallerUnits(larger_unit, unit);
  if (ratio == 0 || !IsNumber(*larger) || !IsNumber(smaller)) return false;
  if (*smaller.number != 0) *larger->number = *larger->number * ratio + *smaller.number;
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

// "(p \land q)" is one statement; what stands between both signs needs parentheses.
bool Descent::JoinLogical(std::vector<Expression>* items, const Joints& joints) {
  const bool relations = std::any_of(items->begin(), items->end(),
                                     [](const Expression& e) { return e.kind == Kind::kRelation; });
  if (!joints.logical || relations) return true;
  if (joints.and_word && joints.or_word) return Fail();
  Expression joined = ListOf(Kind::kFunction, std::move(*items));
  joined.name = joints.or_word ? "or" : "and";
  items->clear();
  items->push_back(std::move(joined));
  return true;
}

// "for all x \in \mathbb{R}", "for every real x" behind an equation for a function of x.
void Descent::SkipForAll() {
  const Expression& e = parsed_.items.back();
  bool function = e.kind == Kind::kRelation && e.relations.size() == 1 &&
                  e.relations[0] == Relation::kEqual && e.args[0].kind == Kind::kFunction &&
                  e.args[0].args.size() == 1 && e.args[0].args[0].kind == Kind::kSymbol;
  if (!function) return;
  auto is_one_of = [this](std::initializer_list<string_view> words, size_t ahead) {
    return std::any_of(words.begin(), words.end(), [&](string_view word) { return IsWord(word, ahead); });
  };
  size_t ahead = Is(TokenKind::kComma) ? 1 : 0;
  const bool words = IsWord("for", ahead) && is_one_of({"all", "any", "each", "every"}, ahead + 1);
  if (!words && !IsWord("forall", ahead)) return;
  ahead += words ? 2 : 1;
  while (is_one_of({"real", "number", "numbers", "value", "values", "of"}, ahead)) ++ahead;
  if (Peek(ahead).kind != TokenKind::kLetters || Peek(ahead).text != e.args[0].args[0].name) return;
  ++ahead;
  const bool in = Peek(ahead).kind == TokenKind::kIn || IsWord("in", ahead);
  if (in && Peek(ahead + 1).kind == TokenKind::kNumberSet) ahead += 2;
  while (Peek(ahead).kind == TokenKind::kPeriod) ++ahead;
  const TokenKind end = Peek(ahead).kind;
  if (end != TokenKind::kEnd && end != TokenKind::kSemicolon && end != TokenKind::kComma) return;
  for (; ahead > 0; --ahead) Advance();
}

// ", k \in \mathbb{Z}", "where n is an integer", "(for any integer t)" at the end: what the letter stands
// for.
void Descent::SkipIntegers() {
  auto word_of = [this](std::initializer_list<string_view> words, size_t ahead) {
    return std::any_of(words.begin(), words.end(), [&](string_view word) { return IsWord(word, ahead); });
  };
  auto is_letter = [this](size_t ahead) {
    return Peek(ahead).kind == TokenKind::kLetters && Peek(ahead).text.size() == 1;
  };
  size_t ahead = Is(TokenKind::kComma) || Is(TokenKind::kColon) ? 1 : 0;
  const bool paren = Peek(ahead).kind == TokenKind::kLeftParen;
  ahead += paren;
  ahead += word_of({"for", "where", "with", "when"}, ahead);
  ahead += word_of({"all", "any", "each", "every", "some"}, ahead);
  string_view letter;
  if (word_of({"integer", "integers"}, ahead) && is_letter(ahead + 1)) {
    letter = Peek(ahead + 1).text;
    ahead += 2;
  } else if (is_letter(ahead)) {
    letter = Peek(ahead++).text;
    const bool in = Peek(ahead).kind == TokenKind::kIn || IsWord("in", ahead);
    if (in && Peek(ahead + 1).kind == TokenKind::kNumberSet && Peek(ahead + 1).text == "Z") {
      ahead += 2;
    } else {
      ahead += word_of({"is", "are"}, ahead);
      ahead += word_of({"an", "any", "some"}, ahead);
      if (!word_of({"integer", "integers"}, ahead)) return;
      ++ahead;
    }
  } else {
    return;
  }
  if (paren && Peek(ahead++).kind != TokenKind::kRightParen) return;
  while (Peek(ahead).kind == TokenKind::kPeriod) ++ahead;
  if (Peek(ahead).kind != TokenKind::kEnd) return;
  parsed_.parameter = std::string(letter);
  for (; ahead > 0; --ahead) Advance();
}

// "approximately", "=", "\approx" before a value.
void Descent::SkipFillers() {
  while (true) {
    bool word = Is(TokenKind::kLetters) && RoleOf(Peek().text) == WordRole::kFiller;
    if (!word && !Is(TokenKind::kEqual) && !Is(TokenKind::kApproximately)) return;
    if (StartsNegation()) return;
    Advance();
  }
}

// "\sim p", not "\sim 5".
bool Descent::StartsNegation() const {
  const Token& next = Peek(1);
  bool letter = next.kind == TokenKind::kLetters && next.text.size() == 1 && !next.in_text;
  return Is(TokenKind::kApproximately) && Peek().text == "not" &&
         (letter || next.kind == TokenKind::kLeftParen);
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
  // "x &= 3" without its environment
  const bool ampersand =
      Is(TokenKind::kAmpersand) || (Is(TokenKind::kAnd) && Peek(1).kind == TokenKind::kEqual);
  const bool aligned = ampersand && enclosed_ == 0;
  for (const auto& entry : kRelations) {
    if (aligned && Peek(1).kind == entry.kind) Advance();
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

// "3 to 2", "3 out of 4": the whole rest of the answer. A pair with a common factor, "10 to 20", is a range.
void Descent::RatioInWords(Expression* out) {
  bool out_of = IsWord("out") && IsWord("of", 1);
  size_t words = out_of ? 2 : IsWord("to") ? 1 : 0;
  const Token& second = Peek(words);
  bool whole = words > 0 && enclosed_ == 0 && marks_.unit.empty() && IsNumber(*out) &&
               second.kind == TokenKind::kNumber && Peek(words + 1).kind == TokenKind::kEnd;
  if (!whole) return;
  auto below = NumberValue(second, options_.limits.digits);
  if (!below || *below == 0 || out->number->get_den() != 1 || below->get_den() != 1) return;
  if (!out_of && gcd(out->number->get_num(), below->get_num()) != 1) return;
  for (size_t i = 0; i <= words; ++i) Advance();
  *out = out_of ? Quotient(std::move(*out), NumberOf(*std::move(below)))
                : Applied("ratio", std::move(*out), NumberOf(*std::move(below)));
}

// The tokens from `begin` up to `end` as they are written.
string_view Descent::Written(size_t begin, size_t end) const {
  return begin < end ? source_.substr(tokens_[begin].begin, tokens_[end - 1].end - tokens_[begin].begin)
                     : string_view();
}

// Among numbers that are said to be equal, "0.25 = 25%", the sign is a hundredth.
void Descent::TakePercent(Expression* number) {
  *number = Quotient(std::move(*number), NumberOf(100));
  marks_.percent = false;
}

// Values with relations between them.
bool Descent::Statement(Expression* out) {
  const size_t first = index_;
  if (!SetTerm(out)) return false;
  if (Is(TokenKind::kOver) || Is(TokenKind::kChoose)) {
    bool choose = Is(TokenKind::kChoose);
    Advance();
    Expression below;
    if (!SetTerm(&below)) return false;
    *out = choose ? Applied("binomial", std::move(*out), std::move(below))
                  : Quotient(std::move(*out), std::move(below));
  }
  bool word = out->kind == Kind::kSymbol && out->name.size() > 1 && out->name[1] != '_';
  if (Is(TokenKind::kColon) && enclosed_ == 0 && !word && !Ratio(out)) return false;
  RatioInWords(out);
  Relation relation;
  const bool top = enclosed_ == 0;
  size_t begin = first;
  if (!ConsumeRelation(&relation)) return true;
  if (top && marks_.percent && IsNumber(*out)) TakePercent(out);
  Expression chain = NodeOf(Kind::kRelation, std::move(*out));
  do {
    const size_t end = index_ - 1, next = index_;
    Expression right;
    if (!SetTerm(&right)) return false;
    if (top && Is(TokenKind::kColon) && !Ratio(&right)) return false;
    if (top && marks_.percent && IsNumber(chain.args.back())) TakePercent(&right);
    // "\frac{9}{27} = \frac{1}{3}" is one number, written twice; "5 = 5" says nothing.
    const bool again = relation == Relation::kEqual && IsNumber(right) &&
                       SameTree(right, chain.args.back()) && Written(begin, end) != Written(next, index_);
    begin = next;
    if (again) continue;
    chain.relations.push_back(relation);
    if (relation == Relation::kIn || relation == Relation::kNotIn) {
      right = AsSet(std::move(right));
    }
    chain.args.push_back(std::move(right));
    if (++parsed_.nodes > options_.limits.nodes) return Fail(ParseOutcome::kTooManyNodes);
  } while (ConsumeRelation(&relation));
  if (chain.relations.empty()) {
    Expression number = std::move(chain.args[0]);
    chain = std::move(number);
  }
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

ParseOutcome ParseTokens(absl::Span<const Token> tokens, string_view source, const GrammarOptions& options,
                         Parsed* parsed) {
  return Descent(tokens, source, options, parsed).Run();
}

}  // namespace sluice::math
