// Orders to workers that dialled in, and what they report: no thread waits for either.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/coordinator_impl.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"

namespace sluice {

void CoordinatorImpl::Order(const ActiveRun& run, const StartGenerate& a, const RegisteredWorker& member,
                            const RolloutRequest& request) {
  WorkOrder order{.run = run.number,
                  .attempt = a.attempt,
                  .worker = member.name,
                  .epoch = member.epoch,
                  .port = member.work,
                  .delivery = SampleDelivery(request)};
  for (const Trajectory& begun : request.begun) {
    order.begun[begun.key.index] = static_cast<int64_t>(begun.tokens.size());
  }
  member.work->Generate(orders_.Add(std::move(order)), request);
}

void CoordinatorImpl::Order(const ActiveRun& run, const StartLoad& a, const RegisteredWorker& member,
                            const PolicyRef& policy, uint64_t turn) {
  const uint64_t number = orders_.Add({.run = run.number,
                                       .version = a.policy.version,
                                       .turn = turn,
                                       .worker = member.name,
                                       .epoch = member.epoch,
                                       .port = member.work});
  member.work->Load(number, policy, run.job->row().view.spec.staleness.on_new_version, a.deadline);
}

void CoordinatorImpl::TakeReports(std::vector<WorkReport> reports, std::function<void()> taken) {
  auto shared = std::make_shared<std::vector<WorkReport>>(
      std::move(reports));  // std::function wants what it holds copyable
  inbox_->PostData([this, shared, taken = std::move(taken)] {
    for (WorkReport& report : *shared) Take(report);
    SLUICE_FAIL_POINT("coordinator.reports_taken");
    taken();
  });
}

// One of an order that is over, for example cancelled, says nothing.
void CoordinatorImpl::Take(WorkReport& report) {
  if (Fenced(report.worker, report.epoch)) return;
  WorkOrder* order = orders_.Find(report);
  if (order == nullptr) return;
  if (auto* trajectory = std::get_if<Trajectory>(&report.body)) {
    TakeSample(report, *order, std::move(*trajectory));
  } else {
    TakeEnd(report.order, std::get<absl::Status>(report.body));
  }
}

void CoordinatorImpl::TakeSample(const WorkReport& report, WorkOrder& order, Trajectory trajectory) {
  if (const absl::Status fits = order.delivery.Take(trajectory); !fits.ok()) {
    order.port->Cancel(report.order, fits);
    return TakeEnd(report.order,
                   absl::InternalError(absl::StrCat(report.worker, ": bad report: ", fits.message())));
  }
  int64_t tokens = 0;  // that the worker itself sampled, of a completion that is finished
  if (trajectory.finish_reason != FinishReason::kUnspecified) {
    tokens = static_cast<int64_t>(trajectory.tokens.size());
    // The worker may have begun it anew.
    if (const auto begun = order.begun.find(trajectory.key.index); begun != order.begun.end())
      tokens = std::max<int64_t>(0, tokens - begun->second);
  }
  registry_.CountTokens(report.worker, tokens);
  if (ActiveRun* run = RunOf(order.run))
    run->job->HandleSample(options_.clock->Now(), order.attempt, std::move(trajectory), tokens);
}

void CoordinatorImpl::TakeEnd(uint64_t number, absl::Status status) {
  const WorkOrder order = orders_.Take(number);
  const absl::Time now = options_.clock->Now();
  if (status.ok() && order.delivery.missing() > 0) {
    status = absl::InternalError(
        absl::StrCat(order.worker, ": ended without ", order.delivery.missing(), " of the samples"));
  }
  if (order.attempt == 0) SLUICE_FAIL_POINT("coordinator.version_announced");
  ActiveRun* run = RunOf(order.run);
  if (run == nullptr) return;
  if (order.attempt == 0) {
    const auto worker = rollouts_.find(order.worker);
    if (worker == rollouts_.end() || worker->second.turn != order.turn)
      return;  // another job had it meanwhile
    run->job->Handle({now, PolicyLoaded{order.worker, order.epoch, order.version, status}});
  } else {
    run->job->Handle({now, GenerateEnded{order.attempt, status}});
  }
}

}  // namespace sluice
