// Signs of closed constants: balls of growing precision, and where these do not separate from zero the
// separation bound of algebraic numbers. Pure and thread-safe.
#pragma once

#include <string>

#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

enum class RealSign {
  kNegative,
  kZero,  // proved
  kPositive,
  kNotReal,  // and not zero
  kNonzero,  // real or not
  kUndefined,
  kUnknown,  // not separated from zero at full precision and no proof, no closed constant, or past a limit
};

RealSign SignOf(const Expression& constant, int max_precision_bits, Work& work);

// Whether a symbol of that name is a number, known or not: "x", "pi"; not "infinity", "...", "set Z".
bool StandsForANumber(const std::string& name);

// a - b.
Expression Difference(Expression a, Expression b);

}  // namespace sluice::math
