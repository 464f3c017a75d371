// A reward service in another process.
#pragma once

#include <memory>
#include <vector>

#include "core/rl/scorer.h"
#include "services/remote/peer.h"
#include "sluice/v1/reward.grpc.pb.h"

namespace sluice {

class RemoteScorer final : public Scorer {
 public:
  explicit RemoteScorer(Peer peer);
  using Scorer::Score;
  // Also INTERNAL when the peer answers with another number of verdicts. A verdict that breaks the rules of
  // types.proto (no kind, NaN, too large) is INFRASTRUCTURE for its item only.
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline, const CancelToken& cancel) override;

 private:
  const Peer peer_;
  const std::unique_ptr<v1::RewardService::Stub> stub_;
};

}  // namespace sluice
