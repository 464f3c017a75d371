// Powers with fractions as exponents, and logarithms and exponentials, in normal form. A function that
// returns nothing while the work is ok() found its value undefined.
#pragma once

#include <optional>

#include "reward/math/number/constant.h"
#include "reward/math/number/ring.h"

namespace sluice::math {

// Of a closed polynomial.
RealSign SignOf(Ring& ring, const Polynomial& p);

// f^exponent. Of negative numbers the real root for odd denominators, else the principal one. Free variables
// are real; the value is right wherever all parts are defined in the reals.
std::optional<Fraction> Raise(Ring& ring, const Fraction& f, Exponent exponent);

std::optional<Fraction> Logarithm(Ring& ring, const Fraction& f);
std::optional<Fraction> Exponential(Ring& ring, const Fraction& f);

// The complex conjugate; nothing where it is not known.
std::optional<Polynomial> Conjugate(Ring& ring, const Polynomial& p);

}  // namespace sluice::math
