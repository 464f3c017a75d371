#include "coordinator/fleet.h"

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

absl::StatusOr<FleetWorker> Fleet::Register(const std::string& name, WorkerRole role,
                                            const std::string& address, const std::string& incarnation,
                                            absl::Time now) {
  if (name.empty() || name.size() > 128)
    return absl::InvalidArgumentError("name: must have 1 to 128 characters");
  if (address.empty() || address.size() > 1024) {
    return absl::InvalidArgumentError("address: must have 1 to 1024 characters");
  }
  FleetWorker member;
  member.name = name;
  member.role = role;
  member.address = address;
  member.incarnation = incarnation;
  member.alive = true;
  member.expires = now + lease_;
  if (role == WorkerRole::kRollout && ports_.rollout) member.rollout = ports_.rollout(address);
  if (role == WorkerRole::kReward && ports_.reward) member.reward = ports_.reward(address);
  if (role == WorkerRole::kLearner && ports_.learner) member.learner = ports_.learner(address);
  if (!member.rollout && !member.reward && !member.learner) {
    return absl::InvalidArgumentError(
        absl::StrCat("no port to ", WorkerRoleName(role), " workers at ", address));
  }
  absl::MutexLock lock(&mu_);
  auto it = members_.find(name);
  if (it != members_.end() && it->second.role != role) {
    return absl::InvalidArgumentError(absl::StrCat("name: ", name, " is a ", WorkerRoleName(it->second.role),
                                                   " worker; give this one another name"));
  }
  if (it == members_.end() && members_.size() >= kMaxWorkers) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the fleet has ", kMaxWorkers, " workers, the most there may be"));
  }
  SLUICE_ASSIGN_OR_RETURN(member.epoch, next_epoch_(now));
  members_[name] = member;
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
