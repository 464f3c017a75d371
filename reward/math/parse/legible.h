// Whether a reference answer is whole. Pure and thread-safe.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

// Whether a text may be a formula that was cut off or lost a part, by its ends and braces: cheap, and false
// for most texts. What it holds of goes to IsBroken.
bool MayBeBroken(absl::string_view text);

// Whether a text that was read so is a formula that nobody can read: "\frac{", "3 +", "x^", "=", "(2,". Words
// and signs, "\text{none}", "\clubsuit", are no formulas.
bool IsBroken(absl::string_view text, const std::vector<Reading>& readings);

}  // namespace sluice::math
