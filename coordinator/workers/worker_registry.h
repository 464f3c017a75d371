// Who is in the fleet: names, addresses, leases and epochs. A registration gets an epoch above all earlier
// ones, those of coordinators before this one too; what an older epoch says is refused. Members are not
// durable: after a restart workers register again. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "coordinator/coordinator.h"

namespace sluice {

struct FleetWorker {
  std::string name, address, incarnation;
  WorkerRole role = WorkerRole::kRollout;
  uint64_t epoch = 0;
  bool alive = false;
  absl::Time expires;
  int64_t tokens = 0;
  int32_t slots = 0;  // groups at once over `work`
  // Ports are shared: a call under way keeps its own. Only that of the role is set, of a rollout worker one
  // of two.
  std::shared_ptr<WorkPort> work;
  std::shared_ptr<RolloutWorker> rollout;
  std::shared_ptr<Scorer> reward;
  std::shared_ptr<Trainer> learner;
};

class Fleet {
 public:
  // Members, those that are gone included: for a new one the one that is gone longest is forgotten.
  static constexpr size_t kMaxWorkers = 32768;
  using NextEpoch = std::function<absl::StatusOr<uint64_t>(absl::Time now)>;  // rises with each call
  Fleet(PortFactories ports, absl::Duration lease, NextEpoch next_epoch)
      : ports_(std::move(ports)), lease_(lease), next_epoch_(std::move(next_epoch)) {}

  // The member as registered.
  absl::StatusOr<FleetWorker> Register(const WorkerOffer& offer, absl::Time now);
  absl::Status Renew(const std::string& name, uint64_t epoch, absl::Time now);
  // The member that leaves, no longer alive. NOT_FOUND when it is not known or has another epoch.
  absl::StatusOr<FleetWorker> Leave(const std::string& name, uint64_t epoch);
  // Whether what `name` began under `epoch` still counts: it is registered under it and its lease runs.
  bool Holds(const std::string& name, uint64_t epoch) const;
  // Members whose lease ran out since the last call; they are no longer alive.
  std::vector<FleetWorker> Expire(absl::Time now);
  std::vector<FleetWorker> Members() const;  // by name
  absl::StatusOr<FleetWorker> Find(const std::string& name) const;
  // The learner that registered last and is alive. UNAVAILABLE: none.
  absl::StatusOr<FleetWorker> Learner() const;
  void CountTokens(const std::string& name, int64_t tokens);
  absl::Duration lease() const { return lease_; }

 private:
  absl::StatusOr<FleetWorker> MemberFrom(const WorkerOffer& offer) const;
  absl::Status MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const PortFactories ports_;
  const absl::Duration lease_;
  const NextEpoch next_epoch_;
  mutable absl::Mutex mu_;
  std::map<std::string, FleetWorker> members_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
