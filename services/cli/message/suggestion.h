// "Did you mean": the nearest of some names.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice::cli {

// Insertions, deletions and substitutions from a to b (Levenshtein).
int EditDistance(absl::string_view a, absl::string_view b);
// "there is no command \"x\"", with the nearest of the commands when there is one.
std::string UnknownCommand(absl::string_view name, const std::vector<std::string>& commands);
// The candidate nearest to `name` within a third of its length (at least 2 edits); empty: none.
std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates);

}  // namespace sluice::cli
