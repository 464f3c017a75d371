// Whether what follows an answer leaves it standing. Linear. Pure and thread-safe.
#pragma once

#include "absl/strings/string_view.h"
#include "reward/math/extract/conclusion.h"

namespace sluice::math {

// Whether what follows an answer in its sentence denies it: " is wrong", " would be incorrect".
bool DeniesAnswer(absl::string_view behind);

// Whether two answers marked alike, with `between` between them, are put side by side: "Answer 1: 8\nAnswer
// 2: 9", "8 if order matters, otherwise 9", "8\n9". Else the second follows from the first, or corrects it.
bool StandBeside(absl::string_view between);

// What `behind` an answer says of it. A sentence may name it by its value.
enum class Standing {
  kHolds,
  kHasAlternative,
  kReplaced,
  kWithdrawn
};  // kReplaced: perhaps, by what is said later
struct Aftermath {
  Standing standing = Standing::kHolds;
  Conclusion other;           // the alternative
  size_t restated_at = 0;     // kReplaced, kWithdrawn: where in `behind` a correction begins
  bool reopened = false;      // kReplaced: the work is begun again and breaks off
  bool states_value = false;  // kReplaced: the sentence that begins there has a value
};
Aftermath AftermathOf(absl::string_view behind, Asked asked, absl::string_view answer);

}  // namespace sluice::math
