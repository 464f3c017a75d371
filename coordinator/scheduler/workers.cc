// Workers that come and go, what they do, and the policies that they load.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {

void SchedulerStep::On(const RolloutUp& e) {
  const bool called = e.slots == 0;
  Welcome(s_.rollout, e.name,
          {.epoch = e.epoch, .slots = called ? s_.plan.groups_per_worker : e.slots, .called = called});
}

void SchedulerStep::On(const RewardUp& e) {
  Welcome(s_.reward, e.name, {.epoch = e.epoch, .slots = s_.plan.score_calls_per_worker, .called = true});
}

void SchedulerStep::Welcome(Workers& workers, const std::string& name, WorkerState worker) {
  const auto before = workers.find(name);
  if (before != workers.end()) {
    if (before->second.alive && before->second.epoch >= worker.epoch) return;
    LoseWorker(workers, name);
    StopLoading(before->second);
    IndexOf(workers).Remove(name, before->second);
  }
  worker.alive = true;
  worker.canary = &workers == &s_.rollout && name == s_.canary.worker;
  workers[name] = std::move(worker);
  Place(workers, name);
}

void LimitScoreCalls(SchedulerState& state, int32_t calls) {
  if (std::exchange(state.plan.score_calls_per_worker, calls) == calls) return;
  for (auto& [name, worker] : state.reward) {
    worker.slots = calls;
    if (state.index.made) state.index.reward.Place(name, worker);
  }
}

void SchedulerStep::LoseWorker(Workers& workers, const std::string& name, TryFailure why) {
  const std::set<uint64_t> calls = workers.at(name).calls;
  for (uint64_t id : calls) {
    if (&workers == &s_.reward) {
      RequeueScores(id, false);
      continue;
    }
    Do(CancelGenerate{id});
    const bool lost = why == TryFailure::kLost;
    EndAttempt(id, lost ? AttemptOutcome::kLost : AttemptOutcome::kCancelled, why,
               absl::StrCat(name, " was lost"));
  }
}

void SchedulerStep::BeginCall(Workers& workers, const std::string& name, uint64_t id) {
  workers.at(name).calls.insert(id);
  Place(workers, name);
}

void SchedulerStep::EndCall(Workers& workers, const std::string& name, uint64_t id) {
  const auto worker = workers.find(name);
  if (worker == workers.end()) return;
  worker->second.calls.erase(id);
  Place(workers, name);
}

// It cannot work now.
void SchedulerStep::Rest(Workers& workers, const std::string& name) {
  const auto worker = workers.find(name);
  if (worker == workers.end()) return;
  Backoff(now_, worker->second.not_before, worker->second.backoff);
  Place(workers, name);
}

void SchedulerStep::WakeRested(Workers& workers) {
  const auto& resting = IndexOf(workers).resting();
  while (!resting.empty() && resting.begin()->first <= now_) {
    const std::string name = resting.begin()->second;
    workers.at(name).not_before = absl::InfinitePast();
    Place(workers, name);
  }
}

// What every worker is to serve now; kNoPolicyVersion: nothing is wanted that is published.
PolicyVersion SchedulerStep::WantedVersion() const {
  if (!s_.plan.deterministic) return s_.version;
  PolicyVersion wanted = std::numeric_limits<PolicyVersion>::max();
  if (const auto draw = DrawAt(s_, s_.complete_below)) wanted = SampledAt(s_, *draw);
  if (evaluating()) wanted = std::min(wanted, s_.version);
  return wanted <= s_.version ? wanted : kNoPolicyVersion;
}

PolicyRef SchedulerStep::RefOf(PolicyVersion version) const {
  if (version == s_.version) return s_.policy;
  return {s_.policy.job, version, s_.manifests.at(version), s_.policy.source};
}

// A version that is on trial goes to the canary alone. In a deterministic job nothing is left to sample at
// the one before it, and a worker may have been the canary: it cannot go back.
void SchedulerStep::LoadPolicies() {
  if (s_.version < 0) return;
  PolicyVersion wanted = WantedVersion();
  if (wanted == s_.version && OnTrial(s_)) {
    if (trying()) LoadCanary();
    if (s_.plan.deterministic) return;
    wanted = TrustedVersion(s_);
  }
  if (wanted == kNoPolicyVersion) return;
  const auto& to_load = s_.index.rollout.to_load();
  for (auto it = to_load.begin(); it != to_load.end() && it->first < wanted;) {
    const std::string name = (it++)->second;  // it is no longer listed when it loads
    if (!LoadFromSomeone(name, wanted)) return;
  }
}

// Once the learner can give it out: from those that serve it, the fewest receivers first, then from the
// learner. False: no one could give it to another either.
bool SchedulerStep::LoadFromSomeone(const std::string& name, PolicyVersion version) {
  if (!s_.learner.open || s_.learner.version < version) return false;
  const WorkerIndex& index = s_.index.rollout;
  WorkerState& worker = s_.rollout.at(name);
  const auto giver = index.givers().lower_bound({{version, 0}, ""});
  const bool given = giver != index.givers().end() && giver->first.first == version;
  const bool learner = index.ReceiversOf("") < kReceiversPerSource;
  if (!given && !learner) return false;
  if (worker.only_learner && !learner) return true;
  StartLoading(name, worker, version, given && !worker.only_learner ? giver->second : "");
  return true;
}

void SchedulerStep::StartLoading(const std::string& name, WorkerState& worker, PolicyVersion version,
                                 const std::string& source) {
  worker.loading = version;
  worker.source = source;
  worker.load_deadline = now_ + s_.plan.load_timeout;
  s_.index.rollout.CountReceiver(worker.source, 1);
  Place(s_.rollout, name);
  Place(s_.rollout, worker.source);
  Do(StartLoad{name, worker.epoch, RefOf(version), worker.load_deadline, worker.source});
}

// Returns from where. The worker is to be placed.
std::string SchedulerStep::StopLoading(WorkerState& worker) {
  if (std::exchange(worker.loading, kNoPolicyVersion) == kNoPolicyVersion) return "";
  const std::string source = std::exchange(worker.source, "");
  s_.index.rollout.CountReceiver(source, -1);
  Place(s_.rollout, source);
  return source;
}

void SchedulerStep::On(const PolicyLoaded& e) {
  auto it = s_.rollout.find(e.worker);
  if (it == s_.rollout.end() || it->second.epoch != e.epoch || it->second.loading != e.version) return;
  WorkerState& worker = it->second;
  const std::string source = StopLoading(worker);
  worker.only_learner = !e.status.ok() && !source.empty();
  if (e.status.ok()) {
    worker.version = std::max(worker.version, e.version);
    worker.backoff = absl::ZeroDuration();
    return Place(s_.rollout, e.worker);
  }
  if (auto giver = s_.rollout.find(source); giver != s_.rollout.end() && absl::IsUnimplemented(e.status)) {
    giver->second.gives = false;
    Place(s_.rollout, source);
  }
  // It may serve what is on trial all the same: it is asked for a version again before it has other work.
  if (e.version > TrustedVersion(s_)) worker.version = kNoPolicyVersion;
  if (worker.backoff == absl::ZeroDuration() && !ended()) {
    Do(Note{absl::StrCat(e.worker, " could not load version ", e.version, ": ", e.status.message())});
  }
  Rest(s_.rollout, e.worker);
}

// Calls are given a little longer than their deadline to say so themselves.
void SchedulerStep::ExpireLoads() {
  const auto& loading = s_.index.rollout.loading();
  while (!loading.empty() && now_ > loading.begin()->first + kGrace) {
    const std::string name = loading.begin()->second;
    const WorkerState& worker = s_.rollout.at(name);
    On(PolicyLoaded{name, worker.epoch, worker.loading, absl::DeadlineExceededError("no answer")});
  }
}

}  // namespace sluice
