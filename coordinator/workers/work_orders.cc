#include "coordinator/workers/work_orders.h"

namespace sluice {

uint64_t WorkOrders::Add(WorkOrder order) {
  const uint64_t number = ++last_;
  if (order.attempt != 0) by_attempt_[{order.run, order.attempt}] = number;
  by_worker_[{order.worker, order.epoch}].insert(number);
  orders_.emplace(number, std::move(order));
  return number;
}

WorkOrder* WorkOrders::Find(const WorkReport& report) {
  const auto it = orders_.find(report.order);
  const bool own =
      it != orders_.end() && it->second.worker == report.worker && it->second.epoch == report.epoch;
  return own ? &it->second : nullptr;
}

WorkOrder WorkOrders::Take(uint64_t number) {
  WorkOrder order = orders_.at(number);
  Erase(number);
  return order;
}

void WorkOrders::Erase(uint64_t number) {
  const auto it = orders_.find(number);
  if (it == orders_.end()) return;
  const WorkOrder& order = it->second;
  by_attempt_.erase({order.run, order.attempt});
  const auto worker = by_worker_.find({order.worker, order.epoch});
  worker->second.erase(number);
  if (worker->second.empty()) by_worker_.erase(worker);
  orders_.erase(it);
}

bool WorkOrders::Cancel(uint64_t run, uint64_t attempt) {
  const auto it = by_attempt_.find({run, attempt});
  if (it == by_attempt_.end()) return false;
  const uint64_t number = it->second;
  orders_.at(number).port->Cancel(number, absl::OkStatus());
  Erase(number);
  return true;
}

void WorkOrders::CancelRun(uint64_t run) {
  for (auto it = orders_.begin(); it != orders_.end();) {
    const auto& [number, order] = *it++;  // Erase takes it away
    if (order.run != run) continue;
    order.port->Cancel(number, absl::OkStatus());
    Erase(number);
  }
}

void WorkOrders::Forget(const std::string& worker, uint64_t epoch) {
  const auto it = by_worker_.find({worker, epoch});
  if (it == by_worker_.end()) return;
  const std::set<uint64_t> numbers = it->second;
  for (uint64_t number : numbers) Erase(number);
}

}  // namespace sluice
