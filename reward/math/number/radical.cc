#include "reward/math/number/radical.h"

#include <algorithm>
#include <utility>

#include "reward/math/number/factorization.h"

namespace sluice::math {
namespace {

constexpr int kSignPrecision = 1024;

using Maybe = std::optional<Fraction>;

bool IsOdd(Exponent e) { return e.den % 2 != 0; }

// A generator of its own for what no rule takes apart.
Maybe Opaque(Ring& ring, const char* name, std::vector<Fraction> args) {
  return Ring::Whole(ring.PowerOf(ring.Function(name, std::move(args)), {1, 1}));
}

Maybe OpaquePower(Ring& ring, const Polynomial& p, Exponent e) {
  return Opaque(ring, "power", {Ring::Whole(p), Ring::Whole(Ring::Constant(mpq_class(e.num, e.den)))});
}

// |c|^exponent.
Fraction PositiveNumber(Ring& ring, const mpq_class& c, Exponent exponent) {
  Polynomial out = Ring::Constant(1);
  for (bool below : {false, true}) {
    mpz_class part = abs(below ? c.get_den() : c.get_num());
    if (part == 1) continue;
    for (const PrimePower& f : Factorization(part, ring.work())) {
      Exponent power = exponent * Exponent{below ? -f.exponent : f.exponent, 1};
      if (!power.fits()) ring.work().Exceed("exponent");
      out = ring.Multiply(out, ring.PowerOf(ring.Prime(f.prime, f.is_prime), power));
    }
  }
  return Ring::Whole(std::move(out));
}

// Of coefficient * monomial, where the monomial is taken apart into what is positive, a power of -1, and the
// rest.
struct Parts {
  Monomial positive, rest;
  Exponent turn;  // of -1, the coefficient's sign included; in (-1, 1]
};

Parts Split(const Ring& ring, const Term& term) {
  Parts parts;
  if (term.coefficient < 0) parts.turn = {1, 1};
  for (const Factor& f : term.monomial) {
    if (f.generator == Ring::kMinusOne) {
      parts.turn = parts.turn + f.exponent;
    } else {
      (ring.generator(f.generator).positive ? parts.positive : parts.rest).push_back(f);
    }
  }
  if (Exponent{1, 1} < parts.turn) parts.turn = parts.turn + Exponent{-2, 1};
  return parts;
}

// generator^exponent; of roots there are no negative powers but in denominators.
Fraction PowerOf(Ring& ring, int generator, Exponent exponent) {
  if (exponent.num >= 0 || ring.generator(generator).kind != GeneratorKind::kRoot) {
    return Ring::Whole(ring.PowerOf(generator, exponent));
  }
  return ring.Divide(Ring::Constant(1), ring.PowerOf(generator, -exponent));
}

// (generator^k)^e for a real generator of any sign; nothing where only |generator| would do and has no name.
Maybe RaiseFree(Ring& ring, Factor f, Exponent e) {
  Exponent product = f.exponent * e;
  bool even_power = f.exponent.num % 2 == 0;
  // Not real: exp(i x), whose principal root depends on x.
  if (ring.generator(f.generator).kind == GeneratorKind::kExponential) return std::nullopt;
  if (IsOdd(e) || !even_power || (product.IsInteger() && product.num % 2 == 0)) {
    return PowerOf(ring, f.generator, product);
  }
  if (ring.generator(f.generator).kind != GeneratorKind::kSymbol) return std::nullopt;
  int square = ring.Root(ring.PowerOf(f.generator, {2, 1}), false);
  return PowerOf(ring, square, product * Exponent{1, 2});
}

Maybe RaisePrimitive(Ring& ring, Polynomial p, Exponent e);

Maybe RaiseTerm(Ring& ring, const Term& term, Exponent e) {
  Parts parts = Split(ring, term);
  Fraction out = PositiveNumber(ring, term.coefficient, e);
  for (const Factor& f : parts.positive) {
    out = ring.Multiply(out, PowerOf(ring, f.generator, f.exponent * e));
  }
  bool half_turn = parts.turn == Exponent{1, 1};
  if (!parts.rest.empty() && parts.turn.num != 0 && !(half_turn && IsOdd(e))) {
    if (!half_turn) return OpaquePower(ring, Polynomial{term}, e);
    Maybe rest = RaisePrimitive(ring, Polynomial{{parts.rest, -1}}, e);
    if (!rest) return std::nullopt;
    return ring.Multiply(out, *rest);
  }
  for (const Factor& f : parts.rest) {
    Maybe power = RaiseFree(ring, f, e);
    if (!power) return OpaquePower(ring, Polynomial{term}, e);
    out = ring.Multiply(out, *power);
  }
  if (parts.turn.num == 0) return out;
  if (half_turn && IsOdd(e)) return e.num % 2 == 0 ? out : ring.Negate(std::move(out));
  return ring.Multiply(out, Ring::Whole(ring.MinusOneTo(parts.turn * e)));
}

// The positive rational and the positive monomial that divide all terms; p becomes the rest.
Term TakeContent(Ring& ring, Polynomial& p) {
  Term content{{}, 1};
  mpz_class above = 0, below = 1;
  for (const Term& t : p) {
    above = gcd(above, t.coefficient.get_num());
    below = lcm(below, t.coefficient.get_den());
  }
  content.coefficient = mpq_class(above, below);
  content.coefficient.canonicalize();
  for (const Factor& f : p[0].monomial) {
    if (!ring.generator(f.generator).positive) continue;
    std::optional<Exponent> least = f.exponent;
    for (const Term& t : p) {
      auto same = std::find_if(t.monomial.begin(), t.monomial.end(),
                               [&](const Factor& g) { return g.generator == f.generator; });
      if (same == t.monomial.end()) {
        least.reset();
        break;
      }
      least = std::min(*least, same->exponent);
    }
    if (least) content.monomial.push_back({f.generator, *least});
  }
  for (Term& t : p) {
    t.coefficient /= content.coefficient;
    for (const Factor& c : content.monomial) {
      auto same = std::find_if(t.monomial.begin(), t.monomial.end(),
                               [&](const Factor& g) { return g.generator == c.generator; });
      same->exponent = same->exponent + -c.exponent;
      if (same->exponent.num == 0) t.monomial.erase(same);
    }
  }
  std::sort(p.begin(), p.end(), [](const Term& a, const Term& b) {
    return std::lexicographical_compare(a.monomial.begin(), a.monomial.end(), b.monomial.begin(),
                                        b.monomial.end());
  });
  return content;
}

// p without content; its sign taken out where that is known to be allowed.
Maybe RaisePrimitive(Ring& ring, Polynomial p, Exponent e) {
  Polynomial sign = Ring::Constant(1);
  bool positive = false;
  if (ring.IsClosed(p)) {
    switch (SignOf(ring, p)) {
      case RealSign::kZero:
        if (e.num < 0) return std::nullopt;
        return Ring::Whole({});
      case RealSign::kUndefined:
        return std::nullopt;
      case RealSign::kPositive:
        positive = true;
        break;
      case RealSign::kNegative:
        positive = true;
        p = Ring::Scaled(std::move(p), -1);
        sign = IsOdd(e) ? Ring::Constant(e.num % 2 == 0 ? 1 : -1) : ring.MinusOneTo(e);
        break;
      default:
        break;
    }
  } else if (IsOdd(e) && p[0].coefficient < 0) {
    p = Ring::Scaled(std::move(p), -1);
    if (e.num % 2 != 0) sign = Ring::Constant(-1);
  }
  int root = ring.Root(p, positive);
  if (e.num > 0) return Ring::Whole(ring.Multiply(sign, ring.PowerOf(root, e)));
  return ring.Divide(std::move(sign), ring.PowerOf(root, -e));
}

Maybe RaisePolynomial(Ring& ring, Polynomial p, Exponent e) {
  if (p.empty()) {
    if (e.num < 0) return std::nullopt;
    return Ring::Whole({});
  }
  if (p.size() == 1) return RaiseTerm(ring, p[0], e);
  Term content = TakeContent(ring, p);
  Maybe outside = RaiseTerm(ring, content, e), inside = RaisePrimitive(ring, std::move(p), e);
  if (!outside || !inside) return std::nullopt;
  return ring.Multiply(*outside, *inside);
}

// N / D to the p/q is N D^(q-1) to the p/q over |D|^p, or D^p for odd q.
Maybe RaiseQuotient(Ring& ring, const Fraction& f, Exponent e) {
  Polynomial above = ring.Multiply(f.numerator, ring.Power(f.denominator, e.den - 1));
  Maybe root = RaisePolynomial(ring, std::move(above), e);
  Maybe below = Ring::Whole(f.denominator);
  if (!IsOdd(e)) below = RaisePolynomial(ring, ring.Multiply(f.denominator, f.denominator), {1, 2});
  if (!root || !below) return std::nullopt;
  for (int i = 0; i < std::abs(e.num) && ring.work().ok(); ++i) {
    *root = e.num > 0 ? ring.Multiply(*root, ring.Divide(below->denominator, below->numerator))
                      : ring.Multiply(*root, *below);
  }
  return root;
}

}  // namespace

RealSign SignOf(Ring& ring, const Polynomial& p) {
  if (p.empty()) return RealSign::kZero;
  bool plain = std::all_of(p.begin(), p.end(), [&](const Term& t) {
    return ring.IsPositive(t.monomial) && (t.coefficient > 0) == (p[0].coefficient > 0);
  });
  if (plain) return p[0].coefficient > 0 ? RealSign::kPositive : RealSign::kNegative;
  return SignOf(ring.ToExpression(p), kSignPrecision, ring.work());
}

Maybe Raise(Ring& ring, const Fraction& f, Exponent exponent) {
  if (!exponent.fits() || exponent.den > 64 || std::abs(exponent.num) > 4096) {
    ring.work().Exceed("exponent");
    return std::nullopt;
  }
  if (IsOne(f.denominator)) return RaisePolynomial(ring, f.numerator, exponent);
  if (!ring.IsClosed(f.denominator)) return RaiseQuotient(ring, f, exponent);
  RealSign sign = SignOf(ring, f.denominator);
  if (sign == RealSign::kZero || sign == RealSign::kUndefined) return std::nullopt;
  if (sign != RealSign::kPositive && sign != RealSign::kNegative) {
    return Opaque(ring, "power", {f, Ring::Whole(Ring::Constant(mpq_class(exponent.num, exponent.den)))});
  }
  mpq_class one = sign == RealSign::kPositive ? 1 : -1;
  Maybe above = RaisePolynomial(ring, Ring::Scaled(f.numerator, one), exponent);
  Maybe below = RaisePolynomial(ring, Ring::Scaled(f.denominator, one), exponent);
  if (!above || !below || below->numerator.empty()) return std::nullopt;
  return ring.Multiply(*above, ring.Divide(below->denominator, below->numerator));
}

namespace {

Maybe OpaqueLogarithm(Ring& ring, Polynomial argument) {
  return Opaque(ring, "ln", {Ring::Whole(std::move(argument))});
}

Maybe LogarithmOfPolynomial(Ring& ring, Polynomial p);

Maybe LogarithmOfFactor(Ring& ring, Factor f) {
  const Generator g = ring.generator(f.generator);
  Maybe out;
  switch (g.kind) {
    case GeneratorKind::kPrime:
      out = Ring::Whole(ring.PowerOf(ring.Logarithm(g.prime, g.is_prime), {1, 1}));
      break;
    case GeneratorKind::kE:
      out = Ring::Whole(Ring::Constant(1));
      break;
    case GeneratorKind::kExponential:
      if (g.positive) out = Ring::Whole(Polynomial{{g.power, 1}});
      break;
    case GeneratorKind::kRoot:
      if (g.closed && g.positive) out = LogarithmOfPolynomial(ring, g.base);
      break;
    default:
      break;
  }
  bool even = !g.positive && f.exponent.num % 2 == 0;
  if (!out && even) return OpaqueLogarithm(ring, Polynomial{{{f}, 1}});
  if (!out) out = OpaqueLogarithm(ring, ring.PowerOf(f.generator, {1, 1}));
  out->numerator = Ring::Scaled(std::move(out->numerator), mpq_class(f.exponent.num, f.exponent.den));
  return out;
}

Maybe LogarithmOfTerm(Ring& ring, const Term& term) {
  Parts parts = Split(ring, term);
  if (!parts.rest.empty() && parts.turn.num != 0) return OpaqueLogarithm(ring, Polynomial{term});
  Fraction sum = Ring::Whole({});
  for (bool below : {false, true}) {
    mpz_class part = abs(below ? term.coefficient.get_den() : term.coefficient.get_num());
    for (const PrimePower& f : Factorization(part, ring.work())) {
      Polynomial log = ring.PowerOf(ring.Logarithm(f.prime, f.is_prime), {1, 1});
      sum.numerator = ring.Add(sum.numerator, Ring::Scaled(std::move(log), below ? -f.exponent : f.exponent));
    }
  }
  for (const Monomial* monomial : {&parts.positive, &parts.rest}) {
    for (const Factor& f : *monomial) {
      Maybe part = LogarithmOfFactor(ring, f);
      if (!part) return std::nullopt;
      sum = ring.Add(sum, *part);
    }
  }
  if (parts.turn.num == 0) return sum;
  Polynomial angle = ring.Multiply(ring.PowerOf(Ring::kMinusOne, {1, 2}), ring.PowerOf(Ring::kPi, {1, 1}));
  return ring.Add(sum,
                  Ring::Whole(Ring::Scaled(std::move(angle), mpq_class(parts.turn.num, parts.turn.den))));
}

Maybe LogarithmOfPolynomial(Ring& ring, Polynomial p) {
  if (p.empty()) return std::nullopt;
  if (p.size() == 1) return LogarithmOfTerm(ring, p[0]);
  Term content = TakeContent(ring, p);
  if (ring.IsClosed(p)) {
    RealSign sign = SignOf(ring, p);
    if (sign == RealSign::kZero || sign == RealSign::kUndefined) return std::nullopt;
    if (sign == RealSign::kNegative) {
      content.coefficient = -content.coefficient;
      p = Ring::Scaled(std::move(p), -1);
    }
  }
  Maybe outside = LogarithmOfTerm(ring, content), inside = OpaqueLogarithm(ring, std::move(p));
  if (!outside) return std::nullopt;
  return ring.Add(*outside, *inside);
}

// exp(i arctan x) = (1 + i x) / sqrt(1 + x^2), exp(i arcsin x) = sqrt(1 - x^2) + i x.
Maybe ExponentialOfAngle(Ring& ring, const std::string& name, const Fraction& x) {
  Fraction one = Ring::Whole(Ring::Constant(1)), square = ring.Multiply(x, x);
  Fraction sine = ring.Multiply(Ring::Whole(ring.PowerOf(Ring::kMinusOne, {1, 2})), x);
  if (name == "arcsin") {
    Maybe cosine = Raise(ring, ring.Add(one, ring.Negate(square)), {1, 2});
    return cosine ? Maybe(ring.Add(*cosine, sine)) : std::nullopt;
  }
  Maybe length = Raise(ring, ring.Add(one, square), {-1, 2});
  return length ? Maybe(ring.Multiply(ring.Add(one, sine), *length)) : std::nullopt;
}

// f^exponent; f is not zero.
Fraction WholePower(Ring& ring, Fraction f, int32_t exponent) {
  if (exponent < 0) f = ring.Divide(f.denominator, f.numerator);
  exponent = std::abs(exponent);
  return ring.Divide(ring.Power(f.numerator, exponent), ring.Power(f.denominator, exponent));
}

// exp(coefficient * monomial).
Maybe ExponentialOfTerm(Ring& ring, const Term& term) {
  const Monomial& m = term.monomial;
  if (!term.coefficient.get_num().fits_sint_p() || !term.coefficient.get_den().fits_sint_p()) {
    ring.work().Exceed("exponent");
    return std::nullopt;
  }
  Exponent c = Exponent::Of(term.coefficient.get_num().get_si(), term.coefficient.get_den().get_si());
  if (m.empty()) return Ring::Whole(ring.PowerOf(Ring::kE, c));
  if (m == Monomial{{Ring::kMinusOne, {1, 2}}, {Ring::kPi, {1, 1}}}) return Ring::Whole(ring.MinusOneTo(c));
  if (m.size() == 1 && m[0].exponent == Exponent{1, 1}) {
    const Generator g = ring.generator(m[0].generator);
    if (g.kind == GeneratorKind::kLogarithm)
      return Ring::Whole(ring.PowerOf(ring.Prime(g.prime, g.is_prime), c));
    if (g.kind == GeneratorKind::kFunction && g.name == "ln") {
      if (!c.IsInteger()) return Raise(ring, g.args[0], c);
      return WholePower(ring, g.args[0], c.num);
    }
  }
  bool angle = m.size() == 2 && m[0] == Factor{Ring::kMinusOne, {1, 2}} && m[1].exponent == Exponent{1, 1} &&
               c.IsInteger() && std::abs(c.num) <= 16;
  const Generator g = ring.generator(m.back().generator);
  if (angle && g.kind == GeneratorKind::kFunction && (g.name == "arctan" || g.name == "arcsin")) {
    Maybe direction = ExponentialOfAngle(ring, g.name, g.args[0]);
    return direction ? Maybe(WholePower(ring, *direction, c.num)) : std::nullopt;
  }
  return Ring::Whole(ring.PowerOf(ring.Exponential(m), c));
}

}  // namespace

Maybe Logarithm(Ring& ring, const Fraction& f) {
  if (f.numerator.empty()) return std::nullopt;
  if (IsOne(f.denominator)) return LogarithmOfPolynomial(ring, f.numerator);
  Polynomial above = f.numerator, below = f.denominator;
  if (ring.IsClosed(below) && SignOf(ring, below) == RealSign::kNegative) {
    above = Ring::Scaled(std::move(above), -1);
    below = Ring::Scaled(std::move(below), -1);
  }
  Maybe a = LogarithmOfPolynomial(ring, std::move(above)), b = LogarithmOfPolynomial(ring, std::move(below));
  if (!a || !b) return std::nullopt;
  return ring.Add(*a, ring.Negate(*b));
}

Maybe Exponential(Ring& ring, const Fraction& f) {
  if (!IsOne(f.denominator)) return Opaque(ring, "exp", {f});
  Fraction out = Ring::Whole(Ring::Constant(1));
  for (const Term& term : f.numerator) {
    Maybe factor = ExponentialOfTerm(ring, term);
    if (!factor || !ring.work().ok()) return std::nullopt;
    out = ring.Multiply(out, *factor);
  }
  return out;
}

std::optional<Polynomial> Conjugate(Ring& ring, const Polynomial& p) {
  Polynomial out;
  for (const Term& t : p) {
    Polynomial product = Ring::Constant(t.coefficient);
    for (const Factor& f : t.monomial) {
      const Generator& g = ring.generator(f.generator);
      if (f.generator == Ring::kMinusOne) {
        product = ring.Multiply(product, ring.PowerOf(f.generator, -f.exponent));
      } else if (g.kind == GeneratorKind::kExponential && !g.positive) {
        bool imaginary = g.power[0] == Factor{Ring::kMinusOne, {1, 2}};
        if (!imaginary) return std::nullopt;
        product = ring.Multiply(product, ring.PowerOf(f.generator, -f.exponent));
      } else if (g.closed && !g.positive) {
        return std::nullopt;
      } else {
        product = ring.Multiply(product, ring.PowerOf(f.generator, f.exponent));
      }
    }
    out = ring.Add(out, product);
  }
  return out;
}

}  // namespace sluice::math
