#include "reward/math/equal/equivalence.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "reward/math/equal/name.h"
#include "reward/math/equal/relation.h"
#include "reward/math/equal/renaming.h"
#include "reward/math/equal/solutions.h"
#include "reward/math/equal/statement.h"
#include "reward/math/equal/unit_conversion.h"
#include "reward/math/equal/value.h"
#include "reward/math/parse/build.h"
#include "reward/math/parse/clock.h"
#include "reward/math/text/units.h"

namespace sluice::math {
namespace {

constexpr size_t kMaxReadings = 8;
constexpr size_t kMaxText = 200;

ValueDecision Different(const char* rule) { return {Answer::kDifferent, rule}; }

// Each value in it times `factor`.
Expression Scaled(const Expression& e, const mpq_class& factor) {
  switch (e.kind) {
    case Kind::kNumber:
      return NumberOf(*e.number * factor);
    case Kind::kSymbol:
    case Kind::kSum:
    case Kind::kProduct:
    case Kind::kPower:
    case Kind::kFunction:
    case Kind::kPlusMinus:
      return NodeOf(Kind::kProduct, NumberOf(factor), e);
    case Kind::kText:
      return e;
    default:
      break;
  }
  Expression out = e;
  for (Expression& arg : out.args) arg = Scaled(arg, factor);
  return out;
}

Expression InRadians(const Expression& degrees) {
  const bool members =
      degrees.kind == Kind::kList || degrees.kind == Kind::kSet || degrees.kind == Kind::kTuple;
  if (members) {
    Expression out = degrees;
    for (Expression& arg : out.args) arg = InRadians(arg);
    return out;
  }
  return NodeOf(Kind::kProduct, Scaled(degrees, mpq_class(1, 180)), SymbolOf("pi"));
}

// Of a sum the numbers: its letters stand for angles already.
Expression NumbersInRadians(const Expression& degrees) {
  if (degrees.kind != Kind::kSum) return InRadians(degrees);
  Expression out = degrees;
  for (Expression& term : out.args) {
    if (IsNumber(term)) term = InRadians(term);
  }
  return out;
}

// Whether a value may be an angle in radians: pi or an inverse function is in it.
bool MayBeRadians(const Expression& e) {
  if (IsSymbol(e, "pi") || (e.kind == Kind::kFunction && absl::StartsWith(e.name, "arc"))) return true;
  return std::any_of(e.args.begin(), e.args.end(), MayBeRadians);
}

// Whether one counted noun is the other with more words: "red apple" and "apple".
bool SameNoun(const std::string& a, const std::string& b) {
  std::vector<std::string> x = absl::StrSplit(a, ' '), y = absl::StrSplit(b, ' ');
  const auto &longer = x.size() < y.size() ? y : x, &shorter = x.size() < y.size() ? x : y;
  return std::all_of(shorter.begin(), shorter.end(), [&](const std::string& word) {
    return std::find(longer.begin(), longer.end(), word) != longer.end();
  });
}

// Whether all words of a unit stand in `text`, in the singular or plural.
bool SaysWords(absl::string_view text, absl::string_view unit) {
  std::vector<std::string> said;
  for (absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n\t.,;:?!'\"()/-*^"), absl::SkipEmpty())) {
    said.push_back(SingularOf(word));
  }
  for (absl::string_view word : absl::StrSplit(unit, absl::ByAnyChar(" */"))) {
    if (std::find(said.begin(), said.end(), word) == said.end()) return false;
  }
  return true;
}

// Stands for the letter alone: a symbol, or the word.
bool IsOnlyLetter(const Expression& e, const std::string& choice) {
  return (e.kind == Kind::kSymbol || e.kind == Kind::kText) && absl::AsciiStrToUpper(e.name) == choice;
}

// Whether what stands behind a letter names another one: "or (B)", "5, (B) 6".
bool NamesAnother(const Expression& content) {
  if (content.kind == Kind::kText) {
    for (absl::string_view word : absl::StrSplit(content.name, absl::ByAnyChar(" ,;()"))) {
      if (word == "or" || word == "and" || word == "maybe") return true;
    }
    return false;
  }
  bool letter = content.kind == Kind::kSymbol && content.name.size() == 1 && content.name[0] >= 'A' &&
                content.name[0] <= 'E';
  return letter || (content.kind == Kind::kList || content.kind == Kind::kProduct
                        ? std::any_of(content.args.begin(), content.args.end(), NamesAnother)
                        : false);
}

class ReadingComparer {
 public:
  ReadingComparer(const EquivalenceOptions& options, Work& work) : options_(options), work_(work) {}

  ValueDecision Of(const Reading& g, const Reading& p) {
    parameter_g_ = g.parameter;
    parameter_p_ = p.parameter;
    if (Solves(g, p)) return {Answer::kEqual, "solutions"};
    if (p.hedged && !g.hedged && (!IsCollection(g.value) || AreLetters(g.value))) return Different("hedged");
    bool relations = g.value.kind == Kind::kRelation && p.value.kind == Kind::kRelation;
    if (!relations && NamesConflict(NameOf(g), NameOf(p))) return Different("name");
    bool bare = p.name.empty() && p.value.kind != Kind::kRelation;
    const std::string name = NameOf(p);
    bool other = bare || (IsFormulaName(name) && name != g.name);  // "x = 2" where "|x| = 2" is asked for
    if (other && NameBelongsToAnswer(g.name)) return Different("an equation was asked for");
    if (options_.strict && g.base != p.base) return Different("base");
    if (!g.choice.empty() && !p.choice.empty()) return Choices(g, p);
    if (!g.choice.empty() && IsOnlyLetter(g.value, g.choice)) {
      bool same = p.choice.empty() && IsOnlyLetter(p.value, g.choice) && !IsFormulaName(p.name);
      return {same ? Answer::kEqual : Answer::kDifferent, "choice"};
    }
    return Measures(g, p);
  }

 private:
  // "x = \\pm 2" where "x^2 = 4" is asked for.
  bool Solves(const Reading& g, const Reading& p) {
    if (g.value.kind != Kind::kRelation || p.name.empty() || options_.strict) return false;
    std::optional<Expression> asked = EquationIn(p.name, g.value);
    std::optional<Expression> solved = asked ? EquationSolvedBy(p.name, p.value) : std::nullopt;
    bool equal = solved && CompareRelations(*asked, *solved, options_, work_).answer == Answer::kEqual;
    work_.Forgive();
    return equal;
  }

  // Of several values, so that "or" between them is no hedge.
  static bool IsCollection(const Expression& e) {
    bool collection =
        e.kind == Kind::kList || e.kind == Kind::kSet || e.kind == Kind::kPlusMinus || e.kind == Kind::kUnion;
    return collection || std::any_of(e.args.begin(), e.args.end(), HasPlusMinus);
  }

  static bool HasPlusMinus(const Expression& e) {
    return e.kind == Kind::kPlusMinus || std::any_of(e.args.begin(), e.args.end(), HasPlusMinus);
  }

  // "A, C" of several choices.
  static bool AreLetters(const Expression& e) {
    return e.kind == Kind::kList && std::all_of(e.args.begin(), e.args.end(), [](const Expression& arg) {
             return arg.kind == Kind::kSymbol && arg.name.size() == 1 && arg.name[0] >= 'A' &&
                    arg.name[0] <= 'E';
           });
  }

  ValueDecision Choices(const Reading& g, const Reading& p) {
    if (g.choice != p.choice) return Different("choice");
    if (!IsOnlyLetter(p.value, p.choice) && NamesAnother(p.value)) return Different("hedged");
    bool contents = !IsOnlyLetter(g.value, g.choice) && !IsOnlyLetter(p.value, p.choice);
    return contents ? Measures(g, p) : ValueDecision{Answer::kEqual, "choice"};
  }

  // Names that stand for any value may be other ones.
  ValueDecision Values(const Expression& g, const Expression& p) {
    ValueDecision decision = CompareStatements(g, p, options_, work_);
    if (decision.answer == Answer::kEqual || options_.strict) return decision;
    for (const Expression& renamed : RenamedLike(g, p)) {
      work_.Forgive();
      decision = CompareStatements(g, renamed, options_, work_);
      if (decision.answer == Answer::kEqual) return decision;
    }
    const std::optional<Family> a = FamilyOf(g, parameter_g_),
                                b = a ? FamilyOf(p, parameter_p_) : std::nullopt;
    if (!b) return decision;
    for (const Expression& recounted : Recounted(*a, *b)) {
      work_.Forgive();
      ValueDecision same = CompareStatements(a->value, recounted, options_, work_);
      if (same.answer == Answer::kEqual) return same;
    }
    return decision;
  }

  // The first if it is equal, else the second.
  ValueDecision Either(ValueDecision first, const Expression& g, const Expression& p) {
    if (first.answer == Answer::kEqual || options_.strict) return first;
    ValueDecision second = Values(g, p);
    return second.answer == Answer::kDifferent ? first : second;
  }

  ValueDecision Measures(const Reading& g, const Reading& p) {
    ValueDecision decision = Measured(g, p);
    bool doubted = decision.answer == Answer::kEqual && (g.unit != p.unit || g.doubt != p.doubt) &&
                   (g.doubt == UnitDoubt::kChanges || DoubtOf(p) != UnitDoubt::kNone);
    return doubted ? ValueDecision{Answer::kUndecided, "words that may change the value"} : decision;
  }

  // None where the question says the same words.
  UnitDoubt DoubtOf(const Reading& p) const {
    bool asked = p.doubt == UnitDoubt::kUnknown && SaysWords(options_.question, p.unit);
    return asked ? UnitDoubt::kNone : p.doubt;
  }

  ValueDecision Measured(const Reading& g, const Reading& p) {
    if (g.percent != p.percent) return Percent(g, p);
    if (g.unit == p.unit) return Values(g.value, p.value);
    if (g.unit.empty() || p.unit.empty()) return OneUnit(g, p);
    if (std::optional<mpq_class> ratio = UnitRatio(g.unit, p.unit)) {
      return Values(g.value, *ratio == 1 ? p.value : Scaled(p.value, *ratio));
    }
    if (g.unit == "degree" && p.unit == "radian") return Values(InRadians(g.value), p.value);
    if (g.unit == "radian" && p.unit == "degree") return Values(g.value, InRadians(p.value));
    bool nouns = !IsKnownUnit(g.unit) || !IsKnownUnit(p.unit);
    if (nouns && !options_.strict && SameNoun(g.unit, p.unit)) return Values(g.value, p.value);
    return Different("unit");
  }

  // A percent sign is a unit that may be left out, and a hundredth where the other is no percentage.
  ValueDecision Percent(const Reading& g, const Reading& p) {
    if (!g.unit.empty() || !p.unit.empty()) return Different("unit");
    const mpq_class hundredth(1, 100);
    Expression a = g.percent ? Scaled(g.value, hundredth) : g.value;
    Expression b = p.percent ? Scaled(p.value, hundredth) : p.value;
    ValueDecision decision = Values(a, b);
    return g.percent || MayBePercentage(g) ? Either(std::move(decision), g.value, p.value) : decision;
  }

  // Without its sign: "35", "12.5", "33 1/3", but no fraction of a few.
  static bool MayBePercentage(const Reading& g) {
    constexpr int kFew = 10;
    if (!IsNumber(g.value) || g.value.number->get_den() == 1) return true;
    return abs(*g.value.number) >= (g.decimal ? 1 : kFew);
  }

  // A unit may be left out; an angle without one may be in radians.
  ValueDecision OneUnit(const Reading& g, const Reading& p) {
    bool degrees_g = g.unit == "degree", degrees_p = p.unit == "degree";
    if (degrees_g && MayBeRadians(p.value)) {
      ValueDecision decision =
          Either(Values(InRadians(g.value), p.value), NumbersInRadians(g.value), p.value);
      return Either(std::move(decision), g.value, p.value);
    }
    if (degrees_p && MayBeRadians(g.value)) {
      ValueDecision decision =
          Either(Values(g.value, InRadians(p.value)), g.value, NumbersInRadians(p.value));
      return Either(std::move(decision), g.value, p.value);
    }
    if (options_.strict) return {Answer::kUndecided, "a unit is missing"};
    return Values(g.value, p.value);
  }

  const EquivalenceOptions& options_;
  Work& work_;
  std::string parameter_g_, parameter_p_;
};

// Of "[1, 2]" and "(1, 2)" the second readings, a vector and a point, do not make them equal.
bool BracketsDiffer(const Reading& g, const Reading& p, const Reading& first_g, const Reading& first_p) {
  if (g.value.kind != Kind::kTuple || p.value.kind != Kind::kTuple) return false;
  return (first_g.value.kind == Kind::kInterval) != (first_p.value.kind == Kind::kInterval);
}

// The values of several names are in order: "a = 3, b = 4".
bool HasSeveralNames(const Reading& r) {
  if (r.value.kind != Kind::kList) return false;
  int open = 0;
  for (char c : r.name) {  // not the commas of "(x, y)"
    open += (c == '(') - (c == ')');
    if (c == ',' && open == 0) return true;
  }
  return false;
}

// "1,234" is a number before it is a list: as a list only in this order.
bool IsNumberBefore(const Reading& g, const Reading& first_g) {
  return g.value.kind == Kind::kList && first_g.value.kind == Kind::kNumber;
}

// "\{1,234\}" has two members before it has one of four digits.
bool IsOneMemberOfSeveral(const Reading& r, const Reading& first) {
  return r.value.kind == Kind::kSet && first.value.kind == Kind::kSet && r.value.args.size() == 1 &&
         first.value.args.size() > 1;
}

// "z = 3, x = 1, y = 2" beside a point: the values in the order of their letters.
void SortByNames(Reading& r) {
  std::vector<std::string> names = absl::StrSplit(r.name, ", ");
  std::vector<std::pair<std::string, Expression>> named;
  if (names.size() != r.value.args.size()) return;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() != 1) return;
    named.emplace_back(names[i], r.value.args[i]);
  }
  std::stable_sort(named.begin(), named.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < named.size(); ++i) {
    if (named[i].first[0] != named[i - 1].first[0] + 1) return;  // "b" and "m" have no order of their own
  }
  for (size_t i = 0; i < named.size(); ++i) r.value.args[i] = std::move(named[i].second);
}

bool HasStatements(const Expression& e) {
  return e.kind == Kind::kList && std::any_of(e.args.begin(), e.args.end(), [](const Expression& arg) {
           return arg.kind == Kind::kRelation;
         });
}

ValueDecision ComparePairOfReadings(const Reading& g, const Reading& p, const EquivalenceOptions& options,
                                    Work& work) {
  ReadingComparer comparer(options, work);
  // "y = 1, x = 2" is a point by its names, in another reading.
  if (g.value.kind == Kind::kTuple && HasStatements(p.value)) return Different("name");
  if (!HasSeveralNames(g) && !HasSeveralNames(p)) return comparer.Of(g, p);
  if (HasSeveralNames(g) && HasSeveralNames(p) && g.name != p.name) return Different("name");
  bool statements = g.name.empty() ? HasStatements(g.value) : p.name.empty() && HasStatements(p.value);
  if (statements)
    return Different("name");  // both have names, and another reading of each has them side by side
  Reading a = g, b = p;
  if (HasSeveralNames(g)) a.value.kind = Kind::kTuple;
  if (HasSeveralNames(p)) b.value.kind = Kind::kTuple;
  if (g.name.empty() && g.value.kind == Kind::kTuple) SortByNames(b);
  return comparer.Of(a, b);
}

std::string TextFor(const Reading& reading) {
  Reading normal = reading;
  normal.value = NormalExpression(reading.value);
  std::string text = ToText(normal);
  if (text.size() > kMaxText) text = text.substr(0, kMaxText - 3) + "...";
  return text;
}

}  // namespace

Decision Compare(const std::vector<Reading>& gold, const std::vector<Reading>& prediction,
                 const EquivalenceOptions& options) {
  Decision out{Answer::kUndecided, "no reading", "", ""};
  Work work;
  const ClockForm clock_g = ClockFormOf(gold), clock_p = ClockFormOf(prediction);
  const Reading *best_g = nullptr, *best_p = nullptr;
  auto keep = [&](ValueDecision decision, const Reading& g, const Reading& p) {
    out.answer = decision.answer;
    out.rule = std::move(decision.rule);
    best_g = &g;
    best_p = &p;
  };
  for (size_t j = 0; j < std::min(prediction.size(), kMaxReadings); ++j) {
    const Reading& p = prediction[j];
    if (!IsContradiction(p.value, options, work)) continue;
    keep({Answer::kDifferent, "contradiction"}, gold.empty() ? p : gold[0], p);
  }
  for (size_t k = 0;
       k < kMaxReadings * kMaxReadings && out.answer != Answer::kEqual && out.rule != "contradiction"; ++k) {
    size_t i = k / kMaxReadings, j = k % kMaxReadings;
    if (i >= gold.size() || j >= prediction.size()) continue;
    const Reading &g = gold[i], &p = prediction[j];
    if (BracketsDiffer(g, p, gold[0], prediction[0]) || !ClockAllows(clock_g, clock_p, g, p)) continue;
    if (IsOneMemberOfSeveral(g, gold[0]) || IsOneMemberOfSeveral(p, prediction[0])) continue;
    const bool closed = g.value.kind == Kind::kTuple && gold[0].value.kind == Kind::kInterval;
    if (closed && p.value.kind == Kind::kRelation) continue;  // "[1, 2]" is no pair where a range is compared
    if (IsNumberBefore(g, gold[0]) && !SameTree(g.value, p.value)) continue;
    ValueDecision decision = ComparePairOfReadings(g, p, options, work);
    work.Forgive();
    bool better = best_g == nullptr || decision.answer == Answer::kEqual ||
                  (decision.answer == Answer::kUndecided && out.answer == Answer::kDifferent);
    if (better) keep(std::move(decision), g, p);
  }
  if (options.explain && best_g != nullptr) {
    out.gold = TextFor(*best_g);
    out.prediction = TextFor(*best_p);
  }
  return out;
}

}  // namespace sluice::math
