// Which workers there are: names, addresses, leases and epochs. A registration gets an epoch above all
// earlier ones, those of coordinators before this one too; what an older epoch says is refused. A name
// belongs to one living process at a time. Not durable: after a restart workers register again. Thread-safe,
// and nothing waits for a disk while it holds the lock that renewals need.
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
#include "coordinator/workers/worker_offer.h"
#include "core/base/clock.h"

namespace sluice {

// The time that leases are counted in: it only goes forward, and stands while the machine is suspended.
// Comparable with itself alone.
Clock& LeaseClock();

struct RegisteredWorker {
  std::string name, address, incarnation;
  WorkerRole role = WorkerRole::kRollout;
  uint64_t epoch = 0;
  bool alive = false;
  absl::Time expires;  // of the clock of leases
  int64_t tokens = 0;
  int32_t slots = 0;  // groups at once over `work`
  // Ports are shared: a call under way keeps its own. Only that of the role is set, of a rollout worker one
  // of two.
  std::shared_ptr<WorkPort> work;
  std::shared_ptr<RolloutWorker> rollout;
  std::shared_ptr<Scorer> reward;
  std::shared_ptr<Trainer> learner;
};

class WorkerRegistry {
 public:
  // Workers, those that are gone included: for a new one the one that is gone longest is forgotten.
  static constexpr size_t kMaxWorkers = 32768;
  using NextEpoch = std::function<absl::StatusOr<uint64_t>()>;  // rises with each call; may wait for a disk
  WorkerRegistry(PortFactories ports, absl::Duration lease, NextEpoch next_epoch)
      : ports_(std::move(ports)), lease_(lease), next_epoch_(std::move(next_epoch)) {}

  // The worker as registered. ALREADY_EXISTS while another living process has the name: its lease runs, and
  // it is another incarnation at another address (at the same one it can only be the one that came after it).
  absl::StatusOr<RegisteredWorker> Register(const WorkerOffer& offer, absl::Time now);
  absl::Status Renew(const std::string& name, uint64_t epoch, absl::Time now);
  // The worker that leaves, no longer alive. NOT_FOUND when it is not known or has another epoch.
  absl::StatusOr<RegisteredWorker> Leave(const std::string& name, uint64_t epoch);
  // Whether what `name` began under `epoch` still counts: it is registered under it and its lease runs.
  bool Holds(const std::string& name, uint64_t epoch) const;
  // Workers whose lease ran out since the last call; they are no longer alive. `late`: by how much this call
  // comes later than it was to come. For so long the coordinator may not have heard anybody: it is added to
  // all leases first, none becoming longer than a new one.
  std::vector<RegisteredWorker> Expire(absl::Time now, absl::Duration late);
  std::vector<RegisteredWorker> Workers() const;  // by name
  absl::StatusOr<RegisteredWorker> Find(const std::string& name) const;
  // The learner that registered last and is alive. UNAVAILABLE: none.
  absl::StatusOr<RegisteredWorker> Learner() const;
  void CountTokens(const std::string& name, int64_t tokens);
  absl::Duration lease() const { return lease_; }

 private:
  absl::StatusOr<RegisteredWorker> WorkerFrom(const WorkerOffer& offer, uint64_t coordinator_epoch) const;
  // This coordinator's own, taken when its first learner comes: a start does not need a disk with room.
  absl::StatusOr<uint64_t> CoordinatorEpoch();
  absl::Status CheckName(const WorkerOffer& offer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const PortFactories ports_;
  const absl::Duration lease_;
  const NextEpoch next_epoch_;
  mutable absl::Mutex mu_;
  std::map<std::string, RegisteredWorker> workers_ ABSL_GUARDED_BY(mu_);
  uint64_t coordinator_epoch_ ABSL_GUARDED_BY(mu_) = 0;  // 0: not taken yet
};

}  // namespace sluice
