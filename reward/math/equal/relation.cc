#include "reward/math/equal/relation.h"

#include <algorithm>
#include <utility>

#include "reward/math/equal/real_set.h"
#include "reward/math/equal/statement.h"
#include "reward/math/number/constant.h"
#include "reward/math/number/normal_form.h"
#include "reward/math/number/polynomial_zero.h"
#include "reward/math/number/rational_value.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

bool IsEquation(const Expression& e) {
  return e.kind == Kind::kRelation && std::all_of(e.relations.begin(), e.relations.end(),
                                                  [](Relation r) { return r == Relation::kEqual; });
}

bool IsPlainSymbol(const Expression& e) {
  return e.kind == Kind::kSymbol && !IsClosedConstant(e) && !IsInfinite(e);
}

// "c x" for a number c that is not zero.
bool IsMultipleOfSymbol(const Expression& e) {
  if (IsPlainSymbol(e)) return true;
  if (e.kind != Kind::kProduct) return false;
  auto symbols = std::count_if(e.args.begin(), e.args.end(), IsPlainSymbol);
  return symbols == 1 && std::all_of(e.args.begin(), e.args.end(), [](const Expression& arg) {
           return IsPlainSymbol(arg) || IsClosedConstant(arg);
         });
}

bool IsZero(const Expression& e) { return IsNumber(e) && *e.number == 0; }

// "c x" beside a constant, or "c x + d" beside zero.
bool AreSolved(const Expression& a, const Expression& b) {
  if (IsMultipleOfSymbol(a) && (IsClosedConstant(b) || IsInfinite(b))) return true;
  if (!IsZero(b) || a.kind != Kind::kSum) return false;
  auto multiples = std::count_if(a.args.begin(), a.args.end(), IsMultipleOfSymbol);
  return multiples == 1 && std::all_of(a.args.begin(), a.args.end(), [](const Expression& arg) {
           return IsMultipleOfSymbol(arg) || IsClosedConstant(arg);
         });
}

// The difference of both sides without denominators and negative powers of variables, which do not change
// where it is zero.
std::optional<Polynomial> ZeroForm(const Expression& relation, bool equation, Ring& ring) {
  std::optional<Fraction> left = NormalForm(relation.args[0], ring);
  std::optional<Fraction> right = left ? NormalForm(relation.args[1], ring) : std::nullopt;
  if (!right) return std::nullopt;
  if (!equation && (!IsOne(left->denominator) || !IsOne(right->denominator))) return std::nullopt;
  Polynomial p = ring.DifferenceNumerator(*left, *right);
  if (!equation) return p;
  Monomial lift;
  for (const Term& t : p) {
    for (const Factor& f : t.monomial) {
      if (f.exponent.num >= 0 || ring.generator(f.generator).closed) continue;
      auto known =
          std::find_if(lift.begin(), lift.end(), [&](const Factor& g) { return g.generator == f.generator; });
      if (known == lift.end()) {
        lift.push_back({f.generator, -f.exponent});
      } else if (known->exponent < -f.exponent) {
        known->exponent = -f.exponent;
      }
    }
  }
  std::sort(lift.begin(), lift.end());
  return lift.empty() ? p : ring.Multiply(p, Polynomial{{lift, 1}});
}

// The closed coefficient of the free part of p's first term, and that of the same free part in q.
std::pair<Polynomial, Polynomial> LeadingCoefficients(Ring& ring, const Polynomial& p, const Polynomial& q) {
  auto free_part = [&](const Term& t) {
    Monomial out;
    for (const Factor& f : t.monomial) {
      if (!ring.generator(f.generator).closed) out.push_back(f);
    }
    return out;
  };
  const Term* leading = &p[0];
  for (const Term& t : p) {
    if (!free_part(t).empty()) leading = &t;
  }
  Monomial key = free_part(*leading);
  std::pair<Polynomial, Polynomial> out;
  for (auto [from, to] : {std::pair{&p, &out.first}, std::pair{&q, &out.second}}) {
    for (const Term& t : *from) {
      if (free_part(t) != key) continue;
      Term closed{{}, t.coefficient};
      for (const Factor& f : t.monomial) {
        if (ring.generator(f.generator).closed) closed.monomial.push_back(f);
      }
      *to = ring.Add(*to, Polynomial{std::move(closed)});
    }
  }
  return out;
}

// Whether p = c q for a constant c, not zero, and positive if `positive`.
ValueDecision AreProportional(Ring& ring, const Polynomial& p, const Polynomial& q, bool positive, int bits) {
  if (p.empty() || q.empty())
    return {p.empty() == q.empty() ? Answer::kEqual : Answer::kDifferent, "relation"};
  auto [a, b] = LeadingCoefficients(ring, p, q);
  if (b.empty()) return {Answer::kDifferent, "relation"};
  Polynomial rest = ring.Add(ring.Multiply(p, b), Ring::Scaled(ring.Multiply(q, a), -1));
  ZeroDecision zero = DecideZero(ring, rest, bits);
  if (!ring.work().ok() || zero.zeroness == Zeroness::kUnknown) return {};
  if (zero.zeroness == Zeroness::kNonzero) return {Answer::kDifferent, "relation"};
  if (!positive) return {Answer::kEqual, "relation"};
  RealSign sign = SignOf(ring.ToExpression(ring.Multiply(a, b)), bits, ring.work());
  if (sign != RealSign::kPositive && sign != RealSign::kNegative) return {};
  return {sign == RealSign::kPositive ? Answer::kEqual : Answer::kDifferent, "relation"};
}

// "a > b" as "b < a".
Expression Ascending(const Expression& e) {
  if (Reversed(e.relations[0]) >= e.relations[0]) return e;
  Expression out = e;
  std::swap(out.args[0], out.args[1]);
  out.relations[0] = Reversed(e.relations[0]);
  return out;
}

// Member by member, in either direction.
ValueDecision CompareChains(const Expression& gold, const Expression& prediction,
                            const EquivalenceOptions& options, Work& work) {
  if (gold.relations.size() != prediction.relations.size()) return {Answer::kDifferent, "relation"};
  ValueDecision out{Answer::kDifferent, "relation"};
  for (bool reversed : {false, true}) {
    Expression p = prediction;
    if (reversed) {
      std::reverse(p.args.begin(), p.args.end());
      std::reverse(p.relations.begin(), p.relations.end());
      for (Relation& r : p.relations) r = Reversed(r);
    }
    if (p.relations != gold.relations) continue;
    Answer all = Answer::kEqual;
    for (size_t i = 0; i < p.args.size() && all != Answer::kDifferent; ++i) {
      Answer one = CompareStatements(gold.args[i], p.args[i], options, work).answer;
      if (one != Answer::kEqual) all = one;
    }
    if (all != Answer::kDifferent) out = {all, "relation"};
    if (all == Answer::kEqual) return out;
  }
  return out;
}

bool IsClosedStatement(const Expression& e) {
  return std::all_of(e.args.begin(), e.args.end(), IsClosedConstant);
}

// Between constants: the same sides, in either order of an equation.
ValueDecision CompareClosed(const Expression& g, const Expression& p, const EquivalenceOptions& options,
                            Work& work) {
  bool swaps = g.relations[0] == Relation::kEqual || g.relations[0] == Relation::kNotEqual;
  for (size_t first : {0, 1}) {
    if (first == 1 && !swaps) break;
    bool same = CompareValues(g.args[0], p.args[first], options, work).answer == Answer::kEqual &&
                CompareValues(g.args[1], p.args[1 - first], options, work).answer == Answer::kEqual;
    if (same) return {Answer::kEqual, "relation"};
  }
  return {Answer::kDifferent, "relation"};
}

ValueDecision CompareSingle(const Expression& gold, const Expression& prediction,
                            const EquivalenceOptions& options, Work& work) {
  Expression g = Ascending(gold), p = Ascending(prediction);
  if (g.relations[0] != p.relations[0]) return {Answer::kDifferent, "relation"};
  if (IsClosedStatement(g) && IsClosedStatement(p)) return CompareClosed(g, p, options, work);
  bool ordered = g.relations[0] != Relation::kEqual && g.relations[0] != Relation::kNotEqual;
  Ring ring(work);
  std::optional<Polynomial> x = ZeroForm(g, !ordered, ring),
                            y = x ? ZeroForm(p, !ordered, ring) : std::nullopt;
  if (!y && work.limit() == kNoValue) {
    work.Forgive();
    return CompareChains(gold, prediction, options, work);
  }
  if (!y) return {};
  return AreProportional(ring, *x, *y, ordered, options.max_precision_bits);
}

bool ContainsModulus(const Expression& e) {
  return (e.kind == Kind::kFunction && e.name == "mod") ||
         std::any_of(e.args.begin(), e.args.end(), ContainsModulus);
}

bool ContainsRelation(const Expression& e) {
  return e.kind == Kind::kRelation || std::any_of(e.args.begin(), e.args.end(), ContainsRelation);
}

// A list of inequalities: their union where they exclude each other, else their intersection.
std::optional<RealSet> RealSetOf(const Expression& e, const EquivalenceOptions& options, Work& work) {
  if (e.kind != Kind::kList) return RealSet::Of(e, options, work);
  Expression joined = e;
  joined.kind = Kind::kIntersection;
  std::optional<RealSet> both = RealSet::Of(joined, options, work);
  if (!both || !both->pieces().empty()) return both;
  joined.kind = Kind::kUnion;
  return RealSet::Of(joined, options, work);
}

}  // namespace

bool IsInequality(const Expression& e) {
  if (e.kind == Kind::kRelation) return !IsEquation(e) && e.relations[0] != Relation::kIn;
  bool several = e.kind == Kind::kUnion || e.kind == Kind::kIntersection || e.kind == Kind::kList;
  return several && std::all_of(e.args.begin(), e.args.end(), IsInequality);
}

bool IsSolved(const Expression& e) {
  if (e.kind != Kind::kRelation) return std::all_of(e.args.begin(), e.args.end(), IsSolved);
  if (e.relations.size() == 1) {
    if (e.relations[0] == Relation::kIn || e.relations[0] == Relation::kNotIn)
      return IsPlainSymbol(e.args[0]);
    const Expression& left = e.args[0];  // "|x| < 2"
    const bool modulus = left.kind == Kind::kFunction && left.name == "abs" && left.args.size() == 1 &&
                         IsPlainSymbol(left.args[0]) && IsClosedConstant(e.args[1]);
    return modulus || AreSolved(left, e.args[1]) || AreSolved(e.args[1], left);
  }
  return e.args.size() == 3 && IsMultipleOfSymbol(e.args[1]) &&
         (IsClosedConstant(e.args[0]) || IsInfinite(e.args[0])) &&
         (IsClosedConstant(e.args[2]) || IsInfinite(e.args[2]));
}

ValueDecision CompareAsRealSets(const Expression& gold, const Expression& prediction,
                                const EquivalenceOptions& options, Work& work) {
  bool relations = ContainsRelation(gold) && ContainsRelation(prediction);
  std::string x = VariableOf(gold), y = VariableOf(prediction);
  std::optional<RealSet> a = RealSetOf(gold, options, work),
                         b = a ? RealSetOf(prediction, options, work) : std::nullopt;
  if (!b) return {};
  const bool bound = gold.kind == Kind::kSet && prediction.kind == Kind::kSet;  // "{x : x > 3}"
  if (relations && !bound && x != y) return {Answer::kDifferent, "variable"};
  if (!IsSolved(prediction)) return {Answer::kDifferent, "unsolved"};
  std::optional<bool> equal = a->Equals(*b, options, work);
  if (!equal) return {};
  return {*equal ? Answer::kEqual : Answer::kDifferent, "set of numbers"};
}

ValueDecision CompareRelations(const Expression& gold, const Expression& prediction,
                               const EquivalenceOptions& options, Work& work) {
  bool single = gold.relations.size() == 1 && prediction.relations.size() == 1;
  if (IsEquation(gold) != IsEquation(prediction)) return {Answer::kDifferent, "relation"};
  if (ContainsModulus(gold) || ContainsModulus(prediction))
    return CompareChains(gold, prediction, options, work);
  if (IsSolved(gold) || IsSolved(prediction)) {
    ValueDecision decision = CompareAsRealSets(gold, prediction, options, work);
    if (decision.answer != Answer::kUndecided) return decision;
    work.Forgive();
  }
  return single ? CompareSingle(gold, prediction, options, work)
                : CompareChains(gold, prediction, options, work);
}

bool IsTautology(const Expression& e) {
  return IsEquation(e) && std::all_of(e.args.begin() + 1, e.args.end(),
                                      [&](const Expression& arg) { return SameTree(arg, e.args[0]); });
}

bool IsContradiction(const Expression& e, const EquivalenceOptions& options, Work& work) {
  if (!IsEquation(e)) return false;
  const Expression* closed = nullptr;
  for (const Expression& arg : e.args) {
    const bool unknown = arg.kind == Kind::kFunction && arg.name.size() == 1;  // "f(2)"
    if (!IsClosedConstant(arg) || unknown) continue;
    if (closed != nullptr && CompareValues(*closed, arg, options, work).answer == Answer::kDifferent)
      return true;
    closed = &arg;
  }
  return false;
}

// "1 + 2 + ... + n", which nobody evaluates.
static bool HasDots(const Expression& e) {
  return IsSymbol(e, "...") || std::any_of(e.args.begin(), e.args.end(), HasDots);
}

const Expression* EndOfChain(const Expression& e, const EquivalenceOptions& options, Work& work) {
  if (!IsEquation(e) || IsContradiction(e, options, work)) return nullptr;
  const Expression& last = e.args.back();
  for (const Expression& arg : e.args) {
    bool name = IsPlainSymbol(arg) || (arg.kind == Kind::kFunction && arg.name != "abs");
    if (&arg == &last || (name && !IsClosedConstant(arg)) || HasDots(arg)) continue;
    if (CompareValues(arg, last, options, work).answer != Answer::kEqual) return nullptr;
  }
  return &last;
}

}  // namespace sluice::math
