// Verdicts on rows from one reward service.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"
#include "services/cli/reward/reward_row.h"
#include "services/rpc/peer.h"
#include "sluice/v1/reward.grpc.pb.h"

namespace sluice::cli {

struct ScoringOptions {
  std::string input_name;  // in error messages
  bool explain = false;
  absl::Duration sample_deadline = absl::Seconds(300);
  int calls_at_once = 8;
};

// Thread-safe, but for ScoreAlone.
class RowScorer {
 public:
  // Starts the service anew and says where it is; empty for a service that is not ours to start.
  using Restart = std::function<absl::StatusOr<Peer>()>;

  RowScorer(Peer peer, const RewardSpec& spec, const ScoringOptions& options, const CancelToken& cancel,
            Restart restart = {});

  // Whether the service takes the spec: INVALID_ARGUMENT and FAILED_PRECONDITION say why not.
  absl::Status Probe() const;
  // One verdict for each row, also those with an error, whose verdict is empty; group terms are filled in.
  // Waits while the service's queue is full. What was not judged in time is INFRASTRUCTURE. CANCELLED by the
  // token.
  absl::StatusOr<std::vector<Verdict>> Score(const std::vector<RewardRow>& rows) const;
  // Of rows whose call `failed`: each by a call of its own, where the service can be started anew or the call
  // was too large; a row that ends the service again is INFRASTRUCTURE. Otherwise `failed`. No other call may
  // be under way.
  absl::StatusOr<std::vector<Verdict>> ScoreAlone(const std::vector<RewardRow>& rows,
                                                  const absl::Status& failed);

 private:
  absl::StatusOr<std::vector<Verdict>> Call(const std::vector<const RewardRow*>& rows,
                                            absl::Duration limit) const;
  absl::StatusOr<Verdict> CallForOne(const RewardRow& row);
  absl::Status Reconnect();

  Peer peer_;
  std::unique_ptr<v1::RewardService::Stub> stub_;
  const RewardSpec spec_;
  const v1::RewardSpec spec_proto_;
  const ScoringOptions options_;
  const CancelToken cancel_;
  const Restart restart_;
  int restarts_ = 0;
};

}  // namespace sluice::cli
