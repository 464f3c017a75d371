// What units measure and how they convert. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

#include <optional>

#include "absl/strings/string_view.h"

namespace sluice::math {

// b's size in units of a: 100 for ("cm", "m"); 1 for the same unit. Takes normalised units (units.h) with
// powers, products and quotients: "km/h", "m/s^2". A word that is no known unit measures itself only. Nothing
// where they do not measure the same; temperatures do not convert.
std::optional<mpq_class> UnitRatio(absl::string_view a, absl::string_view b);

}  // namespace sluice::math
