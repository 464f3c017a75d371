// The values that a sentence has, and what it says about each. Linear. Pure and thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "reward/math/extract/passage.h"

namespace sluice::math {

// A value, or several that are joined, with what its sentence says about it.
struct Claim {
  size_t first = 0, last = 0;  // pieces
  size_t begin = 0, end = 0;   // bytes, with the words that change its meaning
  bool main = false;
  bool denied = false;
  bool bold = false;
  bool approximate = false;
  bool qualified = false;  // "half of", "about"
  bool negative = false;
  bool whole_span = false;  // the text is the span and not the piece
  bool in_words = false;
  bool given = false;     // "the 4 hours"
  size_t members = 1;     // that are joined
  bool counted = false;   // ":" stands in front: a list of what was counted
  bool asserted = false;  // "is the answer", "is correct"
  std::vector<std::string> alternatives;
};

// The claims of one sentence of `text`, in their order.
std::vector<Claim> ClaimsOf(absl::string_view text, TextPieces sentence, Asked asked);

// Whether what would follow the sentence is denied: "It is not".
bool EndsDenying(absl::string_view text, TextPieces sentence);

}  // namespace sluice::math
