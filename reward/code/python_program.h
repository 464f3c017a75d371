// The sources that a Python completion may stand for. Pure and thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// Readings of a completion that goes on from `prompt` (a function's head) or writes the function again, the
// likeliest first: the first one that is Python is meant. A body may be indented or not; what follows it at
// the margin may be cut off. Where the prompt is empty the completion is the program.
std::vector<std::string> ContinuedSources(absl::string_view prompt, absl::string_view completion,
                                          absl::string_view entry_point);

}  // namespace sluice
