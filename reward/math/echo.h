// Whether an answer only repeats what was asked. Pure and thread-safe.
#pragma once

#include "absl/strings/string_view.h"

namespace sluice::math {

// Whether `prediction` is, but for notation ("(x+1)/2" for "\frac{x+1}{2}"), a formula of `question`, one of
// its sides or members, while `gold` is written otherwise. For answers of the gold's value: "\frac{84}{144}"
// is no answer to "Simplify $\frac{84}{144}$". A bare integer, decimal (for a decimal) or symbol is as simple
// as it can be and never an echo. Of a question at most 16 KiB and 64 formulas are looked at.
bool RepeatsQuestion(absl::string_view question, absl::string_view gold, absl::string_view prediction);

}  // namespace sluice::math
