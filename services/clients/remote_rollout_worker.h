// A rollout worker in another process.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/rl/rollout_worker.h"
#include "services/rpc/peer.h"
#include "sluice/v1/rollout.grpc.pb.h"

namespace sluice {

class RemoteRolloutWorker final : public RolloutWorker {
 public:
  explicit RemoteRolloutWorker(Peer peer, absl::Duration state_timeout = absl::Seconds(5));

  absl::Status LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) override;
  // Also INTERNAL when the peer breaks the protocol: a sample that was not asked for or came twice, one
  // missing, or progress that was not asked for or goes back.
  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override;
  absl::Status Control(RolloutCommand command, absl::Time deadline) override;
  absl::StatusOr<RolloutWorkerState> GetState() override;

 private:
  const Peer peer_;
  const absl::Duration state_timeout_;
  const std::unique_ptr<v1::RolloutService::Stub> stub_;
};

}  // namespace sluice
