// How a worker joins: what it says of itself, and how the coordinator comes by a port to it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "coordinator/workers/work_port.h"
#include "core/rl/rollout_worker.h"
#include "core/rl/scorer.h"
#include "core/rl/trainer.h"

namespace sluice {

enum class WorkerRole { kRollout, kReward, kLearner };
const char* WorkerRoleName(WorkerRole role);  // "rollout", "reward", "learner"

// Make the port to the worker at an address ("host:port"). They do not connect: the first call does.
struct PortFactories {
  std::function<std::unique_ptr<RolloutWorker>(const std::string& address)> rollout;
  std::function<std::unique_ptr<Scorer>(const std::string& address)> reward;
  // With the epoch of this coordinator, by which a learner knows the newest of several.
  // The coordinator's epoch is above those of its starts before.
  std::function<std::unique_ptr<Trainer>(const std::string& address, uint64_t coordinator_epoch)> learner;
};

// A worker that wants to join.
struct WorkerOffer {
  std::string name;
  WorkerRole role = WorkerRole::kRollout;
  std::string address;      // where it serves its role's service, and policies
  std::string incarnation;  // random for each start of its process
  // Of a rollout worker that dialled in; null: it is called at its address.
  std::shared_ptr<WorkPort> work = nullptr;  // shared with the orders that it has
  int32_t slots = 0;                         // groups that it takes at once over `work`
};

}  // namespace sluice
