// What the coordinator says of a job that waits too long: a line of log, an event, a metric and a line of the
// job's view.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/coordinator_impl.h"
#include "core/base/log.h"

namespace sluice {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);  // between looks, at most

}  // namespace

void CoordinatorImpl::WatchStalls(const std::string& store_error) {
  if (run_ == nullptr) return;
  const absl::Time now = options_.clock->Now();
  if (run_number_ != stalls_run_) {
    stalls_.Reset();
    stalls_run_ = run_number_;
  } else if (store_error.empty() && !IsTerminal(run_->row().view.state) &&
             now - stalls_looked_ < std::min(kInterval, options_.stall / 4)) {
    return;
  }
  stalls_looked_ = now;
  std::vector<Wait> waits = WaitsOf(run_->state(), run_->row().view.spec.timeout);
  if (!store_error.empty()) {
    waits = {{WaitKind::kStore, "store", absl::StrCat("the store to write (", store_error, ")"),
              options_.state_dir, absl::ZeroDuration()}};
  }
  const StallDetector::News news = stalls_.Observe(waits, now);
  for (const Stall& stall : news.begun) {
    LogWarning("job_stalled", {{"job", run_->row().view.job},
                               {"waiting_for", WaitKindName(stall.kind)},
                               {"what", stall.what},
                               {"on", stall.on},
                               {"seconds", absl::ToInt64Seconds(now - stall.since)}});
    run_->AddEvent(now, absl::StrCat("stalled: waits for ", DescribeStall(stall)));
  }
  for (const Stall& stall : news.ended) {
    LogInfo("job_goes_on", {{"job", run_->row().view.job},
                            {"waited_for", WaitKindName(stall.kind)},
                            {"seconds", absl::ToInt64Seconds(now - stall.since)}});
    run_->AddEvent(now, absl::StrCat("no longer stalled, after ", absl::ToInt64Seconds(now - stall.since),
                                     " s: ", stall.what));
  }
  ReportStalls(now);
}

void CoordinatorImpl::ReportStalls(absl::Time now) {
  if (metrics_ == nullptr) return;
  for (int kind = 0; kind < kWaitKinds; ++kind) {
    const auto& stall = stalls_.OfKind(static_cast<WaitKind>(kind));
    metrics_->Stall(static_cast<WaitKind>(kind), stall ? now - stall->since : absl::ZeroDuration());
  }
}

}  // namespace sluice
