#include "coordinator/jobs/job_views.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

constexpr uint64_t kFirstRevision = 1;

bool SameTrial(const std::optional<TrialView>& a, const std::optional<TrialView>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::tie(a->version, a->worker, a->done) == std::tie(b->version, b->worker, b->done);
}

// Whether `last` is what publishing them would come to. Everything in a view that changes alone is looked at.
bool Says(const JobView& last, const JobView& view, const LiveView& live) {
  const auto parts = [](const JobView& v) {
    return std::tie(v.step, v.version, v.warm_start_step, v.learner, v.promoted, v.spec.share.priority);
  };
  return last.state == live.state && last.waiting_for == live.waiting_for && last.error == live.error &&
         last.stalled == live.stalled && last.rollout_workers == live.rollout_workers &&
         last.ledger.issued == live.ledger->issued && last.ledger.columns == live.ledger->columns &&
         parts(last) == parts(view) && last.events.IsSame(view.events) &&
         last.evaluations.IsSame(view.evaluations) && last.rollbacks.IsSame(view.rollbacks) &&
         SameTrial(last.trial, view.trial);
}

absl::Status Unknown(const JobId& job) {
  return absl::NotFoundError(absl::StrCat("there is no job \"", job, "\""));
}

}  // namespace

void JobViews::Publish(const JobView& view, const LiveView& live) {
  {
    absl::ReaderMutexLock lock(&mu_);
    const auto last = views_.find(view.job);
    if (last != views_.end() && Says(*last->second, view, live)) return;
  }
  auto next = std::make_shared<JobView>(view);
  next->state = live.state;
  next->ledger = *live.ledger;
  next->waiting_for = std::string(live.waiting_for);
  next->error = std::string(live.error);
  next->stalled = std::string(live.stalled);
  next->rollout_workers = live.rollout_workers;
  absl::MutexLock lock(&mu_);
  next->revision = ++revision_;
  order_.emplace(next->create_time, next->job);
  if (IsTerminal(next->state)) HoldEnded(next->job);
  views_[next->job] = std::move(next);
}

void JobViews::HoldEnded(const JobId& job) {
  std::erase(ended_, job);
  ended_.push_back(job);
  if (ended_.size() <= kEndedHeld) return;
  const auto oldest = views_.find(ended_.front());
  ended_.pop_front();
  // It may have been taken up again, and it may be deleted.
  if (oldest == views_.end() || !IsTerminal(oldest->second->state)) return;
  order_.erase({oldest->second->create_time, oldest->first});
  views_.erase(oldest);
}

JobSnapshot JobViews::Held(const JobId& job) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto it = views_.find(job);
  return it == views_.end() ? nullptr : it->second;
}

absl::StatusOr<JobSnapshot> JobViews::Get(const JobId& job) const {
  if (JobSnapshot held = Held(job)) return held;
  absl::StatusOr<JobView> ended = archive_.find(job);
  if (ended.ok()) {
    ended->revision = kFirstRevision;
    return std::make_shared<const JobView>(*std::move(ended));
  }
  if (!absl::IsNotFound(ended.status())) return ended.status();
  if (JobSnapshot held = Held(job)) return held;  // it was taken up meanwhile
  return Unknown(job);
}

absl::StatusOr<std::vector<JobSnapshot>> JobViews::List(int64_t limit, const JobPlace& after) const {
  absl::StatusOr<std::vector<JobView>> ended = archive_.list(limit, after);
  if (!ended.ok()) return ended.status();
  std::map<std::pair<absl::Time, JobId>, JobSnapshot> found;  // what is held here goes before what was read
  {
    absl::ReaderMutexLock lock(&mu_);
    for (auto it = order_.lower_bound({after.created, after.job});
         it != order_.begin() && static_cast<int64_t>(found.size()) < limit;) {
      --it;
      found[*it] = views_.at(it->second);
    }
  }
  for (JobView& view : *ended) {
    view.revision = kFirstRevision;
    const std::pair place(view.create_time, view.job);
    found.try_emplace(place, std::make_shared<const JobView>(std::move(view)));
  }
  std::vector<JobSnapshot> out;
  for (auto it = found.rbegin(); it != found.rend() && static_cast<int64_t>(out.size()) < limit; ++it)
    out.push_back(std::move(it->second));
  return out;
}

void JobViews::Remove(const JobId& job) {
  absl::MutexLock lock(&mu_);
  const auto it = views_.find(job);
  if (it == views_.end()) return;
  order_.erase({it->second->create_time, job});
  views_.erase(it);
}

absl::StatusOr<JobSnapshot> JobViews::WaitForChange(const JobId& job, uint64_t last_revision,
                                                    absl::Duration timeout) const {
  absl::StatusOr<JobSnapshot> first = Get(job);
  if (!first.ok() || (*first)->revision > last_revision) return first;
  {
    absl::MutexLock lock(&mu_);
    const bool held = views_.count(job) > 0;
    const auto changed = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      const auto it = views_.find(job);
      if (it == views_.end()) return stopped_ || held;  // it was deleted, or has ended long ago
      return stopped_ || it->second->revision > last_revision;
    };
    mu_.AwaitWithTimeout(absl::Condition(&changed), std::min(timeout, absl::Hours(1)));
  }
  return Get(job);
}

void JobViews::Stop() {
  absl::MutexLock lock(&mu_);
  stopped_ = true;
}

}  // namespace sluice
