// Signs of closed constants: balls of growing precision, and where these do not separate from zero the
// separation bound of algebraic numbers. Pure and thread-safe.
#pragma once

#include "reward/math/expression.h"
#include "reward/math/work.h"

namespace sluice::math {

enum class Sign {
  kNegative,
  kZero,  // proved
  kPositive,
  kNotReal,  // and not zero
  kNonzero,  // real or not
  kUndefined,
  kUnknown,  // not separated from zero at full precision and no proof, no closed constant, or past a limit
};

Sign SignOf(const Expression& constant, int max_precision_bits, Work& work);

// a - b.
Expression Difference(Expression a, Expression b);

}  // namespace sluice::math
