// Reads answers written in LaTeX or plain text, as people and models write them, well-formed or not. Pure and
// thread-safe; time and memory are bounded by the limits, whatever the input.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "reward/math/parse/expression.h"

namespace sluice::math {

struct ParseLimits {
  size_t bytes = 16 << 10;  // of an answer
  int depth = 64;           // of nesting
  int nodes = 4096;         // of all readings together
  int digits = 4096;        // of one number
};

// The readings of a bare answer, the likeliest first; at least one: what is no mathematics is kText. More
// than one where the notation has more than one meaning ("1,234": a number or a list; "(2,3)": a point or an
// interval). RESOURCE_EXHAUSTED: past a limit, which the message names; the answer can then not be decided.
absl::StatusOr<std::vector<Reading>> ReadAnswer(absl::string_view answer, const ParseLimits& limits = {});

}  // namespace sluice::math
