// The jobs as clients see them, with a revision each: published by the actor, read and waited for by anyone.
// Of those that ended only the last few are held here; the others are read from the archive when somebody
// asks. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "coordinator/records/job_view.h"

namespace sluice {

// What of a view changes most often, beside the rest of it.
struct LiveView {
  explicit LiveView(const JobView& view)
      : state(view.state),
        ledger(&view.ledger),
        waiting_for(view.waiting_for),
        error(view.error),
        stalled(view.stalled),
        rollout_workers(view.rollout_workers) {}
  JobState state;
  const Ledger* ledger;
  absl::string_view waiting_for, error, stalled;
  int32_t rollout_workers;
};

class JobViews {
 public:
  // Of jobs that ended. Called without a lock; may read from a disk.
  struct Archive {
    std::function<absl::StatusOr<JobView>(const JobId&)> find;  // NOT_FOUND
    // At most `limit` behind `after`, the newest first.
    std::function<absl::StatusOr<std::vector<JobView>>(int64_t limit, const JobPlace& after)> list;
  };
  static constexpr size_t kEndedHeld = 64;

  explicit JobViews(Archive archive) : archive_(std::move(archive)) {}

  // `view` with what is live. Costs the same whatever the view holds where nothing changed, and else a copy
  // that shares its lists.
  void Publish(const JobView& view, const LiveView& live);
  void Publish(const JobView& view) { Publish(view, LiveView(view)); }
  absl::StatusOr<JobSnapshot> Get(const JobId& job) const;  // NOT_FOUND
  // At most `limit`, from behind `after` on, the newest first.
  absl::StatusOr<std::vector<JobSnapshot>> List(int64_t limit, const JobPlace& after) const;
  void Remove(const JobId& job);  // who waits for it is told that it is not there
  absl::StatusOr<JobSnapshot> WaitForChange(const JobId& job, uint64_t last_revision,
                                            absl::Duration timeout) const;
  void Stop();  // nobody waits any more

 private:
  void HoldEnded(const JobId& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  JobSnapshot Held(const JobId& job) const;

  const Archive archive_;
  mutable absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t revision_ ABSL_GUARDED_BY(mu_) = 1;  // the last; that of what is read from the archive
  std::set<std::pair<absl::Time, JobId>> order_ ABSL_GUARDED_BY(mu_);  // of their submission
  std::map<JobId, JobSnapshot> views_ ABSL_GUARDED_BY(mu_);
  std::deque<JobId> ended_ ABSL_GUARDED_BY(mu_);  // in the order of their ends
};

}  // namespace sluice
