#include "coordinator/workers/worker_registry.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {

const char* WorkerRoleName(WorkerRole role) {
  switch (role) {
    case WorkerRole::kRollout:
      return "rollout";
    case WorkerRole::kReward:
      return "reward";
    case WorkerRole::kLearner:
      return "learner";
  }
  return "?";
}

absl::StatusOr<FleetWorker> Fleet::MemberFrom(const WorkerOffer& offer) const {
  if (offer.name.empty() || offer.name.size() > 128)
    return absl::InvalidArgumentError("name: must have 1 to 128 characters");
  if (offer.address.empty() || offer.address.size() > 1024) {
    return absl::InvalidArgumentError("address: must have 1 to 1024 characters");
  }
  FleetWorker member;
  member.name = offer.name;
  member.role = offer.role;
  member.address = offer.address;
  member.incarnation = offer.incarnation;
  member.work = offer.work;
  member.slots = offer.slots;
  member.alive = true;
  if (offer.work != nullptr) return member;
  if (offer.role == WorkerRole::kRollout && ports_.rollout) member.rollout = ports_.rollout(offer.address);
  if (offer.role == WorkerRole::kReward && ports_.reward) member.reward = ports_.reward(offer.address);
  if (offer.role == WorkerRole::kLearner && ports_.learner) member.learner = ports_.learner(offer.address);
  if (!member.rollout && !member.reward && !member.learner) {
    return absl::InvalidArgumentError(
        absl::StrCat("no port to ", WorkerRoleName(offer.role), " workers at ", offer.address));
  }
  return member;
}

absl::Status Fleet::MakeRoom() {
  if (members_.size() < kMaxWorkers) return absl::OkStatus();
  auto oldest = members_.end();
  for (auto it = members_.begin(); it != members_.end(); ++it) {
    if (!it->second.alive && (oldest == members_.end() || it->second.expires < oldest->second.expires))
      oldest = it;
  }
  if (oldest == members_.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the fleet has ", kMaxWorkers, " workers, the most there may be"));
  }
  members_.erase(oldest);
  return absl::OkStatus();
}

absl::StatusOr<FleetWorker> Fleet::Register(const WorkerOffer& offer, absl::Time now) {
  SLUICE_ASSIGN_OR_RETURN(FleetWorker member, MemberFrom(offer));
  member.expires = now + lease_;
  absl::MutexLock lock(&mu_);
  auto it = members_.find(member.name);
  if (it != members_.end() && it->second.role != member.role) {
    return absl::InvalidArgumentError(absl::StrCat("name: ", member.name, " is a ",
                                                   WorkerRoleName(it->second.role),
                                                   " worker; give this one another name"));
  }
  if (it == members_.end()) SLUICE_RETURN_IF_ERROR(MakeRoom());
  SLUICE_ASSIGN_OR_RETURN(member.epoch, next_epoch_(now));
  members_[member.name] = member;
  return member;
}

absl::Status Fleet::Renew(const std::string& name, uint64_t epoch, absl::Time now) {
  absl::MutexLock lock(&mu_);
  auto it = members_.find(name);
  if (it == members_.end()) return absl::NotFoundError(absl::StrCat("worker ", name, " is not registered"));
  if (it->second.epoch != epoch) {
    return absl::AbortedError(
        absl::StrCat("worker ", name, " has epoch ", it->second.epoch, " now, not ", epoch));
  }
  if (!it->second.alive)
    return absl::AbortedError(absl::StrCat("the lease of ", name, " ran out: register again"));
  it->second.expires = now + lease_;
  return absl::OkStatus();
}

absl::StatusOr<FleetWorker> Fleet::Leave(const std::string& name, uint64_t epoch) {
  absl::MutexLock lock(&mu_);
  auto it = members_.find(name);
  if (it == members_.end() || it->second.epoch != epoch || !it->second.alive) {
    return absl::NotFoundError(absl::StrCat("worker ", name, " is not registered with epoch ", epoch));
  }
  it->second.alive = false;
  it->second.work = nullptr;
  return it->second;
}

bool Fleet::Holds(const std::string& name, uint64_t epoch) const {
  absl::MutexLock lock(&mu_);
  auto it = members_.find(name);
  return it != members_.end() && it->second.alive && it->second.epoch == epoch;
}

std::vector<FleetWorker> Fleet::Expire(absl::Time now) {
  absl::MutexLock lock(&mu_);
  std::vector<FleetWorker> lost;
  for (auto& [name, member] : members_) {
    if (!member.alive || now <= member.expires) continue;
    member.alive = false;
    member.work = nullptr;
    lost.push_back(member);
  }
  return lost;
}

std::vector<FleetWorker> Fleet::Members() const {
  absl::MutexLock lock(&mu_);
  std::vector<FleetWorker> out;
  for (const auto& [name, member] : members_) out.push_back(member);
  return out;
}

absl::StatusOr<FleetWorker> Fleet::Find(const std::string& name) const {
  absl::MutexLock lock(&mu_);
  auto it = members_.find(name);
  if (it == members_.end()) return absl::NotFoundError(absl::StrCat("worker ", name, " is not registered"));
  return it->second;
}

absl::StatusOr<FleetWorker> Fleet::Learner() const {
  const FleetWorker* found = nullptr;
  absl::MutexLock lock(&mu_);
  for (const auto& [name, member] : members_) {
    if (member.role != WorkerRole::kLearner || !member.alive) continue;
    if (found == nullptr || member.epoch > found->epoch) found = &member;
  }
  if (found == nullptr) return absl::UnavailableError("no learner is registered");
  return *found;
}

void Fleet::CountTokens(const std::string& name, int64_t tokens) {
  absl::MutexLock lock(&mu_);
  auto it = members_.find(name);
  if (it != members_.end()) it->second.tokens += tokens;
}

}  // namespace sluice
