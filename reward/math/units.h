// Names of units and their one spelling here. Pure and thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::math {

// "kilometres" -> "km", "feet" -> "ft", "dollars" -> "dollar"; empty for what is no known unit. Symbols of
// one or two letters are looked up as written ("m" and "M" differ), words without regard to case.
absl::string_view FindUnit(absl::string_view word);

// Whether a normalised unit is money.
bool IsCurrency(absl::string_view unit);

// Whether a normalised unit (Reading::unit) is made of known units only, "km/h", and not "apple".
bool IsKnownUnit(absl::string_view unit);

// How many of `smaller` make one of `larger` in measures such as "4 ft 3 in"; 0 where they are not written
// so.
int SmallerUnits(absl::string_view larger, absl::string_view smaller);

// A counted noun in one form: lower case, without a plural's ending.
std::string SingularOf(absl::string_view word);

}  // namespace sluice::math
