#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/math/parse/descent.h"
#include "reward/math/text/number_lexer.h"
#include "reward/math/text/units.h"
#include "reward/math/text/words.h"

namespace sluice::math {

using absl::string_view;

// "Dana" of "Dana > Carl".
bool Descent::StartsOrderedName() const {
  auto orders = [](TokenKind kind) { return kind == TokenKind::kGreater || kind == TokenKind::kLess; };
  string_view text = Peek().text;
  return text.size() > 1 && IsUpper(text[0]) && IsLower(text[1]) &&
         (orders(Peek(1).kind) || (index_ > 0 && orders(tokens_[index_ - 1].kind)));
}

// A run of letters: a name of a function or constant, a number in words, else a product of its letters, of
// which this takes the first.
bool Descent::Letters(Expression* out) {
  if (sub_ == 0) {
    if (StartsOrderedName()) {
      string_view name = Rest();
      Advance();
      return Symbol(name, out);
    }
    if (StartsNumberWords()) return NumberWords(out);
    const bool dot = Peek(1).kind == TokenKind::kPeriod && FindUnit(Rest()) == "rupee";  // "Rs. 500"
    const TokenKind behind = Peek(dot ? 2 : 1).kind;
    bool currency = IsCurrency(FindUnit(Rest())) && (dot || !IsLower(Rest()[0])) &&
                    (behind == TokenKind::kNumber || behind == TokenKind::kCurrency);
    if (currency || (Rest() == "US" && Peek(1).kind == TokenKind::kCurrency)) {  // "USD 23", "US$23"
      if (currency && !SetUnit(FindUnit(Rest()))) return false;
      if (dot) Advance();
      Advance();
      return SignedFactor(out);
    }
    if (auto spelled = FindSpelled(Rest())) {
      Advance();
      return Spelled(spelled->kind, spelled->text, out);
    }
    if (Peek().in_text && Peek().text.size() > 1) return TextWord(out);
    const bool exponential =
        Rest().size() == 2 && Rest()[1] == 'e' && Peek(1).kind == TokenKind::kPower;  // "Be^x"
    if (!exponential && !IsProductOfLetters(Rest(), Peek().space_before)) return Fail();
  }
  size_t bytes = 0;
  if (auto spelled = Rest().size() > 1 ? FindSpelledPrefix(Rest(), &bytes) : std::nullopt) {
    Step(bytes);
    return Spelled(spelled->kind, spelled->text, out);
  }
  string_view letter = Rest().substr(0, 1);
  Step(1);
  return Symbol(letter, out);
}

// A word in \text as a symbol: \frac{\text{rise}}{\text{run}}. Two in a row are prose.
bool Descent::TextWord(Expression* out) {
  if (RoleOf(Rest()) != WordRole::kNone) return Fail();
  string_view word = Rest();
  Advance();
  if (Is(TokenKind::kLetters)) return Fail();
  return Symbol(word, out);
}

bool Descent::Spelled(TokenKind kind, string_view text, Expression* out) {
  switch (kind) {
    case TokenKind::kFunction:
      return Function(text, out);
    case TokenKind::kRoot:
    case TokenKind::kCubeRoot:
      return Root(out, kind == TokenKind::kCubeRoot);
    case TokenKind::kBinomial:
      return Binomial(out);
    case TokenKind::kFraction:
      return Fraction(out);
    case TokenKind::kSymbol:
      return Symbol(text, out);
    default:
      return Fail();
  }
}

// A symbol with its primes and index, and its argument if it is the name of a function.
bool Descent::Symbol(string_view name, Expression* out) {
  *out = SymbolOf(name);
  while (Is(TokenKind::kPrime) && out->name.size() < 64) {
    Advance();
    out->name += '\'';
  }
  if (Is(TokenKind::kSubDigits)) {
    absl::StrAppend(&out->name, "_", Peek().value);
    Advance();
  } else if (Is(TokenKind::kSubscript) && !Subscript(&out->name)) {
    return false;
  }
  if (!Applies(&out->name)) return true;
  Advance();
  std::vector<Expression> arguments;
  Joints joints;
  if (!Items(&arguments, &joints) || !Consume(TokenKind::kRightParen)) return Fail();
  *out = Applied(out->name, ListOf(Kind::kTuple, {}));
  out->args = std::move(arguments);
  return true;
}

// "I(0)", "P(x)", "y(0)": a capital at one number or symbol, any letter at one number.
bool Descent::AppliesToOne(const std::string& name) const {
  const Token& argument = Peek(1);
  bool one = Is(TokenKind::kLeftParen) && !Peek().space_before && Peek(2).kind == TokenKind::kRightParen;
  bool letter = IsLetter(name[0]) && (name.size() == 1 || name[1] == '\'' || name[1] == '_');
  if (!one || !letter || name == "e" || name == "i") return false;
  bool symbol = argument.kind == TokenKind::kLetters && argument.text.size() == 1;
  return argument.kind == TokenKind::kNumber || (symbol && IsUpper(name[0]));
}

// "f(", "g'(" and "f^{-1}(": goes to the parenthesis and completes the name.
bool Descent::Applies(std::string* name) {
  if (AppliesToOne(*name)) return true;
  char letter = (*name)[0];
  if ((letter != 'f' && letter != 'g' && letter != 'h') || (name->size() > 1 && IsLetter((*name)[1])))
    return false;
  if (Is(TokenKind::kLeftParen)) return !Peek().space_before;
  if (!Is(TokenKind::kPower) || sub_ > 0) return false;
  size_t group = Peek(1).kind == TokenKind::kLeftBrace ? 1 : 0;
  bool inverse = Peek(1 + group).kind == TokenKind::kMinus && Peek(2 + group).text == "1" &&
                 Peek(3 + 2 * group).kind == TokenKind::kLeftParen;
  if (!inverse) return false;
  for (size_t i = 0; i < 3 + 2 * group; ++i) Advance();
  *name += "^-1";
  return true;
}

// After "_": one token, or a group as it is written.
bool Descent::Subscript(std::string* name) {
  Advance();
  *name += '_';
  auto spelling = [&](const Token& t) {
    return t.text.empty() ? source_.substr(t.begin, t.end - t.begin) : t.text;
  };
  if (!Is(TokenKind::kLeftBrace)) {
    if (Is(TokenKind::kEnd)) return Fail();
    bool letter = Is(TokenKind::kLetters) && !Peek().in_text;
    absl::StrAppend(name, letter ? Rest().substr(0, 1) : spelling(Peek()));
    letter ? Step(1) : Advance();
    return true;
  }
  int open = 0;
  do {
    if (Is(TokenKind::kEnd)) return Fail();
    if (Is(TokenKind::kLeftBrace)) {
      ++open;
    } else if (Is(TokenKind::kRightBrace)) {
      --open;
    } else {
      absl::StrAppend(name, spelling(Peek()));
    }
    Advance();
  } while (open > 0);
  return name->size() <= 256 || Fail();
}

namespace {

bool IsTrigonometric(string_view name) {
  static constexpr string_view kNames[] = {"sin",  "cos",  "tan",  "cot",  "sec",  "csc",
                                           "sinh", "cosh", "tanh", "coth", "sech", "csch"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

// After the name: index and exponent in any order, then the argument.
bool Descent::Function(string_view name, Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  Expression base, exponent;
  if (!FunctionMarks(name, &base, &exponent)) return false;
  std::vector<Expression> arguments;
  bool enclosed = false;
  if (!FunctionArguments(&arguments, &enclosed)) return false;
  bool inverse = IsNumber(exponent) && *exponent.number == -1 && IsTrigonometric(name);
  std::string full = inverse ? absl::StrCat("arc", name) : std::string(name);
  *out = Apply(full, std::move(base), std::move(arguments));
  if (exponent.kind != Kind::kText && !inverse)
    *out = NodeOf(Kind::kPower, std::move(*out), std::move(exponent));
  return true;
}

// All digits of "\log_10 5"; the first one of "\log_28", which nothing follows.
bool Descent::LogarithmBase(Expression* base) {
  if (!Is(TokenKind::kNumber) || sub_ > 0) return Argument(base);
  TokenKind next = Peek(1).kind;
  bool alone = next == TokenKind::kEnd || next == TokenKind::kComma || next == TokenKind::kRightBrace ||
               next == TokenKind::kRightParen || next == TokenKind::kPlus || next == TokenKind::kMinus;
  return alone ? Argument(base) : Number(base);
}

// `base` and `exponent` stay kText where there is none.
bool Descent::FunctionMarks(string_view name, Expression* base, Expression* exponent) {
  bool logarithm = name == "log" || name == "lg";
  if (logarithm && Is(TokenKind::kNumber) && !Peek().space_before && Peek(1).kind == TokenKind::kLeftParen) {
    if (!Number(base)) return false;  // "log2(8)"
  }
  for (int marks = 0; marks < 3; ++marks) {
    if (Consume(TokenKind::kSubscript)) {
      if (!LogarithmBase(base)) return false;
    } else if (Is(TokenKind::kSubDigits)) {
      *base = NumberOf(Peek().value);
      Advance();
    } else if (Is(TokenKind::kSuperDigits)) {
      *exponent = NumberOf(Peek().value);
      Advance();
    } else if (Consume(TokenKind::kPower)) {
      if (!ExponentValue(exponent)) return false;
    } else {
      break;
    }
  }
  return true;
}

// In brackets, or the factors up to the next sign or function.
bool Descent::FunctionArguments(std::vector<Expression>* arguments, bool* enclosed) {
  ++in_function_;
  Joints joints;
  *enclosed = true;
  if (Consume(TokenKind::kLeftParen)) {
    Bar outer = std::exchange(bar_, Bar::kOpens);
    if (!Items(arguments, &joints)) return false;
    if (!Consume(TokenKind::kRightParen) && !Is(TokenKind::kEnd)) return Fail();
    if (!JoinLogical(arguments, joints)) return false;
    bar_ = outer;
  } else if (Is(TokenKind::kLeftBrace)) {
    arguments->emplace_back();
    if (!Group(&arguments->back())) return false;
  } else {
    *enclosed = false;
    std::vector<Expression> factors(1);
    if (!SignedFactor(&factors[0])) return false;
    while (StartsFactor() && !Is(TokenKind::kFunction) && !Is(TokenKind::kOperator) &&
           !(Is(TokenKind::kLetters) && FindSpelled(Rest()) &&
             FindSpelled(Rest())->kind == TokenKind::kFunction)) {
      if (!Multiply(factors, false)) return false;
    }
    if (Consume(TokenKind::kDivide) && !Divide(factors)) return false;  // "sin pi/3"
    arguments->push_back(ProductOf(std::move(factors)));
  }
  --in_function_;
  return true;
}

Expression Descent::Apply(string_view name, Expression base, std::vector<Expression> arguments) {
  bool logarithm = name == "log" || name == "lg";
  if (logarithm || (name == "ln" && base.kind != Kind::kText)) {
    if (base.kind == Kind::kText && arguments.size() == 2) {  // "log(8, 2)"
      base = std::move(arguments[1]);
    } else if (base.kind == Kind::kText) {
      base = NumberOf(10);
    }
    if (IsSymbol(base, "e")) return Applied("ln", std::move(arguments[0]));
    return Applied("log", std::move(base), std::move(arguments[0]));
  }
  if (name == "cis" && arguments.size() == 1) {  // cos x + i sin x
    Expression imaginary = NodeOf(Kind::kProduct, SymbolOf("i"), Applied("sin", arguments[0]));
    return NodeOf(Kind::kSum, Applied("cos", std::move(arguments[0])), std::move(imaginary));
  }
  if (name == "exp") return NodeOf(Kind::kPower, SymbolOf("e"), std::move(arguments[0]));
  Expression out = ListOf(Kind::kFunction, std::move(arguments));
  out.name = std::string(name);
  if (base.kind != Kind::kText) out.args.push_back(std::move(base));
  return out;
}

// \sum_{k=1}^{n} k, \lim_{x \to 0} x: what stands below, above and behind, as it is.
bool Descent::Operator(Expression* out) {
  Level level(*this);
  if (!level.ok) return false;
  *out = Named(Kind::kFunction, Peek().text);
  Advance();
  while (Is(TokenKind::kSubscript) || Is(TokenKind::kPower)) {
    Advance();
    Expression limit;
    ++enclosed_;
    bool outer = std::exchange(arrow_, true);
    if (!Argument(&limit)) return false;
    arrow_ = outer;
    --enclosed_;
    out->args.push_back(std::move(limit));
  }
  Expression body;
  if (!Term(&body)) return false;
  out->args.push_back(std::move(body));
  return true;
}

bool Descent::StartsNumberWords() const {
  if (!Is(TokenKind::kLetters) || sub_ > 0) return false;
  if (NumberWordValue(Rest()) || absl::EqualsIgnoreCase(Rest(), "half")) return true;
  bool article = absl::EqualsIgnoreCase(Rest(), "a") || absl::EqualsIgnoreCase(Rest(), "an");
  if (!article || Peek(1).kind != TokenKind::kLetters) return false;
  return DenominatorWordValue(Peek(1).text) || ScaleWordValue(Peek(1).text) || IsWord("dozen", 1);
}

// "twelve", "twenty-five", "one hundred and five", "two thirds", "three and a half", "two million".
bool Descent::NumberWords(Expression* out) {
  mpz_class total = 0, current = 0;
  bool any = false;
  auto joins = [&](size_t ahead) {  // a number word, with "and" or a hyphen before it
    return Peek(ahead).kind == TokenKind::kLetters && NumberWordValue(Peek(ahead).text).has_value();
  };
  for (int words = 0; words < 32 && Is(TokenKind::kLetters); ++words) {
    if (auto value = NumberWordValue(Rest())) {
      current += *value;
    } else if (auto scale = ScaleWordValue(Rest())) {
      mpz_class power;
      mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(*scale));
      if (!any) current = 1;
      current *= power;
      if (*scale >= 3) total += std::exchange(current, 0);
    } else if (absl::EqualsIgnoreCase(Rest(), "dozen") || absl::EqualsIgnoreCase(Rest(), "dozens")) {
      current = (any ? current : mpz_class(1)) * 12;
    } else if (!any && Rest().size() <= 2) {  // the article
      Advance();
      if (Is(TokenKind::kLetters) && DenominatorWordValue(Rest())) {
        current = 1;
        any = true;
      }
      continue;
    } else if (any && current >= 100 && IsWord("and") && joins(1)) {
      Advance();
      continue;
    } else {
      break;
    }
    any = true;
    Advance();
    if (Is(TokenKind::kMinus) && (joins(1) || DenominatorWordValue(Peek(1).text))) Advance();
  }
  if (!any && IsWord("half")) current = 1;
  *out = NumberOf(mpq_class(total + current));
  return TryScale(out);
}

// "2 million", "3 quarters", "5 and a half", "2 dozen".
bool Descent::TryScale(Expression* number) {
  for (int i = 0; i < 3 && Is(TokenKind::kLetters) && sub_ == 0; ++i) {
    if (auto scale = ScaleWordValue(Rest())) {
      mpz_class power;
      mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(*scale));
      *number->number *= power;
    } else if (IsWord("dozen") || IsWord("dozens")) {
      *number->number *= 12;
    } else if (auto below = DenominatorWordValue(Rest())) {
      *number->number /= *below;
    } else if (IsWord("and") && (IsWord("a", 1) || IsWord("an", 1) || IsWord("one", 1)) &&
               Peek(2).kind == TokenKind::kLetters && DenominatorWordValue(Peek(2).text)) {
      *number->number += mpq_class(1, *DenominatorWordValue(Peek(2).text));
      Advance();
      Advance();
    } else {
      return true;
    }
    Advance();
  }
  return true;
}

}  // namespace sluice::math
