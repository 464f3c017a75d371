// Whether a polynomial over the generators of a Ring is zero as a function of its free variables.
#pragma once

#include "reward/math/number/ring.h"

namespace sluice::math {

enum class Zeroness {
  kZero,     // proved
  kNonzero,  // proved
  kUnknown,
};

struct ZeroDecision {
  Zeroness zeroness = Zeroness::kUnknown;
  const char* rule = "";  // "normal form", "ball", "algebraic", "logarithms", "angles"
};

// Coefficients of independent free monomials are zero all, or the polynomial is not. A closed coefficient is
// not zero where its generators are linearly independent or a ball of at most that many bits says so; it is
// zero where the algebraic coefficients of its transcendental monomials are, or its exponential is 1,
// or it is a sum of angles whose directions multiply to a real number.
ZeroDecision DecideZero(Ring& ring, const Polynomial& p, int max_precision_bits);

}  // namespace sluice::math
