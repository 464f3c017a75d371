#include "reward/math/equal/real_set.h"

#include <algorithm>
#include <utility>

#include "reward/math/equal/value.h"
#include "reward/math/number/constant.h"
#include "reward/math/number/normal_form.h"
#include "reward/math/number/rational_value.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

using Pieces = std::vector<Piece>;
using Maybe = std::optional<Pieces>;

constexpr size_t kMaxPieces = 200;

Endpoint Infinite(int sign) { return {sign, {}}; }
Piece Point(const Expression& value) { return {{0, value}, {0, value}, true, true}; }
Pieces AllReals() { return {{Infinite(-1), Infinite(1)}}; }

}  // namespace

class RealSetBuilder {
 public:
  RealSetBuilder(const EquivalenceOptions& options, Work& work) : options_(options), work_(work) {}

  // -1, 0, 1; nothing where that is not known.
  std::optional<int> Order(const Endpoint& a, const Endpoint& b) {
    if (a.infinite != 0 || b.infinite != 0) {
      return a.infinite == b.infinite ? 0 : a.infinite < b.infinite ? -1 : 1;
    }
    if (IsNumber(a.value) && IsNumber(b.value)) return cmp(*a.value.number, *b.value.number);
    ValueDecision same = CompareValues(a.value, b.value, options_, work_);
    if (same.answer == Answer::kEqual) return 0;
    if (same.answer == Answer::kUndecided) return std::nullopt;
    switch (SignOf(Difference(a.value, b.value), options_.max_precision_bits, work_)) {
      case RealSign::kNegative:
        return -1;
      case RealSign::kPositive:
        return 1;
      default:
        return std::nullopt;
    }
  }

  Maybe Of(const Expression& e) {
    if (!work_.Spend(20)) return std::nullopt;
    switch (e.kind) {
      case Kind::kInterval:
        return Interval(e);
      case Kind::kSet:
        return Set(e);
      case Kind::kUnion:
      case Kind::kIntersection:
        return Fold(e);
      case Kind::kDifference: {
        Maybe from = Of(e.args[0]), without = Of(e.args[1]);
        if (!from || !without) return std::nullopt;
        Maybe kept = Complement(*std::move(without));
        return kept ? Intersect(*from, *kept) : std::nullopt;
      }
      case Kind::kRelation:
        return Relations(e);
      default:
        return std::nullopt;
    }
  }

  Maybe Normalized(Pieces pieces) {
    if (pieces.size() > kMaxPieces || !Sort(pieces)) return std::nullopt;
    Pieces out;
    for (Piece& p : pieces) {
      if (out.empty()) {
        out.push_back(std::move(p));
        continue;
      }
      Piece& last = out.back();
      std::optional<int> gap = Order(last.upper, p.lower);
      if (!gap) return std::nullopt;
      if (*gap < 0 || (*gap == 0 && !last.closed_upper && !p.closed_lower)) {
        out.push_back(std::move(p));
        continue;
      }
      std::optional<int> reach = Order(last.upper, p.upper);
      if (!reach) return std::nullopt;
      last.closed_upper = (*reach >= 0 && last.closed_upper) || (*reach <= 0 && p.closed_upper);
      if (*reach < 0) last.upper = std::move(p.upper);
    }
    return out;
  }

 private:
  // By lower end; insertion, for orders can be unknown.
  bool Sort(Pieces& pieces) {
    for (size_t i = 1; i < pieces.size(); ++i) {
      for (size_t j = i; j > 0; --j) {
        std::optional<int> order = Order(pieces[j - 1].lower, pieces[j].lower);
        if (!order || !work_.Spend(5)) return false;
        bool swap = *order > 0 || (*order == 0 && !pieces[j - 1].closed_lower && pieces[j].closed_lower);
        if (!swap) break;
        std::swap(pieces[j - 1], pieces[j]);
      }
    }
    return true;
  }

  static std::optional<Endpoint> EndOf(const Expression& e) {
    if (IsInfinite(e)) return Infinite(e.kind == Kind::kProduct && *e.args[0].number < 0 ? -1 : 1);
    if (!IsClosedConstant(e)) return std::nullopt;
    return Endpoint{0, e};
  }

  Maybe Interval(const Expression& e) {
    std::optional<Endpoint> lower = EndOf(e.args[0]), upper = EndOf(e.args[1]);
    if (!lower || !upper) return std::nullopt;
    std::optional<int> order = Order(*lower, *upper);
    bool point = order == 0 && e.closed_left && e.closed_right && lower->infinite == 0;
    if (!order || (*order >= 0 && !point)) return std::nullopt;
    return Pieces{{*std::move(lower), *std::move(upper), e.closed_left && !IsInfinite(e.args[0]),
                   e.closed_right && !IsInfinite(e.args[1])}};
  }

  Maybe Set(const Expression& e) {
    bool condition =
        e.args.size() == 1 && (e.args[0].kind == Kind::kRelation || e.args[0].kind == Kind::kUnion);
    if (condition) return Of(e.args[0]);
    Pieces pieces;
    for (const Expression& arg : e.args) {
      if (!IsClosedConstant(arg)) return std::nullopt;
      pieces.push_back(Point(arg));
    }
    return Normalized(std::move(pieces));
  }

  Maybe Fold(const Expression& e) {
    Maybe out;
    for (const Expression& arg : e.args) {
      Maybe part = Of(arg);
      if (!part) return std::nullopt;
      if (!out) {
        out = std::move(part);
      } else if (e.kind == Kind::kIntersection) {
        out = Intersect(*out, *part);
      } else {
        out->insert(out->end(), part->begin(), part->end());
        out = Normalized(*std::move(out));
      }
      if (!out) return std::nullopt;
    }
    return out;
  }

  // Of normalised pieces.
  static Maybe Complement(Pieces pieces) {
    Pieces out;
    Endpoint from = Infinite(-1);
    bool closed = false;
    for (Piece& p : pieces) {
      if (p.lower.infinite == 0) out.push_back({from, p.lower, closed, !p.closed_lower});
      if (p.upper.infinite != 0) return out;
      from = std::move(p.upper);
      closed = !p.closed_upper;
    }
    out.push_back({std::move(from), Infinite(1), closed, false});
    return out;
  }

  // The complement of the union of the complements.
  Maybe Intersect(const Pieces& a, const Pieces& b) {
    Maybe x = Complement(a), y = Complement(b);
    x->insert(x->end(), y->begin(), y->end());
    Maybe outside = Normalized(*std::move(x));
    return outside ? Complement(*std::move(outside)) : std::nullopt;
  }

  Maybe Relations(const Expression& e) {
    std::string variable = VariableOf(e);
    if (variable.empty()) return std::nullopt;
    Maybe out = AllReals();
    for (size_t i = 0; out && i < e.relations.size(); ++i) {
      Maybe part = Single(e.args[i], e.relations[i], e.args[i + 1], variable);
      if (!part) return std::nullopt;
      out = Intersect(*out, *part);
    }
    return out;
  }

  Maybe Single(const Expression& left, Relation relation, const Expression& right,
               const std::string& variable) {
    if (relation == Relation::kIn || relation == Relation::kNotIn) {
      if (!IsSymbol(left, variable)) return std::nullopt;
      Maybe set = Of(right);
      return !set || relation == Relation::kIn ? set : Complement(*std::move(set));
    }
    if (IsInfinite(left) || IsInfinite(right)) return AllReals();
    if (IsModulus(left)) return Modulus(left.args[0], relation, right, variable);
    if (IsModulus(right)) return Modulus(right.args[0], Reversed(relation), left, variable);
    // slope * x + offset  relation  0
    Ring ring(work_);
    std::optional<Fraction> a = NormalForm(left, ring), b = a ? NormalForm(right, ring) : std::nullopt;
    if (!b || !IsOne(a->denominator) || !IsOne(b->denominator)) return std::nullopt;
    Polynomial slope, offset;
    int x = ring.Symbol(variable);
    for (Term& t : ring.DifferenceNumerator(*a, *b)) {
      auto factor =
          std::find_if(t.monomial.begin(), t.monomial.end(), [&](Factor f) { return f.generator == x; });
      bool linear = factor != t.monomial.end();
      if (linear && factor->exponent != Exponent{1, 1}) return std::nullopt;
      if (linear) t.monomial.erase(factor);
      if (!ring.IsClosed(Polynomial{t})) return std::nullopt;
      Polynomial& part = linear ? slope : offset;
      part = ring.Add(part, Polynomial{std::move(t)});
    }
    if (slope.empty()) return std::nullopt;
    RealSign sign = SignOf(ring.ToExpression(slope), options_.max_precision_bits, work_);
    if (sign != RealSign::kPositive && sign != RealSign::kNegative) return std::nullopt;
    Fraction root = ring.Divide(Ring::Scaled(std::move(offset), -1), std::move(slope));
    return HalfLine(ring.ToExpression(root), relation, sign == RealSign::kPositive);
  }

  static bool IsModulus(const Expression& e) {
    return e.kind == Kind::kFunction && e.name == "abs" && e.args.size() == 1 && !IsClosedConstant(e);
  }

  // |inner|  relation  bound, for a bound that is not negative.
  Maybe Modulus(const Expression& inner, Relation relation, const Expression& bound,
                const std::string& variable) {
    if (!IsClosedConstant(bound)) return std::nullopt;
    RealSign sign = SignOf(bound, options_.max_precision_bits, work_);
    if (sign != RealSign::kPositive && sign != RealSign::kZero) return std::nullopt;
    Maybe above = Single(inner, relation, bound, variable),
          below = Single(inner, Reversed(relation), Negated(bound), variable);
    if (!above || !below) return std::nullopt;
    bool both =
        relation == Relation::kLess || relation == Relation::kLessEqual || relation == Relation::kNotEqual;
    if (both) return Intersect(*above, *below);
    above->insert(above->end(), below->begin(), below->end());
    return Normalized(*std::move(above));
  }

  // What is on that side of `at`.
  static Maybe HalfLine(Expression at, Relation relation, bool rising) {
    bool greater = relation == Relation::kGreater || relation == Relation::kGreaterEqual;
    bool closed = relation == Relation::kLessEqual || relation == Relation::kGreaterEqual;
    Endpoint end{0, at};
    switch (relation) {
      case Relation::kEqual:
        return Pieces{Point(at)};
      case Relation::kNotEqual:
        return Complement({Point(at)});
      case Relation::kLess:
      case Relation::kLessEqual:
      case Relation::kGreater:
      case Relation::kGreaterEqual:
        if (greater == rising) return Pieces{{std::move(end), Infinite(1), closed, false}};
        return Pieces{{Infinite(-1), std::move(end), false, closed}};
      default:
        return std::nullopt;
    }
  }

  const EquivalenceOptions& options_;
  Work& work_;
};

std::optional<RealSet> RealSet::Of(const Expression& expression, const EquivalenceOptions& options,
                                   Work& work) {
  RealSet out;
  Maybe pieces = RealSetBuilder(options, work).Of(expression);
  if (!pieces) return std::nullopt;
  out.pieces_ = *std::move(pieces);
  return out;
}

std::optional<bool> RealSet::Equals(const RealSet& other, const EquivalenceOptions& options,
                                    Work& work) const {
  if (pieces_.size() != other.pieces_.size()) return false;
  RealSetBuilder builder(options, work);
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece &a = pieces_[i], &b = other.pieces_[i];
    if (a.closed_lower != b.closed_lower || a.closed_upper != b.closed_upper) return false;
    for (auto [x, y] : {std::pair{&a.lower, &b.lower}, std::pair{&a.upper, &b.upper}}) {
      std::optional<int> order = builder.Order(*x, *y);
      if (!order) return std::nullopt;
      if (*order != 0) return false;
    }
  }
  return true;
}

namespace {

bool CollectVariable(const Expression& e, std::string& variable) {
  if (e.kind == Kind::kSymbol && !IsClosedConstant(e) && e.name != "infinity") {
    if (!variable.empty() && variable != e.name) return false;
    variable = e.name;
  }
  return std::all_of(e.args.begin(), e.args.end(),
                     [&](const Expression& arg) { return CollectVariable(arg, variable); });
}

}  // namespace

std::string VariableOf(const Expression& relation) {
  std::string variable;
  return CollectVariable(relation, variable) ? variable : "";
}

}  // namespace sluice::math
