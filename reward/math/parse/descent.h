// The descent behind grammar.h. Every method reads from the current token on; false means that the parse has
// failed, for the reason in outcome_. Methods that take no failure as an answer are named "Try".
#pragma once

#include <string>
#include <vector>

#include "reward/math/parse/build.h"
#include "reward/math/parse/grammar.h"

namespace sluice::math {

class Descent {
 public:
  Descent(absl::Span<const Token> tokens, absl::string_view source, const GrammarOptions& options,
          Parsed* parsed)
      : tokens_(tokens), source_(source), options_(options), parsed_(*parsed) {}

  ParseOutcome Run();

 private:
  // What a vertical bar means here.
  enum class Bar { kOpens, kCloses, kSeparates };

  // Goes one level down; `ok` is false past the limit of depth or of nodes.
  class Level {
   public:
    explicit Level(Descent& d) : d_(d) { ok = d.Down(); }
    ~Level() { --d_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool ok;

   private:
    Descent& d_;
  };

  // Percent signs and units of the item that is being read.
  struct ItemMarks {
    bool percent = false;
    std::string unit;
    UnitDoubt doubt = UnitDoubt::kNone;
  };

  // descent.cc: tokens, lists, statements, sets.
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[index_ + ahead < tokens_.size() ? index_ + ahead : tokens_.size() - 1];
  }
  bool Is(TokenKind kind) const { return Peek().kind == kind; }
  bool IsWord(absl::string_view word, size_t ahead = 0) const;
  void Advance() {
    if (index_ + 1 < tokens_.size()) ++index_;
    sub_ = 0;
  }
  bool Consume(TokenKind kind);
  bool Fail(ParseOutcome why = ParseOutcome::kNotMathematics);
  bool Down();
  bool Flipped(Ambiguity which);
  // What is left of the current run of letters.
  absl::string_view Rest() const { return Peek().text.substr(sub_); }
  // Steps over `bytes` of the current run of letters or digits.
  void Step(size_t bytes);

  bool AnswerList();
  bool CompoundTail(Expression* item);
  bool Compound(Expression* larger, absl::string_view larger_unit, Expression smaller,
                absl::string_view unit);
  bool JoinCompound(std::vector<ItemMarks>& marks);
  bool CollectMarks(std::vector<ItemMarks>& marks);
  bool Items(std::vector<Expression>* items, Joints* joints);
  bool ConsumeJoint(Joints* joints);
  void SkipFillers();
  bool StartsNegation() const;
  void SkipRemark();
  void SkipForAll();
  void SkipIntegers();
  bool JoinLogical(std::vector<Expression>* items, const Joints& joints);
  bool Statement(Expression* out);
  bool ConsumeRelation(Relation* relation);
  bool SetTerm(Expression* out);
  bool SetOperator(Kind* kind);
  bool IsUnionLetter() const;
  static Expression AsSet(Expression e);
  bool Ratio(Expression* out);
  absl::string_view Written(size_t begin, size_t end) const;
  void TakePercent(Expression* number);
  void RatioInWords(Expression* out);

  // descent_terms.cc: sums, terms, factors and what stands behind them.
  bool Sum(Expression* out);
  bool SumTail(std::vector<Expression>& terms);
  bool Signs();
  bool PlusOrMinusInWords();
  bool Modulo(Expression* out);
  bool Term(Expression* out);
  bool TermTail(std::vector<Expression>& factors);
  bool Divide(std::vector<Expression>& factors);
  bool ConsumeTimesLetter();
  bool Times(std::vector<Expression>& factors);
  bool IsVector(size_t at, bool forward) const;
  static Expression CrossProduct(Expression a, Expression b);
  Expression NamedPair(char name, Expression pair);
  bool Multiply(std::vector<Expression>& factors, bool mixed);
  bool StartsFactor() const;
  bool SignedFactor(Expression* out);
  bool Factor(Expression* out);
  bool Postfixes(Expression* base);
  bool Factorial(Expression* base);
  bool Exponent(Expression* base);
  bool ExponentValue(Expression* out);
  static bool IsOrdinalEnding(const Token& token);
  bool Percent(Expression* base);
  bool Degree(Expression* base);
  size_t PastPrimes(size_t ahead, size_t count) const;
  bool Minutes(Expression* degrees);

  // descent_atoms.cc: what stands between operators.
  bool Primary(Expression* out);
  bool PrimarySign(Expression* out);
  bool Number(Expression* out);
  bool MixedTail(Expression* whole, const Token& literal);
  bool InBase(Expression* number, const Token& literal);
  bool EllipsisAfter(const Token& literal, mpq_class* value);
  bool Argument(Expression* out);
  bool Fraction(Expression* out);
  bool Root(Expression* out, bool cube);
  bool Binomial(Expression* out);
  bool Choices(Expression* out);
  bool Accent(Expression* out);

  // descent_brackets.cc: groups, sets, intervals, matrices.
  // `alone`: not the argument of a command, so that it may be a set.
  bool Group(Expression* out, bool alone = false);
  bool Paren(Expression* out);
  bool OpenedLeft(Expression* out);
  bool Bracket(Expression* out);
  bool Rows(Expression* out);
  bool Braced(Expression* out);
  bool SetCondition(Expression element, Expression* out);
  bool Enclosed(TokenKind close, const char* function, Expression* out);
  bool Bars(Expression* out, TokenKind close);
  bool Environment(Expression* out);
  bool Cells(std::vector<Expression>* cells, int* columns);
  bool Cases(Expression* out);
  static Expression PairOf(std::vector<Expression> items, bool closed_left, bool closed_right);

  // descent_words.cc: letters, functions, number words.
  bool Letters(Expression* out);
  bool StartsOrderedName() const;
  bool TextWord(Expression* out);
  bool Spelled(TokenKind kind, absl::string_view text, Expression* out);
  bool Symbol(absl::string_view name, Expression* out);
  bool Subscript(std::string* name);
  bool Function(absl::string_view name, Expression* out);
  bool FunctionArguments(std::vector<Expression>* arguments, bool* enclosed);
  bool LogarithmBase(Expression* base);
  bool FunctionMarks(absl::string_view name, Expression* base, Expression* exponent);
  Expression Apply(absl::string_view name, Expression base, std::vector<Expression> arguments);
  bool Applies(std::string* name);
  bool AppliesToOne(const std::string& name) const;
  bool Operator(Expression* out);
  bool NumberWords(Expression* out);
  bool StartsNumberWords() const;
  bool TryScale(Expression* number);

  // descent_units.cc: units.
  // A unit by its name or symbol, and how many tokens it takes; none where `unit` is empty.
  struct UnitName {
    absl::string_view unit;
    size_t tokens = 1;
  };
  UnitName UnitAt(size_t ahead) const;
  size_t PastUnitPower(size_t ahead) const;
  bool StartsUnitSymbol(const std::vector<Expression>& factors);
  bool StartsPrefixedUnit(const std::vector<Expression>& factors);
  // Takes what follows a value as its unit, if it is one. False only on failure.
  bool Unit(const std::vector<Expression>& factors);
  bool PrimeUnit();
  bool StartsUnit(const std::vector<Expression>& factors);
  bool StartsUnitBelow() const;
  bool EndsAsUnit() const;
  bool TextUnitFraction() const;
  bool UnitPhrase(std::string* unit);
  void SkipSubstance();
  bool UnitWord(std::string* unit);
  bool UnitFraction(std::string* unit);
  int UnitPower();
  bool SetUnit(absl::string_view unit);

  absl::Span<const Token> tokens_;
  absl::string_view source_;
  const GrammarOptions& options_;
  Parsed& parsed_;
  ParseOutcome outcome_ = ParseOutcome::kParsed;
  size_t index_ = 0;
  size_t sub_ = 0;  // bytes of the current letters or digits that are used up
  int depth_ = 0;
  int enclosed_ = 0;     // brackets and groups around
  int in_function_ = 0;  // arguments of functions around, where degrees are angles
  Bar bar_ = Bar::kOpens;
  bool later_term_ = false;  // of a sum, the second or a later one is being read
  bool any_unit_ = false;
  bool arrow_ = false;  // "x \to 0" may stand here
  ItemMarks marks_;
  UnitPhraseDoubt phrase_;  // of the unit that is being read
};

}  // namespace sluice::math
