// Equality of functions of real variables by their values at points that are drawn from a hash.
#pragma once

#include <string>
#include <vector>

#include "reward/math/equal/equivalence.h"
#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

constexpr int kAgreeingPoints = 8;
constexpr int kAgreeingBits = 256;

// kDifferent where balls separate the values at one point; that is proof. kEqual where they agree to
// kAgreeingBits bits at kAgreeingPoints points at least and disagree at none of six times as many, near zero
// and beyond every number in the expressions, of both signs: in the reals where both are real at some points,
// else in the complex numbers. kUndecided else, and of functions that are constant between jumps (floor, sgn,
// ...), where agreement means little. `symbols` are the free variables.
Answer CompareAtPoints(const Expression& a, const Expression& b, const std::vector<std::string>& symbols,
                       Work& work);

}  // namespace sluice::math
