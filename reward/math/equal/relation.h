// Equations and inequalities.
#pragma once

#include "reward/math/equal/value.h"

namespace sluice::math {

// Of relations between values: by constant factors, or as sets of numbers (statement.h).
ValueDecision CompareRelations(const Expression& gold, const Expression& prediction,
                               const EquivalenceOptions& options, Work& work);

// A relation of another kind than "=", or several joined by "and", "or" or commas.
bool IsInequality(const Expression& e);

// As sets of real numbers, where `gold` may be an inequality or a set; kUndecided without reason where they
// are none.
ValueDecision CompareAsRealSets(const Expression& gold, const Expression& prediction,
                                const EquivalenceOptions& options, Work& work);

// Whether the relations in it, if any, have the form of solutions.
bool IsSolved(const Expression& e);

// The relation "a = ... = b": its last member, if no two of its closed members differ and all before the last
// are names or equal to it. Null otherwise.
const Expression* EndOfChain(const Expression& e, const EquivalenceOptions& options, Work& work);

// "5 = 5", which is no answer to anything.
bool IsTautology(const Expression& e);

// Whether a chain of "=" states that different constants are equal: "7 = 5".
bool IsContradiction(const Expression& e, const EquivalenceOptions& options, Work& work);

}  // namespace sluice::math
