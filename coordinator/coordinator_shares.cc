// Who works for whom: rollout workers for one job at a time, reward workers for all.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordinator/coordinator_impl.h"

namespace sluice {
namespace {

// A learner that is gone for less than this is coming back: its job keeps its workers.
constexpr absl::Duration kLearnerGrace = absl::Seconds(30);
constexpr size_t kNamesListed = 8;

std::string Names(const std::vector<std::string>& names) {
  const std::vector<std::string> listed(
      names.begin(), names.begin() + static_cast<int64_t>(std::min(names.size(), kNamesListed)));
  return absl::StrCat(absl::StrJoin(listed, ", "), names.size() > kNamesListed ? ", ..." : "");
}

}  // namespace

std::vector<ShareClaim> CoordinatorImpl::Claims() const {
  std::vector<ShareClaim> claims;
  for (const auto& [number, run] : runs_) {
    const JobView& view = run->job->row().view;
    const bool here = learners_.count(run->learner) > 0 ||
                      (!run->learner.empty() && options_.clock->Now() < run->learner_lost + kLearnerGrace);
    claims.push_back({view.job, view.spec.share, number, here && view.state != JobState::kPaused});
  }
  const bool any = std::any_of(claims.begin(), claims.end(), [](const ShareClaim& c) { return c.needs; });
  for (ShareClaim& claim : claims) claim.needs |= !any;
  return claims;
}

void CoordinatorImpl::ShareWorkers() {
  std::vector<ShareClaim> claims = Claims();
  const absl::Time now = options_.clock->Now();
  if (claims == claims_ && !workers_changed_ && !shares_.Unsettled()) return;
  if (claims.size() != claims_.size()) ShareRewards(claims.size());
  claims_ = claims;
  workers_changed_ = false;
  Assignment before;
  for (const auto& [name, worker] : rollouts_) {
    const ActiveRun* run = RunOf(worker.run);
    before[name] = run == nullptr ? "" : run->name();
  }
  std::map<std::pair<JobId, JobId>, std::vector<std::string>> moved;  // from, to
  for (const auto& [name, job] : shares_.Update(claims, before, now)) {
    if (job == before.at(name)) continue;
    MoveWorker(name, job);
    if (!before.at(name).empty()) moved[{before.at(name), job}].push_back(name);
  }
  CountWorkers();
  for (const auto& [jobs, names] : moved) {
    const auto& [from, to] = jobs;
    if (ActiveRun* run = RunOfJob(from)) {
      run->job->AddEvent(now, to.empty()
                                  ? absl::StrCat("works no more with ", Names(names), ": it has its most")
                                  : absl::StrCat("gave to ", to, ": ", Names(names)));
    }
    if (ActiveRun* run = RunOfJob(to))
      run->job->AddEvent(now, absl::StrCat("got from ", from, ": ", Names(names)));
  }
}

void CoordinatorImpl::CountWorkers() {
  for (const auto& [number, run] : runs_) {
    run->rollout_workers = 0;
    run->changed = true;
  }
  for (const auto& [name, worker] : rollouts_) {
    if (ActiveRun* run = RunOf(worker.run)) ++run->rollout_workers;
  }
}

// Takes a rollout worker from the job that it works for and gives it to `job`; empty: to none.
void CoordinatorImpl::MoveWorker(const std::string& name, const JobId& job) {
  served_looked_ = absl::InfinitePast();
  const absl::Time now = options_.clock->Now();
  RolloutMember& worker = rollouts_.at(name);
  if (ActiveRun* from = RunOf(worker.run)) {
    from->job->Handle({now, WorkerDown{name, worker.member.epoch, absl::StrCat("given to ", job), true}});
  }
  ActiveRun* to = RunOfJob(job);
  worker.run = to == nullptr ? 0 : to->number;
  ++worker.turn;
  if (to != nullptr) Deliver(*to, worker.member);
}

// Every job has its part of what a reward worker takes at once, and one call at the least.
void CoordinatorImpl::ShareRewards(size_t jobs) {
  const int32_t all = JobPlan().score_calls_per_worker;
  for (const auto& [number, run] : runs_) {
    run->job->LimitScoreCalls(std::max(1, all / static_cast<int32_t>(std::max<size_t>(1, jobs))));
  }
}

}  // namespace sluice
