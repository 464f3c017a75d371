// What a passage concludes. Linear. Pure and thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "reward/math/extract/passage.h"

namespace sluice::math {

struct Conclusion {
  std::string text;
  size_t offset = 0, end = 0;             // in the passage
  std::vector<std::string> alternatives;  // several that are joined by "or"
  std::string listed;                     // what the value counts: "6 integers: 1, 2, 3, 4, 6, 12"
  std::string restated;                   // "90 minutes" of "1.5 hours, which is 90 minutes"
  bool approximate = false;               // a whole number said to be about right
  bool formula = false;
  bool aside = false;  // behind a preposition or in a clause: "the remainder by 7"
};

// The value (or letter) that the last sentence with one concludes with: what is asked for, not what is given,
// denied, supposed or checked. "8 apples left after eating 3" -> "8"; "8, not 9" -> "8".
std::optional<Conclusion> ConclusionOf(absl::string_view passage, Asked asked);

// Of kWords what the last sentence says of its subject, "It falls on Monday" -> "Monday"; of kTruth the last
// "yes", "no", "true", "false" that a sentence begins or ends with.
std::optional<Conclusion> WordsConcluded(absl::string_view passage, Asked asked);

// The text from `begin` to `end` of a passage.
Conclusion Spanned(absl::string_view passage, size_t begin, size_t end);

// Whether what follows `before` is the answer for one case of several: "24 if order matters, otherwise ".
bool IsOneCase(absl::string_view before);

// Whether what follows `before` in its sentence is denied or supposed: "It is not ", "I doubt that it is ".
bool IsDenied(absl::string_view before);

}  // namespace sluice::math
