// Expressions as fractions of polynomials over the generators of a Ring. Two expressions with the same normal
// form are equal wherever both are defined; different ones need not differ (value.h).
#pragma once

#include <optional>

#include "reward/math/number/ring.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

// The limit that an expression exceeds which is no scalar.
inline constexpr char kNoValue[] = "no value";

// Nothing: not defined while the ring's work is ok(), else past the limit that it names ("no value" for what
// is no scalar).
std::optional<Fraction> NormalForm(const Expression& expression, Ring& ring);

}  // namespace sluice::math
