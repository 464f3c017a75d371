// Group-relative advantages (GRPO, Shao et al. 2024, eq. 3; without the division: Dr. GRPO, Liu et al. 2025).
// Pure.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/rl/types.h"

namespace sluice {

// (r - mean) / (std + 1e-6) with the unbiased std, or r - mean. Exactly 0 for each member when all rewards
// are equal (max == min): rounding noise is never divided by epsilon. Computed in double. A single reward
// gives 0.
std::vector<double> GroupAdvantages(absl::Span<const double> rewards, bool normalize_std);

// Fills in the advantage of each sample with a reward; the others get 0 and do not count in the statistics.
// Returns whether the group is tied (no member has an advantage other than 0).
bool AssignAdvantages(Group& group, bool normalize_std);

}  // namespace sluice
