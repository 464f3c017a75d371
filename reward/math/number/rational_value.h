// The exact value of an expression that is a rational number. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

#include <optional>

#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

constexpr int64_t kMaxNumberBits = 1 << 16;    // of a numerator or denominator
constexpr unsigned long kMaxFactorial = 4000;  // of an argument that is multiplied out

// base^exponent; nothing where the base is 0 and the exponent negative, or past kMaxNumberBits ("digits").
std::optional<mpq_class> Power(const mpq_class& base, const mpz_class& exponent, Work& work);

// The real root of this index where it is rational: of a negative base only for odd indices.
std::optional<mpq_class> ExactRoot(const mpq_class& base, unsigned long index);

// n! and the binomial coefficient, of integers in range ("factorial").
std::optional<mpq_class> Factorial(const mpq_class& n, Work& work);
std::optional<mpq_class> Binomial(const mpq_class& n, const mpq_class& k, Work& work);

// Of arithmetic, exact roots and integer functions. Nothing for all else: not rational, not defined, or past
// a limit, which `work` then names.
std::optional<mpq_class> RationalValue(const Expression& expression, Work& work);

// c0 + c1 pi.
struct LinearInPi {
  mpq_class constant, pi;
};
std::optional<LinearInPi> AsLinearInPi(const Expression& expression, Work& work);

}  // namespace sluice::math
