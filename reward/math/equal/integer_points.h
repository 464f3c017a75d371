// Sums and products up to a variable, at whole values of it: "\sum_{k=1}^n k" and "n(n+1)/2". Pure and
// thread-safe.
#pragma once

#include "reward/math/equal/value.h"

namespace sluice::math {

// Equal where both agree at many whole values of the one variable that a sum or product of either runs to;
// different where they do not at one; undecided for all else.
ValueDecision CompareAtIntegers(const Expression& gold, const Expression& prediction,
                                const EquivalenceOptions& options, Work& work);

}  // namespace sluice::math
