// A RolloutWorker's place in the fleet by the Work stream: runs its orders and reports on them. The worker is
// borrowed; each order has a thread while it runs.
#pragma once

#include <cstdint>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/cancellation.h"
#include "core/rl/rollout_worker.h"
#include "services/clients/work_link.h"
#include "services/rpc/executor.h"

namespace sluice {

class WorkAdapter final : public Membership, private WorkHandler {
 public:
  // Takes `slots` groups at once.
  WorkAdapter(RolloutWorker& worker, ConnectCoordinator connect, v1::RegisterWorkerRequest registration,
              int32_t slots, const WorkLinkOptions& options = {});
  // Cancels what runs and waits for it.
  ~WorkAdapter() override;

  void Leave(absl::Time deadline) override { link_.Leave(deadline); }
  const WorkLink& link() const { return link_; }

 private:
  void Take(v1::WorkOrder order, absl::Time deadline) override;
  void Cancel(uint64_t order) override;
  void Lost(uint32_t worker) override;
  void Run(const v1::WorkOrder& order, absl::Time deadline, const CancelToken& cancel);
  absl::Status Generate(const v1::WorkOrder& order, absl::Time deadline, const CancelToken& cancel);
  absl::Status Load(const v1::LoadPolicyRequest& load, absl::Time deadline);
  void End(uint64_t order, const absl::Status& status);

  RolloutWorker& worker_;
  absl::Mutex mu_;
  std::map<uint64_t, CancelToken> running_ ABSL_GUARDED_BY(mu_);
  Executor executor_;
  WorkLink link_;
};

}  // namespace sluice
