// Names of units and their one spelling here. Pure and thread-safe.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::math {

// "kilometres" -> "km", "feet" -> "ft", "dollars" -> "dollar"; empty for what is no known unit. Symbols of
// one or two letters are looked up as written ("m" and "M" differ), words without regard to case.
absl::string_view FindUnit(absl::string_view word);

// A unit with a prefix of powers of ten, by its symbol or in words: "kN", "uF", "milliamperes" -> "mA"; empty
// for all else and for what FindUnit knows. Symbols are looked up as written: "mW" is not "MW".
absl::string_view FindPrefixedUnit(absl::string_view word);

// Of what FindPrefixedUnit gives, "mA": the unit behind the prefix and the power of ten; none of "MB".
struct PrefixedUnit {
  absl::string_view base;
  int exponent = 0;
};
std::optional<PrefixedUnit> SplitPrefix(absl::string_view unit);

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
