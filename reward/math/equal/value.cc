#include "reward/math/equal/value.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "reward/math/equal/modular.h"
#include "reward/math/equal/points.h"
#include "reward/math/number/constant.h"
#include "reward/math/number/normal_form.h"
#include "reward/math/number/polynomial_zero.h"
#include "reward/math/number/radical.h"
#include "reward/math/number/rational_value.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

ValueDecision Decided(bool equal, const char* rule) {
  return {equal ? Answer::kEqual : Answer::kDifferent, rule};
}

bool IsConstantName(const std::string& name) { return name == "pi" || name == "e" || name == "i"; }

// `all`: every symbol stands for a number.
void CollectSymbols(const Expression& e, std::vector<std::string>& out, bool& all) {
  if (e.kind == Kind::kSymbol && !StandsForANumber(e.name)) all = false;
  if (e.kind == Kind::kSymbol && !IsConstantName(e.name) &&
      std::find(out.begin(), out.end(), e.name) == out.end()) {
    out.push_back(e.name);
  }
  for (const Expression& arg : e.args) CollectSymbols(arg, out, all);
}

class Comparison {
 public:
  Comparison(const Expression& a, const Expression& b, const EquivalenceOptions& options, Work& work)
      : a_(a), b_(b), options_(options), work_(&work) {
    bool all = true;
    CollectSymbols(a, symbols_, all);
    CollectSymbols(b, symbols_, all);
    unknown_ = !all;
  }

  ValueDecision Decide() {
    using Step = ValueDecision (Comparison::*)();
    static constexpr Step kUsual[] = {&Comparison::ByNormalForms, &Comparison::ByPrimes, &Comparison::BySign,
                                      &Comparison::ByPoints};
    static constexpr Step kStrict[] = {&Comparison::ByPrimes, &Comparison::BySign,
                                       &Comparison::ByDifferingPoint, &Comparison::ByNormalForms};
    std::string reason;
    Work& whole = *work_;
    for (Step step : options_.strict ? kStrict : kUsual) {
      // Half of what is left, so that a way that leads nowhere leaves work for the next.
      Work part(whole.left() / 2);
      work_ = &part;
      ValueDecision decision = (this->*step)();
      whole.Spend(whole.left() / 2 - part.left());
      if (decision.answer != Answer::kUndecided) return decision;
      if (reason.empty() && !part.ok()) reason = absl::StrCat("past the limit of ", part.limit());
    }
    work_ = &whole;
    if (reason.empty()) reason = "neither proved equal nor separated";
    return {Answer::kUndecided, reason};
  }

 private:
  bool closed() const { return symbols_.empty(); }

  ValueDecision ByNormalForms() {
    Ring ring(*work_);
    std::optional<Fraction> x = NormalForm(a_, ring);
    if (!work_->ok()) return {};
    std::optional<Fraction> y = NormalForm(b_, ring);
    if (work_->limit() == kNoValue) return Decided(false, "no value");
    if (!work_->ok()) return {};
    if (!x || !y) {
      return x.has_value() == y.has_value() ? ValueDecision{} : Decided(false, "undefined");
    }
    Polynomial difference = ring.DifferenceNumerator(*x, *y);
    if (!work_->ok()) return {};
    ZeroDecision zero = DecideZero(ring, difference, options_.max_precision_bits);
    if (zero.zeroness == Zeroness::kUnknown) return {};
    if (zero.zeroness == Zeroness::kNonzero) return Decided(false, RuleOf(ring, *x, *y, zero.rule));
    for (const Fraction* f : {&*x, &*y}) {
      if (!IsOne(f->denominator) &&
          DecideZero(ring, f->denominator, options_.max_precision_bits).zeroness == Zeroness::kZero) {
        return {};
      }
    }
    return Decided(true, RuleOf(ring, *x, *y, zero.rule));
  }

  static const char* RuleOf(const Ring& ring, const Fraction& x, const Fraction& y, const char* rule) {
    if (rule != std::string("normal form")) return rule;
    bool polynomial = true, symbols = false;
    for (const Fraction* f : {&x, &y}) {
      polynomial = polynomial && IsOne(f->denominator);
      for (const Polynomial* p : {&f->numerator, &f->denominator}) {
        for (const Term& t : *p) {
          for (const Factor& factor : t.monomial) {
            if (ring.generator(factor.generator).kind != GeneratorKind::kSymbol ||
                !factor.exponent.IsInteger()) {
              return rule;
            }
            polynomial = polynomial && factor.exponent.num > 0;
            symbols = true;
          }
        }
      }
    }
    if (!symbols) return rule;
    return polynomial ? "polynomial" : "rational function";
  }

  ValueDecision BySign() {
    if (!closed()) return {};
    switch (SignOf(Difference(a_, b_), options_.max_precision_bits, *work_)) {
      case RealSign::kZero:
        return Decided(true, "algebraic");
      case RealSign::kNegative:
      case RealSign::kPositive:
      case RealSign::kNotReal:
      case RealSign::kNonzero:
        return Decided(false, "ball");
      default:
        return {};
    }
  }

  ValueDecision ByPrimes() {
    Answer answer = CompareModular(a_, b_, *work_);
    return {answer, "modular"};
  }

  ValueDecision ByPoints() {
    if (closed() || unknown_) return {};
    return {CompareAtPoints(a_, b_, symbols_, *work_), "points"};
  }
  // Agreement counts for nothing.
  ValueDecision ByDifferingPoint() {
    ValueDecision decision = ByPoints();
    return decision.answer == Answer::kDifferent ? decision : ValueDecision{};
  }

  const Expression &a_, &b_;
  const EquivalenceOptions& options_;
  Work* work_;
  std::vector<std::string> symbols_;
  bool unknown_ = false;  // a symbol in it is no number
};

}  // namespace

ValueDecision CompareValues(const Expression& a, const Expression& b, const EquivalenceOptions& options,
                            Work& work) {
  if (a.kind == Kind::kNumber && b.kind == Kind::kNumber) return Decided(*a.number == *b.number, "rational");
  if (SameTree(a, b)) return Decided(true, "identical");
  std::optional<mpq_class> x = RationalValue(a, work);
  std::optional<mpq_class> y = x ? RationalValue(b, work) : std::nullopt;
  if (y) return Decided(*x == *y, "rational");
  work.Forgive();
  return Comparison(a, b, options, work).Decide();
}

namespace {

Expression NormalExpression(const Expression& e, Work& work) {
  std::optional<mpq_class> rational = RationalValue(e, work);
  if (rational) return NumberOf(*rational);
  work.Forgive();
  switch (e.kind) {
    case Kind::kSymbol:
    case Kind::kText:
      return e;
    case Kind::kSum:
    case Kind::kProduct:
    case Kind::kPower:
    case Kind::kFunction: {
      Ring ring(work);
      std::optional<Fraction> form = NormalForm(e, ring);
      work.Forgive();
      return form ? ring.ToExpression(*form) : e;
    }
    default:
      break;
  }
  Expression out = e;
  for (Expression& arg : out.args) {
    if (work.ok()) arg = NormalExpression(arg, work);
  }
  return out;
}

}  // namespace

Expression NormalExpression(const Expression& expression) {
  Work work(Work::kDefaultUnits / 4);
  return NormalExpression(expression, work);
}

bool IsClosedConstant(const Expression& e) {
  if (e.kind == Kind::kSymbol) return IsConstantName(e.name);
  bool scalar = e.kind == Kind::kNumber || e.kind == Kind::kSum || e.kind == Kind::kProduct ||
                e.kind == Kind::kPower || e.kind == Kind::kFunction;
  return scalar && std::all_of(e.args.begin(), e.args.end(), IsClosedConstant);
}

}  // namespace sluice::math
