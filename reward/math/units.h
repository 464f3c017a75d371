// Names of units and their one spelling here. Pure and thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::math {

// "kilometres" -> "km", "feet" -> "ft", "dollars" -> "dollar"; empty for what is no known unit. Symbols of
// one or two letters are looked up as written ("m" and "M" differ), words without regard to case.
absl::string_view FindUnit(absl::string_view word);

// Whether a normalised unit (Reading::unit) is made of known units only, "km/h", and not "apple".
bool IsKnownUnit(absl::string_view unit);

// A counted noun in one form: lower case, without a plural's ending.
std::string SingularOf(absl::string_view word);

}  // namespace sluice::math
