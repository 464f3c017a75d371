// Whether two answers of any kind state the same: values, relations, sets, lists, points, matrices, words.
// Rules are not symmetric: the first is the reference.
#pragma once

#include "reward/math/equal/value.h"

namespace sluice::math {

// - Values: value.h. "x = 5" states 5, a chain "2 + 3 = 5" states its end and must hold.
// - "a \pm b" is two values.
// - Equations are equal up to a constant factor, inequalities up to a positive one. For one that is solved,
// "x = 5",
//   "x > 3", the other must be solved too: "2x > 6" and "x - 3 > 0" are, "2x + 1 > 7" is not.
// - An inequality accepts its interval; an interval does not accept an inequality, but "x in ..." and {x |
// ...}.
// - {1, 2, 2} is {1, 2}; a list "1, 2" has no order, but against a point it has; {5} is 5; a list of
// inequalities
//   is their union where they exclude each other, else their intersection. (1, 2) is a point, never a set.
// - Unions of intervals are compared as sets of numbers. Ends the wrong way round make no set: they compare
// as
//   written.
// - Matrices element by element; a column or row is also the point with its elements.
// - Words without regard to articles and plurals; yes is true.
// `strict`: lists in order; no set for a list, no point for a list or matrix, no synonyms.
ValueDecision CompareStatements(const Expression& gold, const Expression& prediction,
                                const EquivalenceOptions& options, Work& work);

}  // namespace sluice::math
