#include "reward/math/polynomial_zero.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "reward/math/build.h"
#include "reward/math/constant.h"

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

// sum of n_k ln(a_k) with whole n_k and positive a_k is zero exactly where the product of the a_k^n_k is 1.
bool IsZeroOfLogarithms(Ring& ring, const Polynomial& p, int bits) {
  mpz_class scale = 1;
  for (const Term& t : p) scale = lcm(scale, t.coefficient.get_den());
  Expression product = NumberOf(1);
  for (const Term& t : p) {
    if (t.monomial.size() != 1 || t.monomial[0].exponent != Exponent{1, 1}) return false;
    const Generator& g = ring.generator(t.monomial[0].generator);
    Expression argument;
    if (g.kind == GeneratorKind::kLogarithm) {
      argument = NumberOf(mpq_class(g.prime));
    } else if (g.kind == GeneratorKind::kFunction && g.name == "ln") {
      argument = ring.ToExpression(g.args[0]);
    } else {
      return false;
    }
    mpq_class power = t.coefficient * scale;
    if (abs(power) > 64 || SignOf(argument, bits, ring.work()) != Sign::kPositive) return false;
    Expression factor = NodeOf(Kind::kPower, std::move(argument), NumberOf(power));
    product = NodeOf(Kind::kProduct, std::move(product), std::move(factor));
  }
  return SignOf(Difference(std::move(product), NumberOf(1)), bits, ring.work()) == Sign::kZero;
}

ZeroDecision DecideClosed(Ring& ring, const Polynomial& p, int bits) {
  if (p.empty()) return {Zeroness::kZero, "normal form"};
  if (IsIndependent(ring, p)) return {Zeroness::kNonzero, "normal form"};
  constexpr int kLowPrecision = 256;
  Expression value = ring.ToExpression(p);
  Sign sign = SignOf(value, std::min(bits, kLowPrecision), ring.work());
  if (sign == Sign::kZero) return {Zeroness::kZero, "algebraic"};
  if (sign != Sign::kUnknown && sign != Sign::kUndefined) return {Zeroness::kNonzero, "ball"};
  Grouped groups = GroupBy(ring, p, IsTranscendental);
  bool zero = groups.size() > 1 || !groups.begin()->first.empty();
  for (const auto& [transcendental, coefficient] : groups) {
    if (!zero || !ring.work().ok()) break;
    zero = SignOf(ring.ToExpression(coefficient), bits, ring.work()) == Sign::kZero;
  }
  if (!ring.work().ok()) return {};  // what broke off proves nothing
  if (zero) return {Zeroness::kZero, "algebraic"};
  if (IsZeroOfLogarithms(ring, p, bits)) return {Zeroness::kZero, "logarithms"};
  sign = SignOf(value, bits, ring.work());
  if (sign == Sign::kZero) return {Zeroness::kZero, "algebraic"};
  if (sign != Sign::kUnknown && sign != Sign::kUndefined) return {Zeroness::kNonzero, "ball"};
  return {};
}

// Functions that obey laws the ring does not know.
bool HasLaws(const std::string& name) {
  static const auto* const kNames = new absl::flat_hash_set<absl::string_view>{
      "abs", "ln", "exp", "power", "floor", "ceil", "sgn", "factorial", "arcsin", "arctan",
      "Re",  "Im", "arg", "gcd",   "lcm",   "max",  "min", "det",       "tr",     "mod"};
  return kNames->contains(name);
}

// Symbols, unknown functions and exponentials of different monomials are algebraically independent.
bool AreFree(const Ring& ring, const Monomial& monomial) {
  return std::all_of(monomial.begin(), monomial.end(), [&](const Factor& f) {
    const Generator& g = ring.generator(f.generator);
    if (g.kind == GeneratorKind::kSymbol) return true;
    if (g.kind == GeneratorKind::kFunction) return !HasLaws(g.name);
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
  if (ring.IsClosed(p)) return DecideClosed(ring, p, max_precision_bits);
  Grouped groups = GroupBy(ring, p, [](const Generator& g) { return !g.closed; });
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
