// Numbers as people and models write them, read exactly: 72, 72.0, $72, 1,000, -3/4, \frac{3}{4},
// 5\frac12, 1.5e3, 3 \times 10^{8}, 2 million. Nothing is evaluated or rounded. Pure and thread-safe.
#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// Longest run of digits that is read as a number, and the largest power of ten.
constexpr size_t kMaxDigits = 4096;

struct NumberReading {
  enum State { kNumber, kNotANumber, kTooLarge };
  State state = kNotANumber;
  mpq_class value;   // canonical; only for kNumber
  std::string text;  // what was read
};

// The whole of `text` as one number. Currency signs, a percent sign and a trailing unit ("72 km/h") are left
// out, and so are the name in "x = 5", a final full stop and emphasis. What a word or sign would change ("5
// dozen", "5x", "5!", "2\sqrt{3}", "5 or 6") is kNotANumber.
NumberReading ReadWholeNumber(absl::string_view text);

// An unsigned decimal ("12", "1.50") and nothing else, at most kMaxDigits characters.
NumberReading ReadPlainDecimal(absl::string_view text);

}  // namespace sluice
