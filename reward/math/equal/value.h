// Whether two scalar expressions have the same value, for all values of their free variables (which are real)
// where both are defined.
#pragma once

#include <string>

#include "reward/math/equal/equivalence.h"
#include "reward/math/number/work.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

struct ValueDecision {
  Answer answer = Answer::kUndecided;
  // "rational", "identical", "polynomial", "rational function", "normal form", "algebraic", "ball", "points",
  // "modular", "undefined"; of kUndecided the reason.
  std::string rule;
};

// In this order: exact rational numbers; normal forms; modular evaluation of what is too large for those; the
// sign of the difference of closed constants; evaluation at points that are drawn from a hash, where a
// difference is proof and agreement at kAgreeingPoints points to kAgreeingBits bits counts as equality.
// `strict` goes by evaluation first and by normal forms last.
ValueDecision CompareValues(const Expression& a, const Expression& b, const EquivalenceOptions& options,
                            Work& work);

// The normal form of every value in it that has one; the rest as read.
Expression NormalExpression(const Expression& expression);

// Whether no free variable and no unknown name is in it.
bool IsClosedConstant(const Expression& expression);

}  // namespace sluice::math
