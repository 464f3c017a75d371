#include "reward/math/equal/statement.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "reward/math/equal/integer_points.h"
#include "reward/math/equal/relation.h"
#include "reward/math/equal/unit_vectors.h"
#include "reward/math/equal/words_equal.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

constexpr size_t kMaxMembers = 1000;
constexpr unsigned long kMaxSpelledOut = 100;  // members of a set that is given by its bounds

ValueDecision Different(const char* rule) { return {Answer::kDifferent, rule}; }

// "3 \pmod 7" is a class of numbers; "17 \bmod 5" is the number 2.
bool IsResidueClass(const Expression& e) {
  const Expression& mod = e.kind == Kind::kRelation ? e.args.back() : e;
  return mod.kind == Kind::kFunction && mod.name == "mod" && IsNumber(mod.args[0]) && IsNumber(mod.args[1]) &&
         abs(*mod.args[0].number) < *mod.args[1].number;
}

bool IsScalar(const Expression& e) {
  return e.kind == Kind::kNumber || e.kind == Kind::kSymbol || e.kind == Kind::kSum ||
         e.kind == Kind::kProduct || e.kind == Kind::kPower || e.kind == Kind::kFunction;
}

bool IsRealSetKind(const Expression& e) {
  return e.kind == Kind::kInterval || e.kind == Kind::kUnion || e.kind == Kind::kIntersection ||
         e.kind == Kind::kDifference;
}

bool Contains(const Expression& e, Kind kind) {
  return e.kind == kind || std::any_of(e.args.begin(), e.args.end(),
                                       [kind](const Expression& arg) { return Contains(arg, kind); });
}

// All "\pm" in it as plus, or all as minus.
Expression WithSign(const Expression& e, bool plus) {
  Expression out = e;
  out.args.clear();
  for (const Expression& arg : e.args) out.args.push_back(WithSign(arg, plus));
  if (e.kind != Kind::kPlusMinus) return out;
  Expression last = plus ? std::move(out.args.back()) : Negated(std::move(out.args.back()));
  if (out.args.size() == 1) return last;
  return NodeOf(Kind::kSum, std::move(out.args[0]), std::move(last));
}

// A list of both values; members of lists and sets by themselves.
Expression Spread(const Expression& e) {
  if (!Contains(e, Kind::kPlusMinus)) return e;
  bool members = e.kind == Kind::kList || e.kind == Kind::kSet;
  if (!members) return NodeOf(Kind::kList, WithSign(e, true), WithSign(e, false));
  Expression out = ListOf(e.kind, {});
  for (const Expression& arg : e.args) {
    Expression values = Spread(arg);
    if (Contains(arg, Kind::kPlusMinus)) {
      std::move(values.args.begin(), values.args.end(), std::back_inserter(out.args));
    } else {
      out.args.push_back(std::move(values));
    }
  }
  return out;
}

// "[1, 2]^T"
bool IsTransposed(const Expression& e) {
  if (e.kind != Kind::kPower || !IsSymbol(e.args[1], "T")) return false;
  const Expression& base = e.args[0];
  return base.kind == Kind::kMatrix || base.kind == Kind::kTuple ||
         (base.kind == Kind::kInterval && base.closed_left && base.closed_right);
}

// A point stands for a row.
Expression Transposed(const Expression& e) {
  const Expression& base = e.args[0];
  const size_t columns = base.kind == Kind::kMatrix ? static_cast<size_t>(base.columns) : base.args.size();
  const size_t rows = base.args.size() / columns;
  Expression out = ListOf(Kind::kMatrix, {});
  for (size_t i = 0; i < columns; ++i) {
    for (size_t j = 0; j < rows; ++j) out.args.push_back(base.args[j * columns + i]);
  }
  out.columns = static_cast<int>(rows);
  return out;
}

// "I" and "I_n" in it as the matrix of `n` rows; not within functions.
Expression WithIdentity(const Expression& e, int n) {
  if (IsSymbol(e, "I") || IsSymbol(e, absl::StrCat("I_", n))) {
    Expression out = ListOf(Kind::kMatrix, {});
    for (int i = 0; i < n * n; ++i) out.args.push_back(NumberOf(i % (n + 1) == 0 ? 1 : 0));
    out.columns = n;
    return out;
  }
  if (e.kind != Kind::kSum && e.kind != Kind::kProduct) return e;
  Expression out = e;
  for (Expression& arg : out.args) arg = WithIdentity(arg, n);
  return out;
}

// Of a square matrix that is small enough to be multiplied out.
bool IsDeterminant(const Expression& e) {
  constexpr int kMostRows = 4;
  return e.kind == Kind::kFunction && e.name == "det" && e.args.size() == 1 &&
         e.args[0].kind == Kind::kMatrix && e.args[0].columns <= kMostRows &&
         e.args[0].args.size() == static_cast<size_t>(e.args[0].columns * e.args[0].columns);
}

bool HasDeterminant(const Expression& e) {
  return IsDeterminant(e) || std::any_of(e.args.begin(), e.args.end(), HasDeterminant);
}

// Along the first of the rows that are left: `columns` are those that are left of the `n`.
Expression DeterminantOf(const std::vector<Expression>& cells, size_t n, std::vector<size_t> columns) {
  const size_t row = n - columns.size();
  if (columns.size() == 1) return cells[row * n + columns[0]];
  std::vector<Expression> terms;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<long>(i));
    Expression term =
        NodeOf(Kind::kProduct, cells[row * n + columns[i]], DeterminantOf(cells, n, std::move(rest)));
    terms.push_back(i % 2 == 0 ? std::move(term) : Negated(std::move(term)));
  }
  return ListOf(Kind::kSum, std::move(terms));
}

std::optional<mpz_class> IntegerOf(const Expression& e) {
  if (!IsNumber(e) || e.number->get_den() != 1) return std::nullopt;
  return e.number->get_num();
}

// The set from `first` to `last`; nothing where it has too many members.
std::optional<Expression> IntegersBetween(const mpz_class& first, const mpz_class& last,
                                          const mpz_class& step) {
  if (step <= 0 || last < first || last - first > step * kMaxSpelledOut) return std::nullopt;
  Expression out = ListOf(Kind::kSet, {});
  for (mpz_class i = first; i <= last; i += step) out.args.push_back(NumberOf(mpq_class(i)));
  return out;
}

// The members of "{x \in Z : 1 \le x < 4}" and "{1, 2, ..., 5}"; nothing for other sets.
std::optional<Expression> SpelledOut(const Expression& e) {
  if (e.kind != Kind::kSet || e.args.empty()) return std::nullopt;
  const size_t n = e.args.size();
  if (n >= 4 && IsSymbol(e.args[n - 2], "...")) {
    auto first = IntegerOf(e.args[0]), second = IntegerOf(e.args[1]), last = IntegerOf(e.args[n - 1]);
    if (!first || !second || !last) return std::nullopt;
    mpz_class step = *second - *first;
    for (size_t i = 0; i + 2 < n; ++i) {
      auto member = IntegerOf(e.args[i]);
      if (!member || *member != *first + step * static_cast<unsigned long>(i)) return std::nullopt;
    }
    if (step <= 0 || (*last - *first) % step != 0) return std::nullopt;
    return IntegersBetween(*first, *last, step);
  }
  if (n != 1 || e.args[0].kind != Kind::kIntersection || e.args[0].args.size() != 2) return std::nullopt;
  const Expression &range = e.args[0].args[0], &domain = e.args[0].args[1];
  bool integers = domain.kind == Kind::kRelation && domain.relations[0] == Relation::kIn &&
                  IsSymbol(domain.args[1], "set Z");
  bool bounded = integers && range.kind == Kind::kRelation && range.args.size() == 3 &&
                 SameTree(range.args[1], domain.args[0]) && domain.args[0].kind == Kind::kSymbol;
  if (!bounded) return std::nullopt;
  auto first = IntegerOf(range.args[0]), last = IntegerOf(range.args[2]);
  auto below = [](Relation r) { return r == Relation::kLess || r == Relation::kLessEqual; };
  if (!first || !last || !below(range.relations[0]) || !below(range.relations[1])) return std::nullopt;
  if (range.relations[0] == Relation::kLess) ++*first;
  if (range.relations[1] == Relation::kLess) --*last;
  return IntegersBetween(*first, *last, 1);
}

// The letters of "ACD", several choices: capitals up to J in order of the alphabet; else none.
std::vector<Expression> ChoicesOf(const Expression& e) {
  std::vector<Expression> letters;
  if (e.kind != Kind::kSymbol || e.name.size() < 2) return letters;
  for (size_t i = 0; i < e.name.size(); ++i) {
    const char c = e.name[i];
    if (c < 'A' || c > 'J' || (i > 0 && c <= e.name[i - 1])) return {};
    letters.push_back(SymbolOf(e.name.substr(i, 1)));
  }
  return letters;
}

class Comparer {
 public:
  Comparer(const EquivalenceOptions& options, Work& work) : options_(options), work_(work) {}

  ValueDecision Of(const Expression& g, const Expression& p) {
    if (!work_.Spend(5)) return {Answer::kUndecided, absl::StrCat("past the limit of ", work_.limit())};
    if (IsTransposed(g)) return Of(Transposed(g), p);
    if (IsTransposed(p)) return Of(g, Transposed(p));
    if (IsScalar(g) && IsScalar(p)) return Scalars(g, p);
    if (g.kind == Kind::kText || p.kind == Kind::kText) {
      bool same = (g.kind == p.kind && SayTheSame(g.name, p.name, options_.strict)) || IsInitial(g, p);
      return {same ? Answer::kEqual : Answer::kDifferent, "text"};
    }
    if (Contains(g, Kind::kPlusMinus) || Contains(p, Kind::kPlusMinus)) return Of(Spread(g), Spread(p));
    if (IsInequality(g) || IsInequality(p)) return Inequalities(g, p);
    if (g.kind == Kind::kRelation || p.kind == Kind::kRelation) return Relations(g, p);
    if (IsPoint(g) != IsPoint(p) && (IsScalar(g) || IsScalar(p))) {
      const Expression& point = IsPoint(g) ? g : p;
      auto vector = PointOfUnitVectors(IsPoint(g) ? p : g, point.args.size());
      if (vector)
        return Ordered(IsPoint(g) ? g.args : vector->args, IsPoint(g) ? vector->args : p.args, "vector");
    }
    if (g.kind == Kind::kMatrix || p.kind == Kind::kMatrix || Contains(g, Kind::kMatrix))
      return Matrices(g, p);
    const bool multiple = IsPoint(g) != IsPoint(p) && IsScalar(IsPoint(g) ? p : g) &&
                          Contains(IsPoint(g) ? p : g, Kind::kTuple);  // "2(1, 2)"
    if (multiple) return Matrices(g, p);
    if (IsRealSetKind(g) || IsRealSetKind(p)) return RealSets(g, p);
    return Collections(g, p);
  }

 private:
  ValueDecision Scalars(const Expression& g, const Expression& p) {
    if (g.kind == Kind::kNumber && p.kind == Kind::kNumber) return CompareValues(g, p, options_, work_);
    if (IsInfinite(g) || IsInfinite(p)) {
      bool same = IsInfinite(g) && IsInfinite(p) && IsNegative(g) == IsNegative(p);
      return {same ? Answer::kEqual : Answer::kDifferent, "infinity"};
    }
    if (Contains(g, Kind::kPlusMinus) || Contains(p, Kind::kPlusMinus)) return Of(Spread(g), Spread(p));
    if (HasDeterminant(g) || HasDeterminant(p)) return Determinants(g, p);
    if (Contains(g, Kind::kMatrix) || Contains(p, Kind::kMatrix)) return Matrices(g, p);
    if (g.kind == Kind::kFunction && g.name == "cases") {
      if (p.kind != Kind::kFunction || p.name != "cases") return Different("cases");
      return Pieces(g.args, p.args);
    }
    const bool logical = (IsCall(g, "and") && IsCall(p, "and")) || (IsCall(g, "or") && IsCall(p, "or"));
    if (logical) return Unordered(g.args, p.args, false, "logic");
    if (IsCall(g, "not") && IsCall(p, "not")) return Ordered(g.args, p.args, "logic");
    if (IsCall(g, "mod") && IsCall(p, "mod")) {
      if (Of(g.args[1], p.args[1]).answer != Answer::kEqual) return Different("modulus");
    }
    if (g.args.size() > 2 && IsCall(g, "ratio") && IsCall(p, "ratio")) return Ratios(g.args, p.args);
    ValueDecision decision = CompareValues(g, p, options_, work_);
    if (decision.answer != Answer::kEqual) {
      ValueDecision whole = CompareAtIntegers(g, p, options_, work_);
      if (whole.answer != Answer::kUndecided) return whole;
    }
    if (decision.answer != Answer::kEqual && !options_.strict) {
      std::optional<Expression> a = PointOfUnitVectors(g, 3);
      std::optional<Expression> b = a ? PointOfUnitVectors(p, 3) : std::nullopt;
      if (b) return Ordered(a->args, b->args, "vector");
    }
    bool alike = g.kind == p.kind && g.name == p.name && g.args.size() == p.args.size() && !g.args.empty();
    if (decision.answer != Answer::kUndecided || !HasNoValue(g) || !alike) return decision;
    return Ordered(g.args, p.args, "parts");
  }

  // Values with their conditions, in any order.
  ValueDecision Pieces(const std::vector<Expression>& g, const std::vector<Expression>& p) {
    ValueDecision decision = Ordered(g, p, "cases");
    if (decision.answer == Answer::kEqual || g.size() != p.size() || g.size() % 2 != 0) return decision;
    auto pairs = [](const std::vector<Expression>& parts) {
      std::vector<Expression> out;
      for (size_t i = 0; i + 1 < parts.size(); i += 2) {
        out.push_back(NodeOf(Kind::kTuple, parts[i], parts[i + 1]));
      }
      return out;
    };
    return Unordered(pairs(g), pairs(p), false, "cases");
  }

  // A point, or a column or row.
  static bool IsPoint(const Expression& e) {
    return e.kind == Kind::kTuple ||
           (e.kind == Kind::kMatrix && (e.columns == 1 || static_cast<size_t>(e.columns) == e.args.size()));
  }

  // "T" for "true", "F" for "false".
  static bool IsInitial(const Expression& g, const Expression& p) {
    return g.kind == Kind::kText &&
           ((g.name == "true" && IsSymbol(p, "T")) || (g.name == "false" && IsSymbol(p, "F")));
  }

  static bool IsCall(const Expression& e, const char* name) {
    return e.kind == Kind::kFunction && e.name == name;
  }

  // A point or set is a part of it.
  static bool HasNoValue(const Expression& e) {
    return !IsScalar(e) || std::any_of(e.args.begin(), e.args.end(), HasNoValue);
  }

  // Member by member, each over the first.
  ValueDecision Ratios(const std::vector<Expression>& g, const std::vector<Expression>& p) {
    if (g.size() != p.size()) return Different("ratio");
    ValueDecision out{Answer::kEqual, "ratio"};
    for (size_t i = 1; i < g.size(); ++i) {
      ValueDecision one = CompareValues(NodeOf(Kind::kProduct, g[i], p[0]),
                                        NodeOf(Kind::kProduct, p[i], g[0]), options_, work_);
      if (one.answer != Answer::kEqual) return one;
    }
    return out;
  }

  static bool IsNegative(const Expression& infinite) {
    return infinite.kind == Kind::kProduct && *infinite.args[0].number < 0;
  }

  ValueDecision Inequalities(const Expression& g, const Expression& p) {
    // "x \in [1, 2]" and "[1, 2]" ask for "1 \le x \le 2", not for "x^2 - 3x + 2 \le 0".
    const bool pair = g.kind == Kind::kTuple && g.args.size() == 2;
    const bool solved = (IsMembership(g) || IsRealSetKind(g) || pair) && IsInequality(p) && IsSolved(p);
    if (solved && !options_.strict) {
      return CompareAsRealSets(pair ? IntervalOf(g.args[0], false, g.args[1], false) : g, p, options_, work_);
    }
    if (!IsInequality(g)) return Different("an inequality where none was asked for");
    bool other = IsRealSetKind(p) || p.kind == Kind::kSet || IsMembership(p);
    if (!other && !IsInequality(p)) return Different("an inequality was asked for");
    if (g.kind == Kind::kRelation && p.kind == Kind::kRelation && IsInequality(p)) {
      return CompareRelations(g, p, options_, work_);
    }
    ValueDecision decision = CompareAsRealSets(g, p, options_, work_);
    if (decision.answer != Answer::kUndecided) return decision;
    if (g.kind == p.kind) return Unordered(g.args, p.args, false, "set");
    if (IsClosed(p)) return Different("set");
    return {Answer::kUndecided, "an inequality that is no set of numbers"};
  }

  static bool IsMembership(const Expression& e) {
    return e.kind == Kind::kRelation && e.relations.size() == 1 && e.relations[0] == Relation::kIn;
  }

  ValueDecision Relations(const Expression& g, const Expression& p) {
    if (IsMembership(g)) return Of(g.args[1], IsMembership(p) ? p.args[1] : p);
    if (IsMembership(p)) return Of(g, p.args[1]);
    if (g.kind == Kind::kRelation && p.kind == Kind::kRelation)
      return CompareRelations(g, p, options_, work_);
    bool asked = g.kind == Kind::kRelation;
    if (!asked && IsTautology(p)) return Different("a statement of nothing");
    const Expression* end = EndOfChain(asked ? g : p, options_, work_);
    if (end == nullptr) return Different("relation");
    return asked ? Of(*end, p) : Of(g, *end);
  }

  ValueDecision RealSets(const Expression& g, const Expression& p) {
    if (g.kind == Kind::kInterval && p.kind == Kind::kInterval) {
      if (g.closed_left != p.closed_left || g.closed_right != p.closed_right) return Different("interval");
      return Ordered(g.args, p.args, "interval");
    }
    bool comparable =
        (IsRealSetKind(g) || g.kind == Kind::kSet) && (IsRealSetKind(p) || p.kind == Kind::kSet);
    if (!comparable) return Different("kind");
    ValueDecision decision = CompareAsRealSets(g, p, options_, work_);
    if (decision.answer != Answer::kUndecided) return decision;
    if (g.kind != p.kind) {
      if (IsClosed(g) && IsClosed(p)) return Different("set");
      return {Answer::kUndecided, "sets with free variables"};
    }
    if (g.kind == Kind::kDifference) return Ordered(g.args, p.args, "set");
    return Unordered(g.args, p.args, false, "set");
  }

  // No free variable in it.
  static bool IsClosed(const Expression& e) {
    if (e.args.empty()) return e.kind != Kind::kSymbol || IsClosedConstant(e) || IsInfinite(e);
    return std::all_of(e.args.begin(), e.args.end(), IsClosed);
  }

  ValueDecision Collections(const Expression& g, const Expression& p) {
    bool set_g = g.kind == Kind::kSet, set_p = p.kind == Kind::kSet;
    bool list_g = g.kind == Kind::kList, list_p = p.kind == Kind::kList;
    if (set_g || set_p) {
      std::optional<Expression> a = SpelledOut(g), b = SpelledOut(p);
      if (a || b) return Of(a ? *a : g, b ? *b : p);
    }
    bool tuple_g = g.kind == Kind::kTuple, tuple_p = p.kind == Kind::kTuple;
    bool lenient = !options_.strict;
    if (set_g && set_p && g.args.size() == 1 && p.args.size() == 1 && IsInequality(g.args[0]) &&
        IsInequality(p.args[0])) {
      ValueDecision decision = CompareAsRealSets(g, p, options_, work_);
      if (decision.answer != Answer::kUndecided) return decision;
    }
    if (set_g && set_p && !SpelledOut(g) && !SpelledOut(p)) return Members(g, p);
    if (lenient && (list_g || list_p)) {
      const std::vector<Expression> letters = ChoicesOf(list_g ? p : g);  // "AC" and "A, C"
      if (!letters.empty())
        return Unordered(list_g ? g.args : letters, list_g ? letters : p.args, false, "choices");
    }
    if (in_set_ > 0 && set_g != set_p) return Different("set");
    if (lenient && ((set_g && list_p) || (list_g && set_p))) return Members(g, p);
    if (list_g && list_p) {
      return lenient ? Unordered(g.args, p.args, false, "list") : Ordered(g.args, p.args, "list");
    }
    if (tuple_g && tuple_p) return Ordered(g.args, p.args, "tuple");
    if (lenient && ((tuple_g && list_p) || (list_g && tuple_p))) return Ordered(g.args, p.args, "tuple");
    if (lenient && HoldsOneValue(g)) return Of(g.args[0], p);
    if (lenient && HoldsOneValue(p)) return Of(g, p.args[0]);
    return Different(IsScalar(g) ? "several values where one was asked for" : "kind");
  }

  ValueDecision Determinants(const Expression& g, const Expression& p) {
    std::optional<Expression> a = Expanded(g), b = a ? Expanded(p) : std::nullopt;
    if (!b) return {Answer::kUndecided, absl::StrCat("past the limit of ", work_.limit())};
    return Scalars(*a, *b);
  }

  // With its determinants multiplied out; nothing past the limit of work.
  std::optional<Expression> Expanded(const Expression& e) {
    Expression out = e;
    for (Expression& arg : out.args) {
      std::optional<Expression> expanded = Expanded(arg);
      if (!expanded) return std::nullopt;
      arg = *std::move(expanded);
    }
    if (!IsDeterminant(out)) return out;
    const Expression& matrix = out.args[0];
    if (HasDeterminant(matrix) || !work_.Spend(static_cast<int64_t>(100 * matrix.args.size())))
      return std::nullopt;
    std::vector<size_t> columns(static_cast<size_t>(matrix.columns));
    std::iota(columns.begin(), columns.end(), size_t{0});
    const size_t n = columns.size();
    return DeterminantOf(matrix.args, n, std::move(columns));
  }

  // Within sets the brackets around one value count: {1, {2}} is not {1, 2}.
  ValueDecision Members(const Expression& g, const Expression& p) {
    ++in_set_;
    ValueDecision decision = Unordered(g.args, p.args, true, "set");
    --in_set_;
    return decision;
  }

  // "{5}", but not "{{5}}".
  static bool HoldsOneValue(const Expression& e) {
    return e.kind == Kind::kSet && e.args.size() == 1 && e.args[0].kind != Kind::kSet;
  }

  ValueDecision Ordered(const std::vector<Expression>& g, const std::vector<Expression>& p,
                        const char* rule) {
    if (g.size() != p.size()) return Different(rule);
    ValueDecision out{Answer::kEqual, rule};
    for (size_t i = 0; i < g.size(); ++i) {
      ValueDecision one = Of(g[i], p[i]);
      if (one.answer == Answer::kDifferent) return Different(rule);
      if (one.answer == Answer::kUndecided) out = std::move(one);
    }
    return out;
  }

  // `repeats`: members may stand several times on either side.
  ValueDecision Unordered(const std::vector<Expression>& g, const std::vector<Expression>& p, bool repeats,
                          const char* rule) {
    if (g.size() > kMaxMembers || p.size() > kMaxMembers)
      return {Answer::kUndecided, "past the limit of members"};
    if (g.size() != p.size() && (!repeats || g.empty() || p.empty())) return Different(rule);
    std::vector<bool> used(p.size());
    ValueDecision undecided;
    for (size_t i = 0; i < g.size(); ++i) {
      if (!Match(g[i], p, i, repeats, used, undecided)) {
        return undecided.rule.empty() ? Different(rule) : undecided;
      }
    }
    for (size_t j = 0; j < p.size(); ++j) {
      if (used[j]) continue;
      bool known = std::any_of(g.begin(), g.end(),
                               [&](const Expression& e) { return Of(e, p[j]).answer == Answer::kEqual; });
      if (!known) return undecided.rule.empty() ? Different(rule) : undecided;
    }
    return {Answer::kEqual, rule};
  }

  // Finds e among p, first where it stands in the other.
  bool Match(const Expression& e, const std::vector<Expression>& p, size_t at, bool repeats,
             std::vector<bool>& used, ValueDecision& undecided) {
    for (size_t k = 0; k < p.size(); ++k) {
      size_t j = (at + k) % p.size();
      if (used[j] && !repeats) continue;
      ValueDecision one = Of(e, p[j]);
      if (one.answer == Answer::kUndecided) undecided = one;
      if (one.answer != Answer::kEqual) continue;
      used[j] = true;
      return true;
    }
    return false;
  }

  // Matrices with their factors multiplied in.
  ValueDecision Matrices(const Expression& g, const Expression& p) {
    std::optional<Expression> a = MatrixOf(g);
    bool square =
        a && a->kind == Kind::kMatrix && a->args.size() == static_cast<size_t>(a->columns * a->columns);
    std::optional<Expression> b = MatrixOf(square ? WithIdentity(p, a->columns) : p);
    if (!a || !b) return Different("matrix");
    bool points = a->kind != b->kind;
    const Expression& matrix = a->kind == Kind::kMatrix ? *a : *b;
    bool line = matrix.columns == 1 || static_cast<size_t>(matrix.columns) == matrix.args.size();
    if (points && (options_.strict || !line)) return Different("matrix");
    if (a->kind == Kind::kMatrix && b->kind == Kind::kMatrix && a->columns != b->columns)
      return Different("matrix");
    return Ordered(a->args, b->args, "matrix");
  }

  // Of scalars times a matrix, sums of those, and points, which stand for one row or column.
  std::optional<Expression> MatrixOf(const Expression& e) {
    if (e.kind == Kind::kMatrix || e.kind == Kind::kTuple) return e;
    if (e.kind == Kind::kProduct) {
      std::optional<Expression> matrix;
      std::vector<Expression> factors;
      for (const Expression& arg : e.args) {
        if (!Contains(arg, Kind::kMatrix) && !Contains(arg, Kind::kTuple)) {
          factors.push_back(arg);
        } else if (matrix || !(matrix = MatrixOf(arg))) {
          return std::nullopt;
        }
      }
      if (!matrix || !work_.Spend(static_cast<int64_t>(20 * matrix->args.size() * (factors.size() + 1))))
        return std::nullopt;
      for (Expression& entry : matrix->args) {
        std::vector<Expression> product = factors;
        product.push_back(std::move(entry));
        entry = ProductOf(std::move(product));
      }
      return matrix;
    }
    if (e.kind != Kind::kSum) return std::nullopt;
    std::optional<Expression> sum;
    for (const Expression& arg : e.args) {
      std::optional<Expression> part = MatrixOf(arg);
      if (!part) return std::nullopt;
      if (!sum) {
        sum = std::move(part);
        continue;
      }
      if (sum->kind != part->kind || sum->columns != part->columns || sum->args.size() != part->args.size())
        return std::nullopt;
      for (size_t i = 0; i < sum->args.size(); ++i) {
        sum->args[i] = NodeOf(Kind::kSum, std::move(sum->args[i]), std::move(part->args[i]));
      }
    }
    return sum;
  }

  const EquivalenceOptions& options_;
  Work& work_;
  int in_set_ = 0;  // sets around what is compared
};

}  // namespace

ValueDecision CompareStatements(const Expression& gold, const Expression& prediction,
                                const EquivalenceOptions& options, Work& work) {
  if (IsResidueClass(gold) && IsNumber(prediction)) return Different("modulus");
  return Comparer(options, work).Of(gold, prediction);
}

}  // namespace sluice::math
