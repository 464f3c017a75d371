#include "coordinator/workers/worker_offer.h"

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

}  // namespace sluice
