#include "coordinator/workers/worker_registry.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {

namespace {

class SteadyClock final : public Clock {
 public:
  absl::Time Now() const override {
    return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

Clock& LeaseClock() {
  static SteadyClock* const clock = new SteadyClock;
  return *clock;
}

absl::StatusOr<RegisteredWorker> WorkerRegistry::WorkerFrom(const WorkerOffer& offer,
                                                            uint64_t coordinator_epoch) const {
  if (offer.name.empty() || offer.name.size() > 128)
    return absl::InvalidArgumentError("name: must have 1 to 128 characters");
  if (offer.address.empty() || offer.address.size() > 1024) {
    return absl::InvalidArgumentError("address: must have 1 to 1024 characters");
  }
  RegisteredWorker worker;
  worker.name = offer.name;
  worker.role = offer.role;
  worker.address = offer.address;
  worker.incarnation = offer.incarnation;
  worker.work = offer.work;
  worker.slots = offer.slots;
  worker.alive = true;
  if (offer.work != nullptr) return worker;
  if (offer.role == WorkerRole::kRollout && ports_.rollout) worker.rollout = ports_.rollout(offer.address);
  if (offer.role == WorkerRole::kReward && ports_.reward) worker.reward = ports_.reward(offer.address);
  if (offer.role == WorkerRole::kLearner && ports_.learner)
    worker.learner = ports_.learner(offer.address, coordinator_epoch);
  if (!worker.rollout && !worker.reward && !worker.learner) {
    return absl::InvalidArgumentError(
        absl::StrCat("no port to ", WorkerRoleName(offer.role), " workers at ", offer.address));
  }
  return worker;
}

absl::StatusOr<uint64_t> WorkerRegistry::CoordinatorEpoch() {
  {
    absl::MutexLock lock(&mu_);
    if (coordinator_epoch_ > 0) return coordinator_epoch_;
  }
  SLUICE_ASSIGN_OR_RETURN(const uint64_t next, next_epoch_());
  absl::MutexLock lock(&mu_);
  if (coordinator_epoch_ == 0) coordinator_epoch_ = next;
  return coordinator_epoch_;
}

absl::Status WorkerRegistry::MakeRoom() {
  if (workers_.size() < kMaxWorkers) return absl::OkStatus();
  auto oldest = workers_.end();
  for (auto it = workers_.begin(); it != workers_.end(); ++it) {
    if (!it->second.alive && (oldest == workers_.end() || it->second.expires < oldest->second.expires))
      oldest = it;
  }
  if (oldest == workers_.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the fleet has ", kMaxWorkers, " workers, the most there may be"));
  }
  workers_.erase(oldest);
  return absl::OkStatus();
}

absl::Status WorkerRegistry::CheckName(const WorkerOffer& offer) const {
  const auto it = workers_.find(offer.name);
  if (it == workers_.end()) return absl::OkStatus();
  const RegisteredWorker& held = it->second;
  if (held.role != offer.role) {
    return absl::InvalidArgumentError(absl::StrCat("name: ", offer.name, " is a ", WorkerRoleName(held.role),
                                                   " worker; give this one another name"));
  }
  if (!held.alive || held.incarnation == offer.incarnation || held.address == offer.address)
    return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("name: ", offer.name, " belongs to a process that is alive, at ", held.address,
                   " (incarnation ", held.incarnation, "), and this one at ", offer.address,
                   " is another: give it another --name, or stop that one; the name is free ",
                   absl::FormatDuration(lease_), " after it was last heard of"));
}

absl::StatusOr<RegisteredWorker> WorkerRegistry::Register(const WorkerOffer& offer, absl::Time now) {
  uint64_t coordinator_epoch = 0;
  if (offer.role == WorkerRole::kLearner) {
    SLUICE_ASSIGN_OR_RETURN(coordinator_epoch, CoordinatorEpoch());
  }
  SLUICE_ASSIGN_OR_RETURN(RegisteredWorker worker, WorkerFrom(offer, coordinator_epoch));
  {
    absl::MutexLock lock(&mu_);
    SLUICE_RETURN_IF_ERROR(CheckName(offer));
  }
  SLUICE_ASSIGN_OR_RETURN(worker.epoch, next_epoch_());
  worker.expires = now + lease_;
  absl::MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(CheckName(offer));  // another may have come meanwhile
  const auto it = workers_.find(worker.name);
  if (it == workers_.end()) SLUICE_RETURN_IF_ERROR(MakeRoom());
  if (it != workers_.end() && it->second.epoch > worker.epoch) {
    return absl::AbortedError(absl::StrCat(worker.name, " registered again meanwhile"));
  }
  workers_[worker.name] = worker;
  return worker;
}

absl::Status WorkerRegistry::Renew(const std::string& name, uint64_t epoch, absl::Time now) {
  absl::MutexLock lock(&mu_);
  auto it = workers_.find(name);
  if (it == workers_.end()) return absl::NotFoundError(absl::StrCat("worker ", name, " is not registered"));
  if (it->second.epoch != epoch) {
    return absl::AbortedError(
        absl::StrCat("worker ", name, " has epoch ", it->second.epoch, " now, not ", epoch));
  }
  if (!it->second.alive)
    return absl::AbortedError(absl::StrCat("the lease of ", name, " ran out: register again"));
  it->second.expires = now + lease_;
  return absl::OkStatus();
}

absl::StatusOr<RegisteredWorker> WorkerRegistry::Leave(const std::string& name, uint64_t epoch) {
  absl::MutexLock lock(&mu_);
  auto it = workers_.find(name);
  if (it == workers_.end() || it->second.epoch != epoch || !it->second.alive) {
    return absl::NotFoundError(absl::StrCat("worker ", name, " is not registered with epoch ", epoch));
  }
  it->second.alive = false;
  it->second.work = nullptr;
  return it->second;
}

bool WorkerRegistry::Holds(const std::string& name, uint64_t epoch) const {
  absl::MutexLock lock(&mu_);
  auto it = workers_.find(name);
  return it != workers_.end() && it->second.alive && it->second.epoch == epoch;
}

std::vector<RegisteredWorker> WorkerRegistry::Expire(absl::Time now, absl::Duration late) {
  absl::MutexLock lock(&mu_);
  std::vector<RegisteredWorker> lost;
  for (auto& [name, worker] : workers_) {
    if (!worker.alive) continue;
    if (late > absl::ZeroDuration())
      worker.expires = std::min(worker.expires + late, std::max(worker.expires, now + lease_));
    if (now <= worker.expires) continue;
    worker.alive = false;
    worker.work = nullptr;
    lost.push_back(worker);
  }
  return lost;
}

std::vector<RegisteredWorker> WorkerRegistry::Workers() const {
  absl::MutexLock lock(&mu_);
  std::vector<RegisteredWorker> out;
  for (const auto& [name, worker] : workers_) out.push_back(worker);
  return out;
}

absl::StatusOr<RegisteredWorker> WorkerRegistry::Find(const std::string& name) const {
  absl::MutexLock lock(&mu_);
  auto it = workers_.find(name);
  if (it == workers_.end()) return absl::NotFoundError(absl::StrCat("worker ", name, " is not registered"));
  return it->second;
}

absl::StatusOr<RegisteredWorker> WorkerRegistry::Learner() const {
  const RegisteredWorker* found = nullptr;
  absl::MutexLock lock(&mu_);
  for (const auto& [name, worker] : workers_) {
    if (worker.role != WorkerRole::kLearner || !worker.alive) continue;
    if (found == nullptr || worker.epoch > found->epoch) found = &worker;
  }
  if (found == nullptr) return absl::UnavailableError("no learner is registered");
  return *found;
}

void WorkerRegistry::CountTokens(const std::string& name, int64_t tokens) {
  absl::MutexLock lock(&mu_);
  auto it = workers_.find(name);
  if (it != workers_.end()) it->second.tokens += tokens;
}

}  // namespace sluice
