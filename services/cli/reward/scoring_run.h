// The work of `sluice reward`: rows in, verdicts out, in the input's order, over a reward service.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "services/cli/reward/reward_row.h"
#include "services/cli/reward/reward_summary.h"
#include "services/cli/reward/row_output.h"
#include "services/cli/reward/row_source.h"
#include "services/remote/peer.h"
#include "sluice/v1/reward.grpc.pb.h"

namespace sluice::cli {

struct ScoringOptions {
  std::string input_name;  // in error messages
  bool explain = false;
  absl::Duration sample_deadline = absl::Seconds(60);
  int calls_at_once = 8;
};

// One reward service. Thread-safe.
class RowScorer {
 public:
  RowScorer(Peer peer, const RewardSpec& spec, const ScoringOptions& options, const CancelToken& cancel);

  // Whether the service takes the spec: INVALID_ARGUMENT and FAILED_PRECONDITION say why not.
  absl::Status Probe() const;
  // One verdict for each row, also those with an error, whose verdict is empty; group terms are filled in.
  // Waits while the service's queue is full. What was not judged in time is INFRASTRUCTURE. CANCELLED by
  // `cancel`.
  absl::StatusOr<std::vector<Verdict>> Score(const std::vector<RewardRow>& rows) const;

 private:
  absl::StatusOr<std::vector<Verdict>> Call(const v1::ScoreRequest& request, absl::Duration limit) const;

  const Peer peer_;
  const std::unique_ptr<v1::RewardService::Stub> stub_;
  const RewardSpec spec_;
  const v1::RewardSpec spec_proto_;
  const ScoringOptions options_;
  const CancelToken cancel_;
};

// Until the source ends or `cancel` is raised; then what was judged in order is written, and OK is returned.
absl::Status ScoreRows(RowSource& source, const RowScorer& scorer, const RewardSpec& spec,
                       const ScoringOptions& options, const CancelToken& cancel, RowOutput& output,
                       RewardSummary& summary);

}  // namespace sluice::cli
