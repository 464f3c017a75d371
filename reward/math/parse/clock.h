// "3:30": a time of day, or a ratio. Pure and thread-safe.
#pragma once

#include <vector>

#include "reward/math/parse/expression.h"

namespace sluice::math {

// What an answer of the form "a:b" is, by its spelling. kClock: of hours 0 to 24 and two digits of minutes
// below 60, and no ratio that anybody would write: its terms have a common factor ("3:30"), a zero leads the
// minutes ("2:05"), or they are a quarter of an hour ("2:15"). kEither: such a pair that is a reduced ratio
// too ("9:16"). kNone: all else ("2:3", "10:100").
enum class ClockForm { kNone, kEither, kClock };

ClockForm ClockFormOf(const std::vector<Reading>& readings);

// Whether the gold and the prediction may be compared in these readings of them: a clock is no number, and
// two clocks are compared as they are written.
bool ClockAllows(ClockForm gold, ClockForm prediction, const Reading& g, const Reading& p);

}  // namespace sluice::math
