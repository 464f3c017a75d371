// The orders under way with workers that dialled in: whose each is, and what is still to come of it. For the
// coordinator's actor thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "coordinator/scheduler/scheduler.h"
#include "coordinator/workers/work_port.h"
#include "core/rl/sample_delivery.h"

namespace sluice {

// Of one run: an attempt, or a policy to load.
struct WorkOrder {
  uint64_t run = 0;
  uint64_t attempt = 0;                      // 0: it loads a policy
  PolicyVersion version = kNoPolicyVersion;  // that it loads
  uint64_t turn = 0;                         // of the worker with the run, where it loads
  std::string worker;
  uint64_t epoch = 0;
  std::shared_ptr<WorkPort> port;  // the worker's; shared with its registration, which may end first
  SampleDelivery delivery;
  std::map<uint32_t, int64_t> begun;  // tokens that the attempt goes on after, by index
};

class WorkOrders {
 public:
  // The order's number.
  uint64_t Add(WorkOrder order);
  // Null: it is over, or another worker's or registration's.
  WorkOrder* Find(const WorkReport& report);
  // The order, which is over; it must be there.
  WorkOrder Take(uint64_t number);
  // Tells the worker. False: it has no such order.
  bool Cancel(uint64_t run, uint64_t attempt);
  void CancelRun(uint64_t run);
  // Of a registration that is over: forgets its orders.
  void Forget(const std::string& worker, uint64_t epoch);
  size_t size() const { return orders_.size(); }

 private:
  void Erase(uint64_t number);

  uint64_t last_ = 0;
  std::map<uint64_t, WorkOrder> orders_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> by_attempt_;  // (run, attempt)
  std::map<std::pair<std::string, uint64_t>, std::set<uint64_t>> by_worker_;
};

}  // namespace sluice
