// Finds numbers in running text. Linear in the text's size. Pure and thread-safe.
#pragma once

#include "absl/strings/string_view.h"
#include "reward/number.h"

namespace sluice {

// The first or the last number in prose. Ordinals, exponents, indices and digits within words are not
// numbers. A number that is part of something else (2^5, \sqrt{3}, 5\pi) is kNotANumber and does count as the
// first or last one.
NumberReading FindFirstNumber(absl::string_view text);
NumberReading FindLastNumber(absl::string_view text);

}  // namespace sluice
