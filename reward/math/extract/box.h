// \boxed{...} and \fbox{...} in a text. Linear. Pure and thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice::math {

struct Box {
  std::string text;
  size_t offset = 0;                      // of the content, of the first of several
  size_t end = 0;                         // behind the last one
  std::vector<std::string> alternatives;  // several that are joined by "or"
};

// The last box: one with balanced braces if there is any ("\boxed 5" counts as balanced), else the last that
// was left open, up to the end of its formula or line. Boxes joined by commas, "and" or "or" are one answer:
// "\boxed{3} and \boxed{4}". A box that its sentence denies ("not \boxed{3}") is passed over. None where the
// last one is part of a larger formula: "\frac{\boxed{9}}{2}", "-\boxed{9}".
std::optional<Box> LastBox(absl::string_view text);

}  // namespace sluice::math
