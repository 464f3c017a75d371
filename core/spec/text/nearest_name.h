// Which of some names was probably meant.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// The candidate with the fewest inserted, deleted and replaced bytes (Levenshtein 1966), the first of equals;
// empty when that is more than half of `name`, or there is no candidate. Looks at a bounded number of
// candidates, so that it may be used on hostile input.
std::string NearestName(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace sluice
