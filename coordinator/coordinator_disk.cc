// What the coordinator does about its disk: takes no new work when room runs out, removes what is not kept,
// and says when a write takes long.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/coordinator_impl.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

const absl::Duration kLookEvery = absl::Seconds(1);

}  // namespace

void CoordinatorImpl::WatchDisk() {
  const absl::Time now = absl::Now();
  if (now < next_disk_look_) return;
  const absl::StatusOr<bool> more = store_->Tidy();
  if (!more.ok()) LogWarning("store_not_tidied", {{"error", more.status().ToString()}});
  next_disk_look_ = more.ok() && *more ? now : now + kLookEvery;
  const absl::StatusOr<DiskSpace> space = options_.disk_space(options_.state_dir);
  if (!space.ok()) return;  // the next write says so
  // On a small disk less is kept free.
  const int64_t least = std::min(options_.keep_free_bytes, space->total_bytes / 20);
  const bool low = space->free_bytes < least;
  if (low != !low_disk_.empty()) {
    LogWarning(low ? "disk_low" : "disk_has_room", {{"free_bytes", space->free_bytes}, {"least", least}});
  }
  low_disk_ = low ? absl::StrCat("room on the disk of ", options_.state_dir, ": ", space->free_bytes,
                                 " bytes are free, nothing new begins below ", least)
                  : "";
  for (const auto& [number, run] : runs_) run->job->Admit(!low);
  if (store_metrics_ != nullptr) {
    store_metrics_->Free(space->free_bytes);
    store_metrics_->Stalled(low);
  }
}

JobView CoordinatorImpl::WithLongWrite(JobView view) const {
  const absl::Duration writing = store_->WritingFor();
  if (writing >= options_.long_write && !IsTerminal(view.state)) {
    view.waiting_for = absl::StrCat("the disk of ", options_.state_dir, ": a write has taken ",
                                    absl::ToInt64Seconds(writing), " s so far");
    if (view.state == JobState::kRunning || view.state == JobState::kWarmingUp)
      view.state = JobState::kPaused;
  }
  return view;
}

absl::StatusOr<JobView> CoordinatorImpl::Get(const JobId& job) {
  SLUICE_ASSIGN_OR_RETURN(JobView view, Snapshot(job));
  return WithLongWrite(std::move(view));
}

absl::StatusOr<JobView> CoordinatorImpl::Snapshot(const JobId& job) const {
  SLUICE_ASSIGN_OR_RETURN(const JobSnapshot view, views_.Get(job));
  return *view;
}

absl::StatusOr<std::vector<JobView>> CoordinatorImpl::List(int64_t limit, const JobPlace& after) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<JobSnapshot> found, views_.List(limit, after));
  std::vector<JobView> views;
  for (const JobSnapshot& view : found) views.push_back(WithLongWrite(*view));
  return views;
}

absl::StatusOr<JobView> CoordinatorImpl::WaitForChange(const JobId& job, uint64_t last_revision,
                                                       absl::Duration timeout) {
  SLUICE_ASSIGN_OR_RETURN(const JobSnapshot view, views_.WaitForChange(job, last_revision, timeout));
  return *view;
}

// Whether what the worker began under this epoch is refused.
bool CoordinatorImpl::Fenced(const std::string& worker, uint64_t epoch) {
  if (registry_.Holds(worker, epoch)) return false;
  LogWarning("result_fenced", {{"worker", worker}, {"epoch", epoch}});
  if (store_metrics_ != nullptr) store_metrics_->Fenced();
  return true;
}

}  // namespace sluice
