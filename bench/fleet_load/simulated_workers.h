// Rollout workers without an engine: hosts, each with one Work stream and many workers. A completion comes a
// drawn time after its order. One thread for all of them. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "bench/fleet_load/latency.h"
#include "services/clients/work_link.h"

namespace sluice::bench {

struct SimulatedFleet {
  int workers = 100, streams = 4, slots = 1;
  int tokens = 32;             // of the longest completion; the shortest has half of them
  absl::Duration completion;   // mean time of one; drawn from half of it to one and a half
  std::string address;         // that the workers name as theirs
  ConnectCoordinator connect;  // a connection for each stream
};

class SimulatedWorkers {
 public:
  explicit SimulatedWorkers(SimulatedFleet fleet);
  ~SimulatedWorkers();
  // Whether all are registered by `deadline`.
  bool AwaitJoined(absl::Time deadline) const;
  // From now on latencies are kept.
  void Measure() { measuring_ = true; }
  int64_t completions() const { return completions_; }
  int64_t groups() const { return groups_; }
  // From the report of a group's end to the arrival of the worker's next group. `steady`: but for those whose
  // wait met a step, from its batch's closing to the first that is told of its version: then nothing may be
  // issued.
  const LatencyRecord& dispatch() const { return dispatch_; }
  const LatencyRecord& steady() const { return steady_; }
  // A step's batch is closed, or its version announced.
  void StepUnderWay(bool under_way);
  void Leave(absl::Time deadline);

 private:
  class Host;
  struct Due {
    absl::Time time;
    Host* host = nullptr;
    uint64_t order = 0;
    uint32_t index = 0;  // of the sample
    bool operator>(const Due& other) const { return time > other.time; }
  };
  void Run();
  void Schedule(std::vector<Due> due);
  void Dispatched(absl::Time ended, absl::Time now);

  const SimulatedFleet fleet_;
  std::atomic<int64_t> completions_{0}, groups_{0};
  std::atomic<bool> measuring_{false};
  LatencyRecord dispatch_, steady_;
  absl::Mutex mu_;
  std::priority_queue<Due, std::vector<Due>, std::greater<Due>> due_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false, wake_ ABSL_GUARDED_BY(mu_) = false;
  bool step_under_way_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time step_ended_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  std::vector<std::unique_ptr<Host>> hosts_;
  std::thread thread_;
};

}  // namespace sluice::bench
