// The work of `sluice reward`: rows in, verdicts out, in the input's order.
#pragma once

#include "absl/status/status.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "services/cli/reward/reward_summary.h"
#include "services/cli/reward/row_scorer.h"
#include "services/cli/reward/row_source.h"
#include "services/cli/rows/row_output.h"

namespace sluice::cli {

// Until the source ends or `cancel` is raised; then what was judged in order is written, and OK is returned.
absl::Status ScoreRows(RowSource& source, RowScorer& scorer, const RewardSpec& spec,
                       const ScoringOptions& options, const CancelToken& cancel, RowOutput& output,
                       RewardSummary& summary);

}  // namespace sluice::cli
