#include "services/clients/work_adapter.h"

#include <memory>
#include <stop_token>
#include <utility>

#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/rollout.h"
#include "services/wire/types.h"
#include "services/wire/work.h"

namespace sluice {
namespace {

constexpr uint32_t kOnly = 0;  // the worker's number on its stream
constexpr int kLoads = 4;      // threads besides those of the slots

}  // namespace

WorkAdapter::WorkAdapter(RolloutWorker& worker, ConnectCoordinator connect,
                         v1::RegisterWorkerRequest registration, int32_t slots,
                         const WorkLinkOptions& options)
    : worker_(worker), executor_({.max_threads = slots + kLoads}), link_(std::move(connect), *this, options) {
  v1::WorkJoin join;
  join.set_worker(kOnly);
  *join.mutable_registration() = std::move(registration);
  join.set_slots(slots);
  link_.Join(std::move(join));
}

WorkAdapter::~WorkAdapter() {
  link_.Stop();
  executor_.Stop();
}

void WorkAdapter::Take(v1::WorkOrder order, absl::Time deadline) {
  const CancelToken cancel;
  const uint64_t number = order.order();
  {
    absl::MutexLock lock(&mu_);
    running_.emplace(number, cancel);
  }
  auto shared =
      std::make_shared<const v1::WorkOrder>(std::move(order));  // std::function wants what it holds copyable
  const absl::Status scheduled =
      executor_.Schedule([this, shared, deadline, cancel] { Run(*shared, deadline, cancel); });
  if (!scheduled.ok()) End(number, scheduled);
}

void WorkAdapter::Cancel(uint64_t order) {
  absl::MutexLock lock(&mu_);
  const auto it = running_.find(order);
  if (it == running_.end()) return;
  it->second.Cancel();
  running_.erase(it);
}

void WorkAdapter::Lost(uint32_t /*worker*/) {
  absl::MutexLock lock(&mu_);
  for (const auto& [order, cancel] : running_) cancel.Cancel();
  running_.clear();
}

void WorkAdapter::Run(const v1::WorkOrder& order, absl::Time deadline, const CancelToken& cancel) {
  if (cancel.cancelled()) return;
  absl::Status status = absl::InvalidArgumentError("work: is missing");
  if (order.has_generate()) status = Generate(order, deadline, cancel);
  if (order.has_load()) status = Load(order.load(), deadline);
  if (!cancel.cancelled()) End(order.order(), status);
}

absl::Status WorkAdapter::Generate(const v1::WorkOrder& order, absl::Time deadline,
                                   const CancelToken& cancel) {
  SLUICE_ASSIGN_OR_RETURN(RolloutRequest request, FromProto(order.generate()));
  request.deadline = deadline;
  const CancelToken stop;  // also raised here: nothing is sampled that cannot be sent
  const std::stop_callback pass_on(cancel.stop_token(), [&stop] { stop.Cancel(); });
  absl::Status too_large;
  const absl::Status status = worker_.Generate(request, stop, [&](Trajectory trajectory) {
    if (!too_large.ok()) return;
    v1::WorkReport report;
    report.set_worker(order.worker());
    report.set_order(order.order());
    *report.mutable_generated()->mutable_trajectory() = ToProto(trajectory);
    too_large = CheckResponseSize(report.generated());
    if (!too_large.ok()) return stop.Cancel();
    link_.Report(std::move(report));
  });
  return too_large.ok() ? status : too_large;
}

absl::Status WorkAdapter::Load(const v1::LoadPolicyRequest& load, absl::Time deadline) {
  const absl::StatusOr<PolicyRef> policy = FromProto(load.policy());
  if (!policy.ok()) return Within("policy", policy.status());
  SLUICE_ASSIGN_OR_RETURN(const SwapMode mode, FromProto(load.swap_mode()));
  return worker_.LoadPolicy(*policy, mode, deadline);
}

void WorkAdapter::End(uint64_t order, const absl::Status& status) {
  {
    absl::MutexLock lock(&mu_);
    running_.erase(order);
  }
  v1::WorkReport report;
  report.set_worker(kOnly);
  report.set_order(order);
  *report.mutable_ended() = WorkEndOf(status);
  link_.Report(std::move(report));
}

}  // namespace sluice
