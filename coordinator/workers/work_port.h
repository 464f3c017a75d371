// The port to a rollout worker that dialled in: work is sent to it and its reports come back
// (Coordinator::TakeReports), and no thread waits in between. services/coordinator implements it over a
// stream.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/rl/rollout_worker.h"

namespace sluice {

// Thread-safe. Nothing waits and nothing fails: what is sent to a worker that is gone is dropped, and the
// coordinator is told that it is gone (LoseWorker). An order's number is never used twice.
class WorkPort {
 public:
  virtual ~WorkPort() = default;
  // As RolloutWorker::Generate; the order ends with the report of its status.
  virtual void Generate(uint64_t order, const RolloutRequest& request) = 0;
  // As RolloutWorker::LoadPolicy.
  virtual void Load(uint64_t order, const PolicyRef& policy, SwapMode mode, absl::Time deadline) = 0;
  // The order is over for the coordinator: OK, or what was wrong with a report of it.
  virtual void Cancel(uint64_t order, const absl::Status& why) = 0;
};

// What a worker says of an order under the epoch of its registration: a completion, finished or so far, or
// how the order ended.
struct WorkReport {
  std::string worker;
  uint64_t epoch = 0, order = 0;
  std::variant<Trajectory, absl::Status> body;
};

}  // namespace sluice
