// How the components of a reward become one verdict, and the terms that are known only when a prompt's
// completions can be compared. Pure.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"

namespace sluice {

// Whether the component compares the completions of a prompt.
bool IsGroupTerm(const RewardComponentSpec& component);
bool HasGroupTerms(const RewardSpec& spec);

// A group term before its group is complete: worth nothing, and left out of the whole.
VerdictComponent PendingGroupTerm(const RewardComponentSpec& component);

// The whole of `components`, which are those of `spec` in its order (fewer or more: INFRASTRUCTURE).
//
// A component counts when it has a weight other than 0 or a gate. A value that is not a finite number makes
// its component INFRASTRUCTURE. Gates go first, in the order of the spec: one whose component has no value
// gives the whole its kind, one that is closed makes the reward its gate_value, whatever the others say. With
// all gates open the whole is INFRASTRUCTURE or UNDECIDED when any component that counts is (the former goes
// first), else the combination of the values of those with a weight. CORRECT and WRONG only where all that
// count say so (behind a closed gate never CORRECT), GRADED otherwise.
Verdict Compose(const RewardSpec& spec, std::vector<VerdictComponent> components);

// Fills in the group terms of the verdicts of one prompt's completions and composes them anew. `lengths` are
// those of the completions, in any one unit, in the order of `verdicts`; verdicts without a reward stay as
// they are and do not count in the group. May be called again as verdicts arrive. A verdict that lacks a
// component of the spec becomes INFRASTRUCTURE.
//
// group_length (Kimi k1.5, arXiv 2501.12599, section 2.3.3): l = 0.5 - (length - shortest) / (longest -
// shortest) where `correct_by` is CORRECT, min(0, l) where it is not, 0 where all are equally long.
void ApplyGroupTerms(const RewardSpec& spec, absl::Span<const double> lengths,
                     absl::Span<Verdict* const> verdicts);

}  // namespace sluice
