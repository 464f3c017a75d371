#include "reward/math/value.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "reward/math/ball.h"
#include "reward/math/build.h"
#include "reward/math/constant.h"
#include "reward/math/modular.h"
#include "reward/math/normal_form.h"
#include "reward/math/polynomial_zero.h"
#include "reward/math/radical.h"
#include "reward/math/rational_value.h"

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
      case Sign::kZero:
        return Decided(true, "algebraic");
      case Sign::kNegative:
      case Sign::kPositive:
      case Sign::kNotReal:
      case Sign::kNonzero:
        return Decided(false, "ball");
      default:
        return {};
    }
  }

  ValueDecision ByPrimes() {
    Answer answer = CompareModular(a_, b_, *work_);
    return {answer, "modular"};
  }

  ValueDecision ByPoints() { return AtPoints(true); }
  ValueDecision ByDifferingPoint() { return AtPoints(false); }

  // In the reals where both are real at enough points, else in the complex numbers.
  ValueDecision AtPoints(bool agreement_counts) {
    if (closed() || unknown_) return {};
    for (bool reals : {true, false}) {
      int agreed = 0;
      for (int attempt = 0; attempt < 6 * kAgreeingPoints && agreed < kAgreeingPoints; ++attempt) {
        switch (AtPoint(attempt, reals)) {
          case Answer::kDifferent:
            return Decided(false, "points");
          case Answer::kEqual:
            ++agreed;
            break;
          default:
            break;
        }
        if (!work_->ok() || unknown_) return {};
      }
      if (agreed >= kAgreeingPoints && agreement_counts) return Decided(true, "points");
      if (agreed > 0) return {};
    }
    return {};
  }

  Answer AtPoint(int attempt, bool reals) {
    std::vector<std::pair<std::string, mpq_class>> point;
    for (const std::string& symbol : symbols_) point.push_back({symbol, Coordinate(symbol, attempt)});
    BallOptions ball_options{.precision = 2 * kAgreeingBits, .reals = reals, .point = &point};
    Ball x, y;
    BallState state_x = EvaluateBall(a_, ball_options, *work_, x);
    if (state_x == BallState::kUnknown) unknown_ = true;
    if (state_x != BallState::kValue) return Answer::kUndecided;
    BallState state_y = EvaluateBall(b_, ball_options, *work_, y);
    if (state_y == BallState::kUnknown) unknown_ = true;
    if (state_y != BallState::kValue || !acb_is_finite(x.get()) || !acb_is_finite(y.get())) {
      return Answer::kUndecided;
    }
    if (!acb_overlaps(x.get(), y.get())) return Answer::kDifferent;
    return AreClose(x, y) ? Answer::kEqual : Answer::kUndecided;
  }

  // To kAgreeingBits, absolute for large values and relative for small ones.
  static bool AreClose(const Ball& x, const Ball& y) {
    Ball rest;
    acb_sub(rest.get(), x.get(), y.get(), 2 * kAgreeingBits);
    mag_t difference, size;
    mag_init(difference);
    mag_init(size);
    acb_get_mag(difference, rest.get());
    acb_get_mag_lower(size, x.get());
    mag_mul_2exp_si(size, size, -kAgreeingBits);
    bool zeros = acb_contains_zero(x.get());
    bool close = mag_cmp_2exp_si(difference, -kAgreeingBits) < 0 && (zeros || mag_cmp(difference, size) <= 0);
    mag_clear(difference);
    mag_clear(size);
    return close;
  }

  // By turns in (0, 1), (-1, 1), (0, 8) and (-8, 8), a multiple of 2^-32 with all bits drawn.
  static mpq_class Coordinate(const std::string& symbol, int attempt) {
    uint64_t h = 0xcbf29ce484222325ULL ^ (static_cast<uint64_t>(attempt + 1) * 0x9e3779b97f4a7c15ULL);
    for (char c : symbol) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    h ^= h >> 31;
    h *= 0x94d049bb133111ebULL;
    h ^= h >> 29;
    mpz_class numerator(static_cast<unsigned long>((h >> 24) | 1));
    if (attempt % 2 == 1 && (h & 1) != 0) numerator = -numerator;
    mpz_class denominator(attempt % 4 < 2 ? 1UL << 40 : 1UL << 37);
    mpq_class value(numerator, denominator);
    value.canonicalize();
    return value;
  }

  const Expression &a_, &b_;
  const EquivalenceOptions& options_;
  Work* work_;
  std::vector<std::string> symbols_;
  bool unknown_ = false;
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
