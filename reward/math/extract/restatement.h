// An answer that is stated twice: exactly and about, shortly and at length. Pure and thread-safe; linear.
#pragma once

#include "absl/strings/string_view.h"

namespace sluice::math {

// What is exact of a value and its rounding: "\frac{2}{3} \approx 0.667", "$\frac{2}{3}$, or 0.667"; else the
// text.
absl::string_view ExactPart(absl::string_view text);

// Whether `decimal` is the fraction `exact` of integers rounded: "\frac{2}{3}", "66.7\%".
bool IsRounding(absl::string_view exact, absl::string_view decimal);

// "$10^2$, i.e. 100": both. `second` is empty where nothing is restated; a remark in words is dropped.
struct Restatement {
  absl::string_view first, second;
};
Restatement RestatementIn(absl::string_view text);

}  // namespace sluice::math
