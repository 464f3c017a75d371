// What the coordinator says of a job that waits too long: a line of log, an event, a metric and a line of the
// job's view.
#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "coordinator/coordinator_impl.h"
#include "core/base/log.h"

namespace sluice {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);  // between looks, at most, where a look is quick
constexpr int kShare = 100;  // looks take at most one part in so many of the actor's time
constexpr absl::Duration kLongestPause = absl::Seconds(10);

}  // namespace

void CoordinatorImpl::WatchStalls(ActiveRun& run, const std::string& store_error) {
  const absl::Time now = options_.clock->Now();
  JobRun& job = *run.job;
  const absl::Time began = absl::Now();
  if (store_error.empty() && !IsTerminal(job.row().view.state) &&
      (now - run.stalls_looked < std::min(kInterval, options_.stall / 4) || began < run.next_stalls_look)) {
    return;
  }
  run.stalls_looked = now;
  const auto looked = absl::MakeCleanup([&] {
    const absl::Time end = absl::Now();
    run.next_stalls_look = end + std::min((end - began) * kShare, kLongestPause);
  });
  std::vector<Wait> waits = WaitsOf(job.state(), job.row().view.spec.timeout);
  if (!store_error.empty()) {
    waits = {{WaitKind::kStore, "store", absl::StrCat("the store to write (", store_error, ")"),
              options_.state_dir, absl::ZeroDuration()}};
  }
  const StallDetector::News news = run.stalls.Observe(waits, now);
  for (const Stall& stall : news.begun) {
    LogWarning("job_stalled", {{"job", run.name()},
                               {"waiting_for", WaitKindName(stall.kind)},
                               {"what", stall.what},
                               {"on", stall.on},
                               {"seconds", absl::ToInt64Seconds(now - stall.since)}});
    job.AddEvent(now, absl::StrCat("stalled: waits for ", DescribeStall(stall)));
  }
  for (const Stall& stall : news.ended) {
    LogInfo("job_goes_on", {{"job", run.name()},
                            {"waited_for", WaitKindName(stall.kind)},
                            {"seconds", absl::ToInt64Seconds(now - stall.since)}});
    job.AddEvent(now, absl::StrCat("no longer stalled, after ", absl::ToInt64Seconds(now - stall.since),
                                   " s: ", stall.what));
  }
  ReportStalls(now);
}

void CoordinatorImpl::ReportStalls(absl::Time now) {
  if (metrics_ == nullptr) return;
  for (int kind = 0; kind < kWaitKinds; ++kind) {
    absl::Duration longest = absl::ZeroDuration();
    for (const auto& [number, run] : runs_) {
      if (const auto& stall = run->stalls.OfKind(static_cast<WaitKind>(kind)))
        longest = std::max(longest, now - stall->since);
    }
    metrics_->Stall(static_cast<WaitKind>(kind), longest);
  }
}

}  // namespace sluice
