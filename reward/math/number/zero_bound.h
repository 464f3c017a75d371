// How small an algebraic number can be without being zero (the BFMSS bound: Burnikel, Funke, Mehlhorn,
// Schirra, Schmitt, "A separation bound for real algebraic expressions", ESA 2001). Its argument bounds all
// conjugates, so it holds for complex expressions too.
#pragma once

#include <optional>

#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

// B such that the value of `expression` is zero or at least 2^-B in absolute value. Of numbers, i, + * / and
// rational powers, and sine, cosine and tangent of rational multiples of pi; nothing for all else. Degrees of
// roots multiply, so B soon grows past any use; the caller compares it with what it can afford.
std::optional<double> ZeroBoundBits(const Expression& expression, Work& work);

}  // namespace sluice::math
