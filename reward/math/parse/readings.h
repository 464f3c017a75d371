// From a parse to the readings of an answer: names that are set equal to it, lists of solutions. Pure and
// thread-safe.
#pragma once

#include <vector>

#include "reward/math/parse/expression.h"
#include "reward/math/parse/grammar.h"

namespace sluice::math {

// Appends the readings of `parsed`, the likeliest first.
void AppendReadings(Parsed parsed, std::vector<Reading>* readings);

}  // namespace sluice::math
