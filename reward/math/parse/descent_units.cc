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

namespace {

bool CountsSeveral(const Expression& e) {
  return !IsNumber(e) || (e.number->get_den() == 1 && abs(*e.number) > 1);
}

// Made of numbers only: "5", "10^{-11}".
bool IsNumerical(const Expression& e) {
  return IsNumber(e) || (e.kind == Kind::kPower && std::all_of(e.args.begin(), e.args.end(), IsNumerical));
}

}  // namespace

bool Descent::SetUnit(string_view unit) {
  any_unit_ = true;
  if (marks_.unit.empty()) marks_.unit = std::string(unit);
  return marks_.unit == unit || Fail();
}

bool Descent::TextUnitFraction() const {
  return Is(TokenKind::kFraction) && Peek(1).kind == TokenKind::kLeftBrace && Peek(2).in_text &&
         Peek(2).kind == TokenKind::kLetters;
}

// "/hour" behind a value that has a unit already: "$5/hour".
bool Descent::StartsUnitBelow() const {
  return !marks_.unit.empty() && Peek(1).kind == TokenKind::kLetters && sub_ == 0 &&
         (Peek(1).in_text || !FindUnit(Peek(1).text).empty());
}

// "kg", "k\Omega", "\mu m".
Descent::UnitName Descent::UnitAt(size_t ahead) const {
  const Token &token = Peek(ahead), &next = Peek(ahead + 1);
  bool ohms = next.kind == TokenKind::kSymbol && next.text == "Omega";
  if (token.kind == TokenKind::kSymbol) {
    if (token.text == "Omega") return {"ohm", 1};
    bool micro = token.text == "mu" && (ohms || next.kind == TokenKind::kLetters);
    if (!micro) return {};
    std::string name = absl::StrCat("u", ohms ? "ohm" : next.text);
    string_view unit = FindUnit(name);
    return {unit.empty() ? FindPrefixedUnit(name) : unit, 2};
  }
  if (token.kind != TokenKind::kLetters) return {};
  if (ohms) {
    string_view unit = FindPrefixedUnit(absl::StrCat(token.text, "ohm"));
    if (!unit.empty()) return {unit, 2};
  }
  string_view unit = FindUnit(token.text);
  return {unit.empty() ? FindPrefixedUnit(token.text) : unit, 1};
}

// Where the token behind a power in digits is; `ahead` itself where there is none.
size_t Descent::PastUnitPower(size_t ahead) const {
  if (Peek(ahead).kind == TokenKind::kSuperDigits) return ahead + 1;
  if (Peek(ahead).kind != TokenKind::kPower) return ahead;
  size_t group = Peek(ahead + 1).kind == TokenKind::kLeftBrace ? 1 : 0;
  size_t minus = Peek(ahead + 1 + group).kind == TokenKind::kMinus ? 1 : 0;
  bool digits = Peek(ahead + 1 + group + minus).kind == TokenKind::kNumber;
  return digits ? ahead + 2 + 2 * group + minus : ahead;
}

// Whether nothing but units, with powers, signs and blanks between them, stands here up to the end of the
// answer: "5 m", "144 m^3", "5 min", "9 N m^2 / C^2", "4 J/(kg K)".
bool Descent::EndsAsUnit() const {
  constexpr int kMostUnits = 8;
  bool open = false;
  size_t ahead = 0;
  for (int units = 0; units < kMostUnits; ++units) {
    UnitName name = UnitAt(ahead);
    if (name.unit.empty()) return false;
    ahead = PastUnitPower(ahead + name.tokens);
    if (open && Peek(ahead).kind == TokenKind::kRightParen) {
      open = false;
      ++ahead;
    }
    TokenKind next = Peek(ahead).kind;
    bool ends = next == TokenKind::kEnd || next == TokenKind::kComma || next == TokenKind::kPeriod ||
                next == TokenKind::kNumber || next == TokenKind::kRightParen;
    if (ends) return !open;
    bool sign = next == TokenKind::kTimes || next == TokenKind::kDivide;
    if (!sign && !Peek(ahead).space_before) return false;
    if (sign) ++ahead;
    if (next == TokenKind::kDivide && !open && Peek(ahead).kind == TokenKind::kLeftParen) {
      open = true;
      ++ahead;
    }
  }
  return false;
}

// "\Omega" and "\mu F" behind a number: a product of symbols, less likely a unit; in words a unit.
bool Descent::StartsUnitSymbol(const std::vector<Expression>& factors) {
  UnitName name = UnitAt(0);
  if (name.unit.empty() || !IsNumerical(factors.back()) || !EndsAsUnit()) return false;
  return Peek(name.tokens - 1).in_text || Flipped(kUnitLetter);
}

// "5 kN", "5 MW" outside of words: less likely a unit. Two capitals are points, "5 MN".
bool Descent::StartsPrefixedUnit(const std::vector<Expression>& factors) {
  string_view text = Peek().text;
  if (FindPrefixedUnit(text).empty() || !Peek().space_before || !IsNumerical(factors.back())) return false;
  bool points = IsUpper(text[0]) && text.size() == 2 && text[1] != 'W' && text[1] != 'V' && text[1] != 'J';
  return !points && EndsAsUnit() && Flipped(kUnitLetter);
}

bool Descent::StartsUnit(const std::vector<Expression>& factors) {
  if (in_function_ > 0 || sub_ > 0) return false;
  const Token& token = Peek();
  if (token.kind == TokenKind::kCurrency || TextUnitFraction()) return true;
  if (token.kind == TokenKind::kDivide) return StartsUnitBelow();
  if (token.kind == TokenKind::kSymbol) return StartsUnitSymbol(factors);
  if (token.kind != TokenKind::kLetters || (IsWord("out") && IsWord("of", 1))) return false;
  WordRole role = RoleOf(token.text);
  if (role != WordRole::kNone && role != WordRole::kWord && role != WordRole::kPercent) return false;
  bool minutes = token.text == "min" && Peek(1).kind != TokenKind::kLeftParen &&
                 Peek(1).kind != TokenKind::kLeftBrace && Peek(1).kind != TokenKind::kSubscript;
  const TokenKind next = Peek(1).kind;
  const bool seconds = token.text == "sec" && (next == TokenKind::kEnd || next == TokenKind::kPeriod ||
                                               next == TokenKind::kComma || next == TokenKind::kRightParen);
  if ((FindSpelled(token.text) && !minutes && !seconds) || NumberWordValue(token.text)) return false;
  bool single = token.text.size() == 1;
  if (token.in_text) return !single || (token.text != "e" && token.text != "i" && token.text != "d");
  for (const Expression& f : factors) {
    if (f.kind == Kind::kSymbol && f.name.size() == 1) return false;
  }
  if (single) {
    bool metres_per = !FindUnit(token.text).empty() && token.space_before && IsNumber(factors.back()) &&
                      Peek(1).kind == TokenKind::kDivide && Peek(2).kind == TokenKind::kLetters &&
                      !FindUnit(Peek(2).text).empty();
    if (metres_per) return !Flipped(kUnitLetter);
    bool half_day = (token.text == "a" || token.text == "p") && Peek(1).kind == TokenKind::kPeriod;
    if (half_day) return true;
    bool candidate =
        !UnitAt(0).unit.empty() && token.space_before && IsNumerical(factors.back()) && EndsAsUnit();
    return candidate && (any_unit_ || Flipped(kUnitLetter));
  }
  if (StartsPrefixedUnit(factors)) return true;
  return !FindUnit(token.text).empty() || IsWord("sq") || IsWord("cu") ||
         !IsProductOfLetters(token.text, token.space_before);
}

// 3' are feet, 6" inches.
bool Descent::PrimeUnit() {
  int primes = 0;
  for (; Consume(TokenKind::kPrime); ++primes) {
  }
  return primes <= 2 ? SetUnit(primes == 1 ? "ft" : "in") : Fail();
}

bool Descent::Unit(const std::vector<Expression>& factors) {
  bool measure = Is(TokenKind::kPrime) && enclosed_ == 0 && in_function_ == 0 && factors.size() == 1 &&
                 IsNumber(factors[0]);
  if (measure) return PrimeUnit();
  if (!StartsUnit(factors)) return true;
  bool per_cent = IsWord("per") && IsWord("cent", 1);
  if (per_cent) Advance();
  if (per_cent || (Is(TokenKind::kLetters) && RoleOf(Rest()) == WordRole::kPercent)) {
    Advance();
    if (IsWord("points") || IsWord("point")) Advance();
    marks_.percent = true;
    return enclosed_ == 0 || Fail();
  }
  if (Is(TokenKind::kCurrency)) {
    string_view unit = Peek().text;
    Advance();
    return SetUnit(unit);
  }
  std::string unit;
  bool below = Is(TokenKind::kDivide) || IsWord("per");
  if (below && marks_.unit.empty()) return Fail();
  if (below) unit = std::exchange(marks_.unit, "");
  phrase_ = {};
  if (TextUnitFraction() ? !UnitFraction(&unit) : !UnitPhrase(&unit)) return false;
  marks_.doubt = std::max(marks_.doubt, phrase_.Result(!below && CountsSeveral(factors.back())));
  return SetUnit(unit);
}

// Words with powers, "/" and "per" between them; other words are part of the unit's name.
bool Descent::UnitPhrase(std::string* unit) {
  bool group = false;  // in the parentheses of "J/(kg K)"
  for (int words = 0; words < 12; ++words) {
    if (group && Consume(TokenKind::kRightParen)) group = false;
    bool each = IsWord("a") && !unit->empty() && !FindUnit(Peek(1).text).empty();  // "meters a week"
    bool below = Is(TokenKind::kDivide) || IsWord("per") || each;
    const bool hyphen = Is(TokenKind::kMinus) && Peek().in_text && !Peek().space_before &&
                        !Peek(1).space_before && IsKnownUnit(*unit) && !UnitAt(1).unit.empty();  // "N-m"
    bool times = Is(TokenKind::kTimes) || hyphen;
    if (below || times) {
      bool opens = !group && Is(TokenKind::kDivide) && Peek(1).kind == TokenKind::kLeftParen &&
                   !UnitAt(2).unit.empty();
      if (!opens && Peek(1).kind != TokenKind::kLetters && UnitAt(1).unit.empty()) return !group || Fail();
      Advance();
      if (opens) Advance();
      group = group || opens;
    } else if (!Is(TokenKind::kLetters) && UnitAt(0).unit.empty()) {
      return !group || Fail();
    }
    if (IsWord("of") && !unit->empty()) {
      SkipSubstance();
      return true;
    }
    WordRole role = RoleOf(Rest());
    if (role == WordRole::kNegation || role == WordRole::kClause) return Fail();
    if (role != WordRole::kNone && role != WordRole::kWord) return !group || Fail();
    std::string word;
    if (!UnitWord(&word)) return false;
    bool units = IsKnownUnit(*unit) && IsKnownUnit(word);  // "kg m"
    if (!unit->empty()) *unit += below || group ? "/" : times || units ? "*" : " ";
    *unit += word;
    if (unit->size() > 128) return Fail();
  }
  return Fail();
}

// "of feed", behind "cups".
void Descent::SkipSubstance() {
  for (; Is(TokenKind::kLetters); Advance()) phrase_.Add(Rest(), false);
}

bool Descent::UnitWord(std::string* unit) {
  int power = 1;
  if (IsWord("square") || IsWord("sq") || IsWord("cubic") || IsWord("cu")) {
    bool cubic = IsWord("cubic") || IsWord("cu");
    if (Peek(1).kind == TokenKind::kLetters || Peek(2).kind == TokenKind::kLetters) {
      power = cubic ? 3 : 2;
      Advance();
      Consume(TokenKind::kPeriod);
    }
  }
  UnitName name = UnitAt(0);
  if (!Is(TokenKind::kLetters) && name.unit.empty()) return Fail();
  bool half_day = (IsWord("a") || IsWord("p")) && Peek(1).kind == TokenKind::kPeriod && IsWord("m", 2);
  std::string word = half_day ? absl::StrCat(IsWord("a") ? "a" : "p", "m") : std::string(name.unit);
  if (word == "lb" && absl::StartsWithIgnoreCase(Rest(), "pound") && Flipped(kPounds))
    word = "pound sterling";
  if (word.empty() && Rest().size() == 1) return Fail();  // a symbol
  phrase_.Add(Rest(), !word.empty());
  if (word.empty()) word = SingularOf(Rest());
  if (!name.unit.empty() && name.tokens == 2) Advance();
  Advance();
  if (half_day) {
    Advance();
    Advance();
  }
  Consume(TokenKind::kPeriod);
  int written = UnitPower();
  if (written != 1) power = written;
  *unit += word;
  if (power != 1) absl::StrAppend(unit, "^", power);
  return true;
}

// "^2", "^{2}", a superscript, "squared"; 1 where there is none.
int Descent::UnitPower() {
  int power = 1;
  if (Is(TokenKind::kSuperDigits)) {
    power = Peek().value;
    Advance();
  } else if (IsWord("squared") || IsWord("cubed")) {
    power = IsWord("squared") ? 2 : 3;
    Advance();
  } else if (Is(TokenKind::kPower)) {
    size_t group = Peek(1).kind == TokenKind::kLeftBrace ? 1 : 0;
    size_t minus = Peek(1 + group).kind == TokenKind::kMinus ? 1 : 0;
    const Token& digit = Peek(1 + group + minus);
    if (digit.kind != TokenKind::kNumber || digit.text.size() != 1) return 1;
    power = (digit.text[0] - '0') * (minus ? -1 : 1);
    for (size_t i = 0; i < 2 + 2 * group + minus; ++i) Advance();
  }
  return power;
}

// \frac{\text{m}}{\text{s}}
bool Descent::UnitFraction(std::string* unit) {
  Advance();
  for (int part = 0; part < 2; ++part) {
    if (!Consume(TokenKind::kLeftBrace)) return Fail();
    if (part > 0) *unit += '/';
    std::string name;
    if (!Is(TokenKind::kLetters) || !UnitPhrase(&name) || !Consume(TokenKind::kRightBrace)) return Fail();
    if (part > 0) {  // all of "mol K" is below the line
      std::replace(name.begin(), name.end(), '*', '/');
    }
    *unit += name;
  }
  return true;
}

}  // namespace sluice::math
