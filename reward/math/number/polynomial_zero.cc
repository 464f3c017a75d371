#include "reward/math/number/polynomial_zero.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "reward/math/number/constant.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

bool MonomialLess(const Monomial& a, const Monomial& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}
struct ByMonomial {
  bool operator()(const Monomial& a, const Monomial& b) const { return MonomialLess(a, b); }
};
using Grouped = std::map<Monomial, Polynomial, ByMonomial>;

// Terms by the part of their monomials that `belongs`.
template <typename Predicate>
Grouped GroupBy(const Ring& ring, const Polynomial& p, Predicate belongs) {
  Grouped groups;
  for (const Term& t : p) {
    Monomial key, rest;
    for (const Factor& f : t.monomial) (belongs(ring.generator(f.generator)) ? key : rest).push_back(f);
    groups[key].push_back({std::move(rest), t.coefficient});
  }
  return groups;
}

bool IsTranscendental(const Generator& g) {
  switch (g.kind) {
    case GeneratorKind::kPi:
    case GeneratorKind::kE:
    case GeneratorKind::kLogarithm:
    case GeneratorKind::kExponential:
    case GeneratorKind::kFunction:
      return true;
    default:
      return false;
  }
}

// Real radicals of primes, i, and powers of one of pi and e at most are linearly independent over the
// rationals (Besicovitch; Lindemann).
bool IsIndependent(const Ring& ring, const Polynomial& p) {
  int transcendental = -1;
  for (const Term& t : p) {
    for (const Factor& f : t.monomial) {
      const Generator& g = ring.generator(f.generator);
      switch (g.kind) {
        case GeneratorKind::kMinusOne:
          if (f.exponent.den != 2) return false;
          break;
        case GeneratorKind::kPrime:
          if (!g.is_prime) return false;
          break;
        case GeneratorKind::kPi:
        case GeneratorKind::kE:
          if (transcendental >= 0 && transcendental != f.generator) return false;
          transcendental = f.generator;
          break;
        default:
          return false;
      }
    }
  }
  return true;
}

// The factor that makes all coefficients whole; nothing where they are then too large for exponents.
std::optional<mpz_class> CommonScale(const Polynomial& p) {
  mpz_class scale = 1;
  for (const Term& t : p) scale = lcm(scale, t.coefficient.get_den());
  for (const Term& t : p) {
    if (abs(t.coefficient) * scale > 64) return std::nullopt;
  }
  return scale;
}

// The generator of a term that is one generator to the power 1; null otherwise.
const Generator* OnlyGenerator(const Ring& ring, const Term& t) {
  bool single = t.monomial.size() == 1 && t.monomial[0].exponent == Exponent{1, 1};
  return single ? &ring.generator(t.monomial[0].generator) : nullptr;
}

Expression TimesPower(Expression product, Expression base, const mpq_class& exponent) {
  Expression factor = NodeOf(Kind::kPower, std::move(base), NumberOf(exponent));
  return NodeOf(Kind::kProduct, std::move(product), std::move(factor));
}

// sum of n_k ln(a_k) with whole n_k and positive a_k is zero exactly where the product of the a_k^n_k is 1.
bool IsZeroOfLogarithms(Ring& ring, const Polynomial& p, int bits) {
  std::optional<mpz_class> scale = CommonScale(p);
  if (!scale) return false;
  Expression product = NumberOf(1);
  for (const Term& t : p) {
    const Generator* g = OnlyGenerator(ring, t);
    if (g == nullptr) return false;
    Expression argument;
    if (g->kind == GeneratorKind::kLogarithm) {
      argument = NumberOf(mpq_class(g->prime));
    } else if (g->kind == GeneratorKind::kFunction && g->name == "ln") {
      argument = ring.ToExpression(g->args[0]);
    } else {
      return false;
    }
    if (SignOf(argument, bits, ring.work()) != RealSign::kPositive) return false;
    product = TimesPower(std::move(product), std::move(argument), t.coefficient * *scale);
  }
  return SignOf(Difference(std::move(product), NumberOf(1)), bits, ring.work()) == RealSign::kZero;
}

// cosine + i sine of the angle, but for a positive factor; `turn` is 1 or -1, for the conjugate.
std::optional<Expression> Direction(const Ring& ring, const Generator& g, const mpq_class& coefficient,
                                    int turn) {
  auto imaginary = [turn](Expression x) {
    return NodeOf(Kind::kProduct, NumberOf(turn), SymbolOf("i"), std::move(x));
  };
  if (g.kind == GeneratorKind::kPi) {
    Expression angle = NodeOf(Kind::kProduct, NumberOf(coefficient), SymbolOf("pi"));
    return NodeOf(Kind::kSum, Applied("cos", angle), imaginary(Applied("sin", angle)));
  }
  if (g.kind != GeneratorKind::kFunction || (g.name != "arctan" && g.name != "arcsin")) return std::nullopt;
  Expression x = ring.ToExpression(g.args[0]), cosine = NumberOf(1);
  if (g.name == "arcsin") {
    Expression square = NodeOf(Kind::kPower, x, NumberOf(2));
    cosine = NodeOf(Kind::kPower, Difference(NumberOf(1), std::move(square)), NumberOf(mpq_class(1, 2)));
  }
  return NodeOf(Kind::kSum, std::move(cosine), imaginary(std::move(x)));
}

// A sum of angles that a ball has around zero is zero if the product of their directions is real.
bool IsZeroOfAngles(Ring& ring, const Polynomial& p, int bits) {
  std::optional<mpz_class> scale = CommonScale(p);
  if (!scale) return false;
  Expression products[2] = {NumberOf(1), NumberOf(1)};
  for (const Term& t : p) {
    const Generator* g = OnlyGenerator(ring, t);
    if (g == nullptr) return false;
    mpq_class coefficient = t.coefficient * *scale;
    for (int conjugate : {0, 1}) {
      std::optional<Expression> direction = Direction(ring, *g, coefficient, conjugate ? -1 : 1);
      if (!direction) return false;
      mpq_class power = g->kind == GeneratorKind::kPi ? mpq_class(1) : coefficient;
      products[conjugate] = TimesPower(std::move(products[conjugate]), *std::move(direction), power);
    }
  }
  Expression imaginary = Difference(std::move(products[0]), std::move(products[1]));
  return SignOf(imaginary, bits, ring.work()) == RealSign::kZero;
}

ZeroDecision DecideClosed(Ring& ring, const Polynomial& p, int bits) {
  if (p.empty()) return {Zeroness::kZero, "normal form"};
  if (IsIndependent(ring, p)) return {Zeroness::kNonzero, "normal form"};
  constexpr int kLowPrecision = 256;
  Expression value = ring.ToExpression(p);
  RealSign sign = SignOf(value, std::min(bits, kLowPrecision), ring.work());
  if (sign == RealSign::kZero) return {Zeroness::kZero, "algebraic"};
  if (sign != RealSign::kUnknown && sign != RealSign::kUndefined) return {Zeroness::kNonzero, "ball"};
  Grouped groups = GroupBy(ring, p, IsTranscendental);
  bool zero = groups.size() > 1 || !groups.begin()->first.empty();
  for (const auto& [transcendental, coefficient] : groups) {
    if (!zero || !ring.work().ok()) break;
    zero = SignOf(ring.ToExpression(coefficient), bits, ring.work()) == RealSign::kZero;
  }
  if (!ring.work().ok()) return {};  // what broke off proves nothing
  if (zero) return {Zeroness::kZero, "algebraic"};
  if (IsZeroOfLogarithms(ring, p, bits)) return {Zeroness::kZero, "logarithms"};
  if (sign == RealSign::kUnknown && IsZeroOfAngles(ring, p, bits)) return {Zeroness::kZero, "angles"};
  sign = SignOf(value, bits, ring.work());
  if (sign == RealSign::kZero) return {Zeroness::kZero, "algebraic"};
  if (sign != RealSign::kUnknown && sign != RealSign::kUndefined) return {Zeroness::kNonzero, "ball"};
  return {};
}

// "f", "f'", "g_1": stands for any function. All other names obey laws that the ring does not know.
bool IsUnknownFunction(const std::string& name) {
  return !name.empty() && absl::ascii_isalpha(static_cast<unsigned char>(name[0])) &&
         (name.size() == 1 || !absl::ascii_isalpha(static_cast<unsigned char>(name[1])));
}

// Symbols, unknown functions and exponentials of different monomials are algebraically independent.
bool AreFree(const Ring& ring, const Monomial& monomial) {
  return std::all_of(monomial.begin(), monomial.end(), [&](const Factor& f) {
    const Generator& g = ring.generator(f.generator);
    if (g.kind == GeneratorKind::kSymbol) return true;
    if (g.kind == GeneratorKind::kFunction) return IsUnknownFunction(g.name);
    return g.kind == GeneratorKind::kExponential &&
           std::all_of(g.power.begin(), g.power.end(), [&](const Factor& in) {
             GeneratorKind kind = ring.generator(in.generator).kind;
             return kind == GeneratorKind::kSymbol || kind == GeneratorKind::kPrime ||
                    kind == GeneratorKind::kPi || (kind == GeneratorKind::kMinusOne && in.exponent.den == 2);
           });
  });
}

}  // namespace

ZeroDecision DecideZero(Ring& ring, const Polynomial& p, int max_precision_bits) {
  if (p.empty()) return {Zeroness::kZero, "normal form"};
  // What a function nobody knows is worth may be anything, even of a constant.
  Grouped groups = GroupBy(ring, p, [](const Generator& g) {
    return !g.closed || (g.kind == GeneratorKind::kFunction && IsUnknownFunction(g.name));
  });
  if (groups.size() == 1 && groups.begin()->first.empty()) return DecideClosed(ring, p, max_precision_bits);
  bool all_zero = true, some_nonzero = false, free = true;
  const char* rule = "normal form";
  for (const auto& [monomial, coefficient] : groups) {
    free = free && AreFree(ring, monomial);
    ZeroDecision decision = DecideClosed(ring, coefficient, max_precision_bits);
    all_zero = all_zero && decision.zeroness == Zeroness::kZero;
    some_nonzero = some_nonzero || decision.zeroness == Zeroness::kNonzero;
    if (decision.zeroness == Zeroness::kZero) rule = decision.rule;
  }
  if (all_zero) return {Zeroness::kZero, rule};
  if (some_nonzero && free) return {Zeroness::kNonzero, "normal form"};
  return {};
}

}  // namespace sluice::math
