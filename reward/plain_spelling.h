// LaTeX and typographic spellings of numbers in their plain form. Pure and thread-safe.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace sluice {

// \dfrac as \frac, \times as *, U+2212 as -, 1{,}000 and 1\,000 as 1,000 and 1000, \text{kg} as kg, odd
// spaces as spaces. Linear in the text's size; what it does not know stays as it is.
std::string PlainSpelling(absl::string_view text);

}  // namespace sluice
