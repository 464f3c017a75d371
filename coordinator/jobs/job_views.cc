#include "coordinator/jobs/job_views.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// Equal for equal views: everything in a view that changes alone is here.
std::string Fingerprint(const JobView& v) {
  std::string out =
      absl::StrCat(static_cast<int>(v.state), " ", v.step, " ", v.version, " ", v.warm_start_step, " ",
                   v.ledger.issued, " ", v.evaluations.size(), " ", v.waiting_for, " ", v.error, " ",
                   v.stalled, " ", v.learner, " ", v.rollout_workers, " ", v.spec.share.priority);
  for (int64_t samples : v.ledger.columns) absl::StrAppend(&out, " ", samples);
  if (!v.events.empty())
    absl::StrAppend(&out, " ", absl::ToUnixMicros(v.events.back().time), v.events.back().text);
  return out;
}

absl::Status Unknown(const JobId& job) {
  return absl::NotFoundError(absl::StrCat("there is no job \"", job, "\""));
}

}  // namespace

void JobViews::Publish(JobView view) {
  std::string fingerprint = Fingerprint(view);
  absl::MutexLock lock(&mu_);
  auto [it, fresh] = entries_.try_emplace(view.job);
  if (fresh) order_.emplace(view.create_time, view.job);
  if (!fresh && it->second.fingerprint == fingerprint) return;
  view.revision = it->second.view.revision + 1;
  it->second.fingerprint = std::move(fingerprint);
  it->second.view = std::move(view);
}

absl::StatusOr<JobView> JobViews::Get(const JobId& job) const {
  absl::MutexLock lock(&mu_);
  auto it = entries_.find(job);
  if (it == entries_.end()) return Unknown(job);
  return it->second.view;
}

std::vector<JobView> JobViews::List(int64_t limit, const JobPlace& after) const {
  absl::MutexLock lock(&mu_);
  std::vector<JobView> out;
  for (auto it = order_.lower_bound({after.created, after.job});
       it != order_.begin() && static_cast<int64_t>(out.size()) < limit;) {
    out.push_back(entries_.at((--it)->second).view);
  }
  return out;
}

void JobViews::Remove(const JobId& job) {
  absl::MutexLock lock(&mu_);
  const auto it = entries_.find(job);
  if (it == entries_.end()) return;
  order_.erase({it->second.view.create_time, job});
  entries_.erase(it);
}

absl::StatusOr<JobView> JobViews::WaitForChange(const JobId& job, uint64_t last_revision,
                                                absl::Duration timeout) const {
  absl::MutexLock lock(&mu_);
  const auto changed = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto it = entries_.find(job);
    return stopped_ || it == entries_.end() || it->second.view.revision > last_revision;
  };
  mu_.AwaitWithTimeout(absl::Condition(&changed), std::min(timeout, absl::Hours(1)));
  const auto it = entries_.find(job);
  if (it == entries_.end()) return Unknown(job);
  return it->second.view;
}

void JobViews::Stop() {
  absl::MutexLock lock(&mu_);
  stopped_ = true;
}

}  // namespace sluice
