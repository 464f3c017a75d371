// A reward service in another process.
#pragma once

#include <memory>
#include <vector>

#include "core/rl/scorer.h"
#include "services/rpc/peer.h"
#include "sluice/v1/reward.grpc.pb.h"

namespace sluice {

class RemoteScorer final : public Scorer {
 public:
  explicit RemoteScorer(Peer peer);
  using Scorer::Score;
  // Asks in messages of at most 3 MiB and 4096 items, one after the other (one item alone may be larger).
  // What the peer or gRPC finds too large is asked in smaller ones; an item that is too large alone is
  // UNDECIDED. When the peer goes away or is full after some items, the others are INFRASTRUCTURE with a
  // component whose outcome is "unavailable".
  // Also INTERNAL when the peer answers with another number of verdicts. A verdict that breaks the rules of
  // types.proto (no kind, NaN, too large) is INFRASTRUCTURE for its item only.
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline, const CancelToken& cancel) override;

 private:
  // Adds a verdict for each of the items, or fails.
  absl::Status ScoreMessage(const RewardSpec& spec, absl::Span<const ScoreItem> items, absl::Time deadline,
                            const CancelToken& cancel, std::vector<Verdict>& verdicts);

  const Peer peer_;
  const std::unique_ptr<v1::RewardService::Stub> stub_;
};

}  // namespace sluice
