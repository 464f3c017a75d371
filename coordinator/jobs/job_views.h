// The jobs as clients see them, with a revision each: published by the actor, read and waited for by anyone.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "coordinator/records/job_view.h"

namespace sluice {

class JobViews {
 public:
  // Nothing happens when the view is as before.
  void Publish(JobView view);
  absl::StatusOr<JobView> Get(const JobId& job) const;
  // At most `limit`, from behind `after` on, the newest first.
  std::vector<JobView> List(int64_t limit, const JobPlace& after) const;
  void Remove(const JobId& job);  // who waits for it is told that it is not there
  absl::StatusOr<JobView> WaitForChange(const JobId& job, uint64_t last_revision,
                                        absl::Duration timeout) const;
  void Stop();  // nobody waits any more

 private:
  struct Entry {
    std::string fingerprint;
    JobView view;
  };
  mutable absl::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::set<std::pair<absl::Time, JobId>> order_ ABSL_GUARDED_BY(mu_);  // of their submission
  std::map<JobId, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
