#include "reward/math/number/normal_form.h"

#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "reward/math/number/ball.h"
#include "reward/math/number/radical.h"
#include "reward/math/number/rational_value.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

using Maybe = std::optional<Fraction>;

constexpr int kMaxShift = 16;  // of (n + k)! in terms of n!

class Normalizer {
 public:
  explicit Normalizer(Ring& ring) : ring_(ring), work_(ring.work()) {}

  Maybe Of(const Expression& e) {
    if (!work_.Spend(10)) return std::nullopt;
    switch (e.kind) {
      case Kind::kNumber:
        return Whole(Ring::Constant(*e.number));
      case Kind::kSymbol:
        return Symbol(e.name);
      case Kind::kSum:
      case Kind::kProduct:
        return Fold(e);
      case Kind::kPower:
        return Power(e.args[0], e.args[1]);
      case Kind::kFunction:
        return Function(e);
      default:
        work_.Exceed(kNoValue);
        return std::nullopt;
    }
  }

 private:
  static Fraction Whole(Polynomial p) { return Ring::Whole(std::move(p)); }
  static Fraction Constant(const mpq_class& q) { return Whole(Ring::Constant(q)); }
  Fraction Imaginary() { return Whole(ring_.PowerOf(Ring::kMinusOne, {1, 2})); }
  Fraction Pi() { return Whole(ring_.PowerOf(Ring::kPi, {1, 1})); }
  Fraction Plus(const Fraction& a, const Fraction& b) { return ring_.Add(a, b); }
  Fraction Times(const Fraction& a, const Fraction& b) { return ring_.Multiply(a, b); }
  Fraction Minus(const Fraction& a, const Fraction& b) { return ring_.Add(a, ring_.Negate(b)); }
  Maybe Over(const Fraction& a, const Fraction& b) {
    if (b.numerator.empty() || !work_.ok()) return std::nullopt;
    return ring_.Multiply(a, ring_.Divide(b.denominator, b.numerator));
  }

  Maybe Symbol(const std::string& name) {
    if (name == "pi") return Pi();
    if (name == "e") return Whole(ring_.PowerOf(Ring::kE, {1, 1}));
    if (name == "i") return Imaginary();
    if (!StandsForANumber(name)) {
      work_.Exceed(kNoValue);
      return std::nullopt;
    }
    return Whole(ring_.PowerOf(ring_.Symbol(name), {1, 1}));
  }

  Maybe Fold(const Expression& e) {
    Maybe out;
    for (const Expression& arg : e.args) {
      Maybe part = Of(arg);
      if (!part || !work_.ok()) return std::nullopt;
      out = !out ? std::move(part) : e.kind == Kind::kSum ? Plus(*out, *part) : Times(*out, *part);
    }
    return out;
  }

  Maybe Power(const Expression& base, const Expression& exponent) {
    Maybe b = Of(base);
    if (!b) return std::nullopt;
    std::optional<mpq_class> rational = RationalValue(exponent, work_);
    if (rational) return RationalPower(*b, *rational);
    Maybe x = Of(exponent);
    if (!x || !work_.ok()) return std::nullopt;
    if (IsOne(x->denominator) && IsConstant(x->numerator)) {
      return RationalPower(*b, x->numerator.empty() ? mpq_class(0) : x->numerator[0].coefficient);
    }
    if (b->numerator.empty()) {
      return Whole(ring_.PowerOf(ring_.Function("power", {*b, *x}), {1, 1}));
    }
    Maybe logarithm = Logarithm(ring_, *b);
    return logarithm ? Exponential(ring_, Times(*x, *logarithm)) : std::nullopt;
  }

  Maybe RationalPower(const Fraction& base, const mpq_class& exponent) {
    if (!exponent.get_num().fits_sint_p() || !exponent.get_den().fits_sint_p()) {
      work_.Exceed("exponent");
      return std::nullopt;
    }
    auto num = static_cast<int64_t>(exponent.get_num().get_si());
    if (exponent.get_den() != 1) return Raise(ring_, base, Exponent::Of(num, exponent.get_den().get_si()));
    if (num >= 0) return ring_.Divide(ring_.Power(base.numerator, num), ring_.Power(base.denominator, num));
    if (base.numerator.empty()) return std::nullopt;
    return ring_.Divide(ring_.Power(base.denominator, -num), ring_.Power(base.numerator, -num));
  }

  // sum(k = first, last, body) and prod of few terms, multiplied out.
  std::optional<Expression> Expanded(const Expression& e) {
    constexpr int kMostTerms = 200;
    bool shape = (e.name == "sum" || e.name == "prod") && e.args.size() == 3 &&
                 e.args[0].kind == Kind::kRelation && e.args[0].args.size() == 2 &&
                 e.args[0].relations[0] == Relation::kEqual && e.args[0].args[0].kind == Kind::kSymbol;
    if (!shape) return std::nullopt;
    std::optional<mpq_class> first = RationalValue(e.args[0].args[1], work_),
                             last = RationalValue(e.args[1], work_);
    if (!first || !last || first->get_den() != 1 || last->get_den() != 1 || *last < *first ||
        *last - *first > kMostTerms) {
      return std::nullopt;
    }
    Expression out = ListOf(e.name == "sum" ? Kind::kSum : Kind::kProduct, {});
    out.args.push_back(NumberOf(e.name == "sum" ? 0 : 1));
    for (mpq_class k = *first; k <= *last && work_.Spend(20 * SizeOf(e.args[2])); ++k) {
      out.args.push_back(Replaced(e.args[2], e.args[0].args[0].name, k));
    }
    return out;
  }

  static int64_t SizeOf(const Expression& e) {
    int64_t size = 1;
    for (const Expression& arg : e.args) size += SizeOf(arg);
    return size;
  }

  static Expression Replaced(const Expression& e, const std::string& symbol, const mpq_class& value) {
    if (e.kind == Kind::kSymbol && e.name == symbol) return NumberOf(value);
    Expression out = e;
    for (Expression& arg : out.args) arg = Replaced(arg, symbol, value);
    return out;
  }

  // "max{b, a}" is max(a, b); nothing for what stands so already, or has an order.
  static std::optional<Expression> Sorted(const Expression& e) {
    if (e.name != "max" && e.name != "min" && e.name != "gcd" && e.name != "lcm") return std::nullopt;
    const bool set = e.args.size() == 1 && e.args[0].kind == Kind::kSet;
    Expression out = e;
    if (set) out.args = e.args[0].args;
    auto before = [](const Expression& a, const Expression& b) { return ToText(a) < ToText(b); };
    if (!set && std::is_sorted(out.args.begin(), out.args.end(), before)) return std::nullopt;
    std::sort(out.args.begin(), out.args.end(), before);
    return out;
  }

  Maybe Function(const Expression& e) {
    if (std::optional<Expression> terms = Expanded(e)) return Of(*terms);
    std::vector<Fraction> args;
    if (std::optional<Expression> sorted = Sorted(e)) return Function(*sorted);
    for (const Expression& arg : e.args) {
      Maybe value = Of(arg);
      if (!value || !work_.ok()) return std::nullopt;
      args.push_back(*std::move(value));
    }
    using Unary = Maybe (Normalizer::*)(const Fraction&);
    using Binary = Maybe (Normalizer::*)(const Fraction&, const Fraction&);
    static const auto* const kUnary =
        new absl::flat_hash_map<absl::string_view, Unary>{{"exp", &Normalizer::Exp},
                                                          {"ln", &Normalizer::Ln},
                                                          {"log", &Normalizer::Lg},
                                                          {"lg", &Normalizer::Lg},
                                                          {"sin", &Normalizer::Sin},
                                                          {"cos", &Normalizer::Cos},
                                                          {"tan", &Normalizer::Tan},
                                                          {"cot", &Normalizer::Cot},
                                                          {"sec", &Normalizer::Sec},
                                                          {"csc", &Normalizer::Csc},
                                                          {"sinh", &Normalizer::Sinh},
                                                          {"cosh", &Normalizer::Cosh},
                                                          {"tanh", &Normalizer::Tanh},
                                                          {"coth", &Normalizer::Coth},
                                                          {"sech", &Normalizer::Sech},
                                                          {"csch", &Normalizer::Csch},
                                                          {"arcsin", &Normalizer::Arcsin},
                                                          {"arccos", &Normalizer::Arccos},
                                                          {"arctan", &Normalizer::Arctan},
                                                          {"arccot", &Normalizer::Arccot},
                                                          {"arcsec", &Normalizer::Arcsec},
                                                          {"arccsc", &Normalizer::Arccsc},
                                                          {"arcsinh", &Normalizer::Arcsinh},
                                                          {"arccosh", &Normalizer::Arccosh},
                                                          {"arctanh", &Normalizer::Arctanh},
                                                          {"abs", &Normalizer::Abs},
                                                          {"sgn", &Normalizer::Sgn},
                                                          {"floor", &Normalizer::Floor},
                                                          {"ceil", &Normalizer::Ceil},
                                                          {"Re", &Normalizer::Re},
                                                          {"Im", &Normalizer::Im},
                                                          {"conjugate", &Normalizer::ConjugateFunction},
                                                          {"factorial", &Normalizer::Factorial}};
    static const auto* const kBinary = new absl::flat_hash_map<absl::string_view, Binary>{
        {"log", &Normalizer::Log}, {"ratio", &Normalizer::Ratio}, {"binomial", &Normalizer::Binomial}};
    if (args.size() == 1) {
      if (auto f = kUnary->find(e.name); f != kUnary->end()) return (this->*f->second)(args[0]);
    } else if (args.size() == 2) {
      if (auto f = kBinary->find(e.name); f != kBinary->end()) return (this->*f->second)(args[0], args[1]);
    }
    std::optional<mpq_class> rational = RationalValue(e, work_);
    if (rational) return Constant(*rational);
    return Opaque(e.name, std::move(args));
  }

  Maybe Opaque(const std::string& name, std::vector<Fraction> args) {
    return Whole(ring_.PowerOf(ring_.Function(name, std::move(args)), {1, 1}));
  }

  static std::optional<mpq_class> AsRational(const Fraction& f) {
    if (!IsOne(f.denominator) || !IsConstant(f.numerator)) return std::nullopt;
    return f.numerator.empty() ? mpq_class(0) : f.numerator[0].coefficient;
  }

  // Of a closed real value.
  RealSign SignOfFraction(const Fraction& f) {
    if (!ring_.IsClosed(f)) return RealSign::kUnknown;
    RealSign above = SignOf(ring_, f.numerator);
    if (IsOne(f.denominator) || above == RealSign::kZero) return above;
    RealSign below = SignOf(ring_, f.denominator);
    bool known = (above == RealSign::kPositive || above == RealSign::kNegative) &&
                 (below == RealSign::kPositive || below == RealSign::kNegative);
    if (!known) return RealSign::kUnknown;
    return above == below ? RealSign::kPositive : RealSign::kNegative;
  }

  Maybe Exp(const Fraction& x) { return Exponential(ring_, x); }
  Maybe Ln(const Fraction& x) { return Logarithm(ring_, x); }
  Maybe Lg(const Fraction& x) { return Log(Constant(10), x); }
  Maybe Log(const Fraction& base, const Fraction& x) {
    Maybe above = Logarithm(ring_, x), below = Logarithm(ring_, base);
    if (!above || !below) return std::nullopt;
    return Over(*above, *below);
  }

  // exp(f x) with exp(-f x).
  std::optional<std::pair<Fraction, Fraction>> Exponentials(const Fraction& f, const Fraction& x) {
    Fraction power = Times(f, x);
    Maybe plus = Exponential(ring_, power), minus = Exponential(ring_, ring_.Negate(power));
    if (!plus || !minus) return std::nullopt;
    return std::make_pair(*std::move(plus), *std::move(minus));
  }

  Maybe Sin(const Fraction& x) {
    auto e = Exponentials(Imaginary(), x);
    if (!e) return std::nullopt;
    return Times(Times(Minus(e->second, e->first), Imaginary()), Constant(mpq_class(1, 2)));
  }
  Maybe Cos(const Fraction& x) {
    auto e = Exponentials(Imaginary(), x);
    if (!e) return std::nullopt;
    return Times(Plus(e->first, e->second), Constant(mpq_class(1, 2)));
  }
  Maybe Sinh(const Fraction& x) {
    auto e = Exponentials(Constant(1), x);
    if (!e) return std::nullopt;
    return Times(Minus(e->first, e->second), Constant(mpq_class(1, 2)));
  }
  Maybe Cosh(const Fraction& x) {
    auto e = Exponentials(Constant(1), x);
    if (!e) return std::nullopt;
    return Times(Plus(e->first, e->second), Constant(mpq_class(1, 2)));
  }
  Maybe Quotient(const Maybe& a, const Maybe& b) {
    if (!a || !b) return std::nullopt;
    return Over(*a, *b);
  }
  Maybe Tan(const Fraction& x) { return Quotient(Sin(x), Cos(x)); }
  Maybe Cot(const Fraction& x) { return Quotient(Cos(x), Sin(x)); }
  Maybe Sec(const Fraction& x) { return Quotient(Constant(1), Cos(x)); }
  Maybe Csc(const Fraction& x) { return Quotient(Constant(1), Sin(x)); }
  Maybe Tanh(const Fraction& x) { return Quotient(Sinh(x), Cosh(x)); }
  Maybe Coth(const Fraction& x) { return Quotient(Cosh(x), Sinh(x)); }
  Maybe Sech(const Fraction& x) { return Quotient(Constant(1), Cosh(x)); }
  Maybe Csch(const Fraction& x) { return Quotient(Constant(1), Sinh(x)); }

  // Odd functions of leading negative arguments are turned; a closed value that is proved to be a rational
  // multiple of pi is written so.
  Maybe Arc(const char* name, const char* inverse, const Fraction& x) {
    if (x.numerator.empty()) return Constant(0);
    if (x.numerator[0].coefficient < 0) {
      Maybe turned = Arc(name, inverse, ring_.Negate(x));
      if (!turned) return std::nullopt;
      return ring_.Negate(*turned);
    }
    if (std::optional<mpq_class> turn = PiMultiple(name, inverse, x)) return Times(Constant(*turn), Pi());
    return Opaque(name, {x});
  }

  std::optional<mpq_class> PiMultiple(const char* name, const char* inverse, const Fraction& x) {
    if (!ring_.IsClosed(x)) return std::nullopt;
    Expression argument = ring_.ToExpression(x);
    Ball ball;
    if (EvaluateBall(Applied(name, argument), {}, work_, ball) != BallState::kValue || !ball.IsReal()) {
      return std::nullopt;
    }
    double turn = arf_get_d(arb_midref(ball.real()), ARF_RND_NEAR) / M_PI;
    for (int denominator : {1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 60}) {
      double scaled = turn * denominator;
      if (!(std::fabs(scaled - std::round(scaled)) < 1e-9)) continue;
      mpq_class candidate(static_cast<long>(std::round(scaled)), denominator);
      candidate.canonicalize();
      Expression angle = NodeOf(Kind::kProduct, NumberOf(candidate), SymbolOf("pi"));
      bool proved =
          math::SignOf(Difference(Applied(inverse, angle), argument), 1024, work_) == RealSign::kZero;
      return proved ? std::optional<mpq_class>(candidate) : std::nullopt;
    }
    return std::nullopt;
  }

  Maybe Arcsin(const Fraction& x) { return Arc("arcsin", "sin", x); }
  Maybe Arctan(const Fraction& x) { return Arc("arctan", "tan", x); }
  Maybe Complement(const Maybe& angle) {
    if (!angle) return std::nullopt;
    return Minus(Times(Pi(), Constant(mpq_class(1, 2))), *angle);
  }
  Maybe Arccos(const Fraction& x) { return Complement(Arcsin(x)); }
  Maybe Arccot(const Fraction& x) { return Complement(Arctan(x)); }
  Maybe Arcsec(const Fraction& x) {
    Maybe inverse = Over(Constant(1), x);
    return inverse ? Arccos(*inverse) : std::nullopt;
  }
  Maybe Arccsc(const Fraction& x) {
    Maybe inverse = Over(Constant(1), x);
    return inverse ? Arcsin(*inverse) : std::nullopt;
  }
  // ln(x + sqrt(x^2 + sign)).
  Maybe ArcHyperbolic(const Fraction& x, int sign) {
    Maybe root = Raise(ring_, Plus(Times(x, x), Constant(sign)), {1, 2});
    if (!root) return std::nullopt;
    return Logarithm(ring_, Plus(x, *root));
  }
  Maybe Arcsinh(const Fraction& x) { return ArcHyperbolic(x, 1); }
  Maybe Arccosh(const Fraction& x) { return ArcHyperbolic(x, -1); }
  Maybe Arctanh(const Fraction& x) {
    Maybe quotient = Over(Plus(Constant(1), x), Minus(Constant(1), x));
    Maybe logarithm = quotient ? Logarithm(ring_, *quotient) : std::nullopt;
    if (!logarithm) return std::nullopt;
    return Times(*logarithm, Constant(mpq_class(1, 2)));
  }

  Maybe ConjugateOf(const Fraction& x) {
    std::optional<Polynomial> above = Conjugate(ring_, x.numerator), below = Conjugate(ring_, x.denominator);
    if (!above || !below || below->empty()) return std::nullopt;
    return ring_.Divide(*std::move(above), *std::move(below));
  }
  Maybe Ratio(const Fraction& x, const Fraction& y) { return Over(x, y); }

  Maybe ConjugateFunction(const Fraction& x) {
    Maybe out =
        ring_.IsClosed(x) ? ConjugateOf(x) : std::nullopt;  // a free variable may stand for any number
    return out ? out : Opaque("conjugate", {x});
  }
  Maybe Abs(const Fraction& x) {
    RealSign sign = SignOfFraction(x);
    if (sign == RealSign::kZero) return Constant(0);
    if (sign == RealSign::kPositive) return x;
    if (sign == RealSign::kNegative) return ring_.Negate(x);
    Maybe conjugate = ConjugateOf(x);
    if (!conjugate) return Opaque("abs", {x});
    return Raise(ring_, Times(x, *conjugate), {1, 2});
  }
  Maybe Re(const Fraction& x) {
    Maybe conjugate = ring_.IsClosed(x) ? ConjugateOf(x) : std::nullopt;
    if (!conjugate) return Opaque("Re", {x});
    return Times(Plus(x, *conjugate), Constant(mpq_class(1, 2)));
  }
  Maybe Im(const Fraction& x) {
    Maybe conjugate = ring_.IsClosed(x) ? ConjugateOf(x) : std::nullopt;
    if (!conjugate) return Opaque("Im", {x});
    return Times(Times(Minus(*conjugate, x), Imaginary()), Constant(mpq_class(1, 2)));
  }
  Maybe Sgn(const Fraction& x) {
    RealSign sign = SignOfFraction(x);
    if (sign == RealSign::kZero) return Constant(0);
    if (sign == RealSign::kPositive || sign == RealSign::kNegative)
      return Constant(sign == RealSign::kPositive ? 1 : -1);
    return Opaque("sgn", {x});
  }

  // `name` is floor or ceil.
  Maybe Rounded(const char* name, const Fraction& x) {
    Expression call = Applied(name, ring_.ToExpression(x));
    if (std::optional<mpq_class> rational = RationalValue(call, work_)) return Constant(*rational);
    if (!ring_.IsClosed(x)) return Opaque(name, {x});
    Ball ball;
    if (EvaluateBall(call, {.precision = 256}, work_, ball) == BallState::kValue &&
        arb_is_exact(ball.real()) && arf_cmpabs_2exp_si(arb_midref(ball.real()), 62) < 0) {
      return Constant(arf_get_si(arb_midref(ball.real()), ARF_RND_NEAR));
    }
    return Opaque(name, {x});
  }
  Maybe Floor(const Fraction& x) { return Rounded("floor", x); }
  Maybe Ceil(const Fraction& x) { return Rounded("ceil", x); }

  // (n + k)! in terms of n!, for whole k.
  Maybe Factorial(const Fraction& n) {
    if (std::optional<mpq_class> value = AsRational(n)) {
      std::optional<mpq_class> product = math::Factorial(*value, work_);
      return product ? Maybe(Constant(*product)) : std::nullopt;
    }
    int shift = 0;
    if (IsOne(n.denominator) && n.numerator[0].monomial.empty()) {
      const mpq_class& constant = n.numerator[0].coefficient;
      if (constant.get_den() == 1 && abs(constant) <= kMaxShift)
        shift = static_cast<int>(constant.get_num().get_si());
    }
    Fraction base = Minus(n, Constant(shift));
    Maybe out = Opaque("factorial", {base});
    for (int k = 1; out && k <= shift; ++k) out = Times(*out, Plus(base, Constant(k)));
    for (int k = 0; out && k > shift; --k) out = Over(*out, Plus(base, Constant(k)));
    return out;
  }

  Maybe Binomial(const Fraction& n, const Fraction& k) {
    std::optional<mpq_class> above = AsRational(n), below = AsRational(k);
    if (above && below) {
      std::optional<mpq_class> value = math::Binomial(*above, *below, work_);
      return value ? Maybe(Constant(*value)) : std::nullopt;
    }
    if (below && below->get_den() == 1 && *below >= 0 && *below <= kMaxShift) {
      Maybe out = Constant(1);
      for (int j = 0; out && *below > j; ++j) {
        out = Times(*out, Times(Minus(n, Constant(j)), Constant(mpq_class(1, j + 1))));
      }
      return out;
    }
    Maybe n_factorial = Factorial(n), k_factorial = Factorial(k), rest = Factorial(Minus(n, k));
    if (!n_factorial || !k_factorial || !rest) return std::nullopt;
    return Over(*n_factorial, Times(*k_factorial, *rest));
  }

  Ring& ring_;
  Work& work_;
};

}  // namespace

std::optional<Fraction> NormalForm(const Expression& expression, Ring& ring) {
  std::optional<Fraction> out = Normalizer(ring).Of(expression);
  return ring.work().ok() ? out : std::nullopt;
}

}  // namespace sluice::math
