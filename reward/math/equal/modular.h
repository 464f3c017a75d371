// Equality of rational functions by evaluation modulo large primes (Schwartz-Zippel), for what is too large
// to be expanded and as a second way to decide. Primes and points are drawn from a hash of both expressions,
// so the verdict is reproducible, and an answer that is made to fail for known ones cannot be prepared.
#pragma once

#include "reward/math/equal/equivalence.h"
#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

// Of expressions in + * / and integer powers. kDifferent is certain; kEqual is wrong with probability below
// 2^-100, by bounds on degree and coefficients that the expressions imply. kUndecided for other expressions,
// degrees past 2^24, and coefficients past 2^34 bits.
Answer CompareModular(const Expression& a, const Expression& b, Work& work);

}  // namespace sluice::math
