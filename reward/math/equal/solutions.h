// Equations beside their solutions: "x^2 = 4" and "x = \pm 2". Pure and thread-safe.
#pragma once

#include <optional>
#include <string>

#include "reward/math/equal/equivalence.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

// The equation that `values`, one or several, of the unknown `name` are all the solutions of: the product of
// the (name - value) is zero. Nothing where they are too many or no values.
std::optional<Expression> EquationSolvedBy(const std::string& name, const Expression& values);

// An equation without the modulus that stands alone on a side: "|x| = 2" as "x^2 = 4". Nothing for what is no
// equation in `name`.
std::optional<Expression> EquationIn(const std::string& name, const Expression& equation);

}  // namespace sluice::math
