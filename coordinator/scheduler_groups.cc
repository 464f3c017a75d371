// Groups, samples and the workers that make and judge them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler_step.h"

namespace sluice {
namespace {

// A worker that died under a sample more often than this, per allowed attempt, is likely killed by it.
constexpr int32_t kLossesPerAttempt = 4;

bool IsTransport(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsFailedPrecondition(status) || absl::IsCancelled(status) || absl::IsAborted(status);
}

std::string WithDetail(const char* reason, const std::string& detail) {
  return detail.empty() ? reason : absl::StrCat(reason, ": ", detail);
}

}  // namespace

void SchedulerStep::LoseWorker(std::map<std::string, WorkerState>& workers, const std::string& name) {
  if (workers.count(name) == 0) return;
  std::vector<uint64_t> attempts, calls;
  if (&workers == &s_.rollout) {
    for (const auto& [id, attempt] : s_.attempts) {
      if (attempt.worker == name) attempts.push_back(id);
    }
  } else {
    for (const auto& [id, call] : s_.score_calls) {
      if (call.worker == name) calls.push_back(id);
    }
  }
  for (uint64_t id : attempts) {
    Do(CancelGenerate{id});
    EndAttempt(id, TryFailure::kLost);
  }
  for (uint64_t id : calls) RequeueScores(id, false);
}

void SchedulerStep::On(const PolicyLoaded& e) {
  auto it = s_.rollout.find(e.worker);
  if (it == s_.rollout.end() || it->second.epoch != e.epoch || it->second.loading != e.version) return;
  WorkerState& worker = it->second;
  worker.loading = kNoPolicyVersion;
  if (e.status.ok()) {
    worker.version = std::max(worker.version, e.version);
    worker.backoff = absl::ZeroDuration();
    return;
  }
  if (worker.backoff == absl::ZeroDuration() && !ended()) {
    Do(Note{absl::StrCat(e.worker, " could not load version ", e.version, ": ", e.status.message())});
  }
  Backoff(now_, worker.not_before, worker.backoff);
}

void SchedulerStep::On(const SampleArrived& e) {
  auto it = s_.attempts.find(e.attempt);
  if (it == s_.attempts.end() || it->second.indices.count(e.index) == 0) return;  // late or sent twice
  const GroupKey key = it->second.group;
  GroupState& group = s_.groups.at(key);
  // Sampled at an older version than the worker said, it would break the bound: the sample stays to come.
  const PolicyVersion oldest_allowed =
      key.evaluation ? s_.evaluation->version : group.train_by - s_.plan.max_versions;
  if (e.oldest < oldest_allowed || e.oldest > s_.version) return;
  it->second.indices.erase(e.index);
  group.oldest = group.oldest == kNoPolicyVersion ? e.oldest : std::min(group.oldest, e.oldest);
  group.samples[e.index].status = SampleStatus::kGenerated;
  if (auto worker = s_.rollout.find(it->second.worker); worker != s_.rollout.end()) {
    worker->second.backoff = absl::ZeroDuration();
  }
  SampleChanged(key);
}

void SchedulerStep::On(const GenerateEnded& e) {
  auto it = s_.attempts.find(e.attempt);
  if (it == s_.attempts.end()) return;
  auto worker = s_.rollout.find(it->second.worker);
  if (worker != s_.rollout.end() && IsTransport(e.status)) {
    // It cannot work now. Without the job's policy it has to load it again.
    Backoff(now_, worker->second.not_before, worker->second.backoff);
    if (absl::IsFailedPrecondition(e.status)) worker->second.version = kNoPolicyVersion;
  }
  EndAttempt(e.attempt, absl::IsUnavailable(e.status) ? TryFailure::kLost
                        : IsTransport(e.status)       ? TryFailure::kBusy
                                                      : TryFailure::kError);
}

void SchedulerStep::EndAttempt(uint64_t id, TryFailure failure) {
  auto it = s_.attempts.find(id);
  if (it == s_.attempts.end()) return;
  const AttemptState attempt = it->second;
  s_.attempts.erase(it);
  auto worker = s_.rollout.find(attempt.worker);
  if (worker != s_.rollout.end() && worker->second.in_flight > 0) --worker->second.in_flight;
  GroupState& group = s_.groups.at(attempt.group);
  for (uint32_t index : attempt.indices) {
    SampleSlot& slot = group.samples[index];
    slot.failures += failure == TryFailure::kError;
    slot.losses += failure == TryFailure::kLost;
    RetryOrQuarantine({attempt.group, index}, slot);
  }
  SampleChanged(attempt.group);
}

void SchedulerStep::RetryOrQuarantine(const SampleRef& ref, SampleSlot& slot) {
  if (slot.failures < s_.plan.max_attempts && slot.losses < s_.plan.max_attempts * kLossesPerAttempt) {
    slot.status = SampleStatus::kPending;
    return;
  }
  slot.status = SampleStatus::kGone;
  s_.groups.at(ref.group).lost = "could not be generated";
  if (!ref.group.evaluation) Do(SettleSample{ref, LedgerColumn::kQuarantined, "could not be generated"});
}

void SchedulerStep::RequeueScores(uint64_t id, bool blame_checker) {
  auto it = s_.score_calls.find(id);
  if (it == s_.score_calls.end()) return;
  const ScoreCallState call = it->second;
  s_.score_calls.erase(it);
  auto worker = s_.reward.find(call.worker);
  if (worker != s_.reward.end() && worker->second.in_flight > 0) --worker->second.in_flight;
  for (const SampleRef& ref : call.items) {
    auto group = s_.groups.find(ref.group);
    if (group == s_.groups.end()) continue;
    SampleSlot& slot = group->second.samples[ref.index];
    if (slot.status != SampleStatus::kScoring) continue;
    if (blame_checker && ++slot.judge_failures >= s_.plan.max_attempts) {
      slot.status = SampleStatus::kGone;
      group->second.lost = "could not be judged";
      if (!ref.group.evaluation) Do(SettleSample{ref, LedgerColumn::kQuarantined, "could not be judged"});
      SampleChanged(ref.group);
    } else {
      slot.status = SampleStatus::kGenerated;
      s_.to_score.push_back(ref);
    }
  }
}

void SchedulerStep::On(const ScoreEnded& e) {
  auto it = s_.score_calls.find(e.call);
  if (it == s_.score_calls.end()) return;
  auto worker = s_.reward.find(it->second.worker);
  if (absl::IsInvalidArgument(e.status) || absl::IsFailedPrecondition(e.status)) {
    return End(JobEnd::kFailed, absl::StrCat("the reward service refuses the job: ", e.status.message()));
  }
  if (!e.status.ok() || e.verdicts.size() != it->second.items.size()) {
    if (worker != s_.reward.end()) Backoff(now_, worker->second.not_before, worker->second.backoff);
    return RequeueScores(e.call, !absl::IsUnavailable(e.status));
  }
  const ScoreCallState call = it->second;
  s_.score_calls.erase(it);
  if (worker != s_.reward.end()) {
    if (worker->second.in_flight > 0) --worker->second.in_flight;
    worker->second.backoff = absl::ZeroDuration();
  }
  for (size_t i = 0; i < call.items.size(); ++i) {
    const SampleRef& ref = call.items[i];
    auto group = s_.groups.find(ref.group);
    if (group == s_.groups.end()) continue;  // dropped meanwhile
    SampleSlot& slot = group->second.samples[ref.index];
    if (slot.status != SampleStatus::kScoring) continue;
    const Judged& judged = e.verdicts[i];
    if (judged.judgement == Judgement::kReward) {
      slot.status = SampleStatus::kScored;
      slot.reward = judged.reward;
    } else if (judged.judgement == Judgement::kUndecided) {
      slot.status = SampleStatus::kGone;
      group->second.lost = WithDetail("the checker cannot decide", judged.detail);
      if (!ref.group.evaluation) Do(SettleSample{ref, LedgerColumn::kDroppedFailed, group->second.lost});
    } else if (++slot.judge_failures < s_.plan.max_attempts) {
      slot.status = SampleStatus::kGenerated;
      s_.to_score.push_back(ref);
    } else {
      slot.status = SampleStatus::kGone;
      group->second.lost = WithDetail("the checker failed", judged.detail);
      if (!ref.group.evaluation) Do(SettleSample{ref, LedgerColumn::kQuarantined, group->second.lost});
    }
  }
  for (const auto& [ref, reward] : e.compared) {
    auto group = s_.groups.find(ref.group);
    if (group != s_.groups.end()) group->second.samples[ref.index].reward = reward;
  }
  // After all items, so that a group that is finished by one of them is finished once.
  for (const SampleRef& ref : call.items) SampleChanged(ref.group);
}

// Queues the group for judging when all its completions are there, finishes it when all are judged.
void SchedulerStep::SampleChanged(const GroupKey& key) {
  auto it = s_.groups.find(key);
  if (it == s_.groups.end() || it->second.ready) return;
  GroupState& group = it->second;
  bool generated = true, finished = true;
  for (const SampleSlot& slot : group.samples) {
    generated =
        generated && slot.status != SampleStatus::kPending && slot.status != SampleStatus::kGenerating;
    finished = finished && (slot.status == SampleStatus::kScored || slot.status == SampleStatus::kGone);
  }
  if (finished) return FinishGroup(key, group);
  if (!generated) return;
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    const SampleRef ref{key, i};
    if (group.samples[i].status != SampleStatus::kGenerated) continue;
    if (std::find(s_.to_score.begin(), s_.to_score.end(), ref) == s_.to_score.end())
      s_.to_score.push_back(ref);
  }
}

void SchedulerStep::FinishGroup(const GroupKey& key, GroupState& group) {
  // An attempt may go on only to say that it ended.
  std::vector<uint64_t> over;
  for (const auto& [id, attempt] : s_.attempts) {
    if (attempt.group == key) over.push_back(id);
  }
  for (uint64_t id : over) {
    auto worker = s_.rollout.find(s_.attempts.at(id).worker);
    if (worker != s_.rollout.end() && worker->second.in_flight > 0) --worker->second.in_flight;
    s_.attempts.erase(id);
  }
  if (key.evaluation) {
    Do(GroupComplete{key});
    s_.groups.erase(key);
    if (s_.evaluation) ++s_.evaluation->done;
    return;
  }
  std::vector<double> rewards;
  for (const SampleSlot& slot : group.samples) {
    if (slot.status == SampleStatus::kScored) rewards.push_back(slot.reward);
  }
  if (rewards.size() < 2)
    return Drop(key, LedgerColumn::kDroppedFailed,
                WithDetail("fewer than two samples have a reward", group.lost));
  const auto [low, high] = std::minmax_element(rewards.begin(), rewards.end());
  if (s_.plan.filter_ties && *low == *high)
    return Drop(key, LedgerColumn::kDroppedFiltered, "all rewards tie");
  group.ready = true;
  s_.drops_in_a_row = 0;
  Do(GroupComplete{key});
}

void SchedulerStep::Drop(const GroupKey& key, LedgerColumn column, const std::string& reason) {
  std::vector<uint64_t> attempts;
  for (const auto& [id, attempt] : s_.attempts) {
    if (attempt.group == key) attempts.push_back(id);
  }
  for (uint64_t id : attempts) {
    Do(CancelGenerate{id});
    auto worker = s_.rollout.find(s_.attempts.at(id).worker);
    if (worker != s_.rollout.end() && worker->second.in_flight > 0) --worker->second.in_flight;
    s_.attempts.erase(id);
  }
  std::erase_if(s_.to_score, [&](const SampleRef& ref) { return ref.group == key; });
  s_.groups.erase(key);
  Do(DropGroup{key.draw, column, reason});
  CountDrop(column, reason);
}

void SchedulerStep::CountDrop(LedgerColumn column, const std::string& reason) {
  if (column != LedgerColumn::kDroppedFailed && column != LedgerColumn::kDroppedFiltered) return;
  ++s_.drops_in_a_row;
  ++s_.drops_since_step;
  s_.last_drop = reason;
  if (ended() || s_.paused || s_.drops_in_a_row < DropsToPause(s_.plan)) return;
  s_.paused = true;
  s_.error = absl::StrCat("paused: the last ", s_.drops_in_a_row,
                          " groups had no reward to learn from; last reason: ", reason,
                          "; look at the reward and the prompts, `sluice resume` goes on");
  Do(SaveState{});
  Do(Note{s_.error});
}

// Calls are given a little longer than their deadline to say so themselves.
void SchedulerStep::ExpireCalls() {
  const absl::Duration grace = absl::Seconds(2);
  std::vector<uint64_t> attempts, calls;
  for (const auto& [id, attempt] : s_.attempts) {
    if (now_ > attempt.deadline + grace) attempts.push_back(id);
  }
  for (const auto& [id, call] : s_.score_calls) {
    if (now_ > call.deadline + grace) calls.push_back(id);
  }
  for (uint64_t id : attempts) {
    if (s_.attempts.count(id) == 0) continue;
    Do(CancelGenerate{id});
    EndAttempt(id, TryFailure::kError);
  }
  for (uint64_t id : calls) RequeueScores(id, true);
}

int64_t SchedulerStep::Outstanding() const {
  return std::count_if(s_.groups.begin(), s_.groups.end(), [](const auto& g) { return !g.first.evaluation; });
}

std::string SchedulerStep::PickRollout(PolicyVersion min_version, PolicyVersion max_version) const {
  if (static_cast<int64_t>(s_.attempts.size()) >= s_.plan.groups_in_flight) return "";
  const std::pair<const std::string, WorkerState>* best = nullptr;
  for (const auto& entry : s_.rollout) {
    const WorkerState& worker = entry.second;
    if (!worker.alive || worker.version == kNoPolicyVersion || now_ < worker.not_before) continue;
    if (worker.version < min_version || worker.version > max_version) continue;
    if (worker.in_flight >= s_.plan.groups_per_worker) continue;
    if (best == nullptr || worker.in_flight < best->second.in_flight) best = &entry;
  }
  return best == nullptr ? "" : best->first;
}

bool SchedulerStep::StartAttempt(const GroupKey& key, PolicyVersion min_version, PolicyVersion max_version) {
  const std::string name = PickRollout(min_version, max_version);
  if (name.empty()) return false;
  GroupState& group = s_.groups.at(key);
  StartGenerate start;
  start.attempt = s_.next_id++;
  start.worker = name;
  start.group = key;
  start.number = group.attempts++;
  start.deadline = now_ + s_.plan.generate_timeout;
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    if (group.samples[i].status != SampleStatus::kPending) continue;
    group.samples[i].status = SampleStatus::kGenerating;
    start.indices.push_back(i);
  }
  ++s_.rollout.at(name).in_flight;
  s_.attempts[start.attempt] =
      AttemptState{.group = key,
                   .indices = std::set<uint32_t>(start.indices.begin(), start.indices.end()),
                   .worker = name,
                   .deadline = start.deadline};
  Do(std::move(start));
  return true;
}

void SchedulerStep::Dispatch() {
  if (!s_.paused && s_.version >= 0) {
    DispatchPending();
    DispatchNewGroups();
  }
  DispatchScores();
}

// Samples that were issued and have no attempt: those that matter soonest first.
void SchedulerStep::DispatchPending() {
  std::vector<std::pair<PolicyVersion, GroupKey>> pending;
  for (const auto& [key, group] : s_.groups) {
    const bool waits = std::any_of(group.samples.begin(), group.samples.end(), [](const SampleSlot& slot) {
      return slot.status == SampleStatus::kPending;
    });
    if (waits) pending.emplace_back(group.train_by, key);
  }
  std::sort(pending.begin(), pending.end());
  for (const auto& [train_by, key] : pending) {
    if (key.evaluation) {
      StartAttempt(key, s_.evaluation->version, s_.evaluation->version);
    } else {
      StartAttempt(key, train_by - s_.plan.max_versions, s_.version);
    }
  }
}

void SchedulerStep::DispatchNewGroups() {
  if (s_.evaluation) {
    while (s_.evaluation->started < s_.plan.evaluation_prompts) {
      if (PickRollout(s_.evaluation->version, s_.evaluation->version).empty()) return;
      const GroupKey key{true, static_cast<Draw>(s_.evaluation->started++)};
      s_.groups[key].samples.resize(static_cast<size_t>(s_.plan.evaluation_samples));
      StartAttempt(key, s_.evaluation->version, s_.evaluation->version);
    }
    return;
  }
  if (evaluation_due()) return;
  while (true) {
    const int64_t outstanding = Outstanding();
    if (outstanding >= s_.plan.groups_per_step * (s_.plan.stop_steps - s_.version)) return;
    // The oldest version at which a new group still finds a place in a batch in time:
    // outstanding < groups_per_step * (w + max_versions - v + 1).
    const PolicyVersion oldest = outstanding / s_.plan.groups_per_step + s_.version - s_.plan.max_versions;
    if (oldest > s_.version) return;
    const std::string name = PickRollout(oldest, s_.version);
    if (name.empty()) return;
    const GroupKey key{false, s_.next_draw++};
    GroupState& group = s_.groups[key];
    group.samples.resize(static_cast<size_t>(s_.plan.group_size));
    group.train_by = s_.rollout.at(name).version + s_.plan.max_versions;
    Do(IssueGroup{key.draw, group.train_by, s_.plan.group_size});
    StartAttempt(key, oldest, s_.version);
  }
}

void SchedulerStep::DispatchScores() {
  while (!s_.to_score.empty()) {
    std::pair<const std::string, WorkerState>* best = nullptr;
    for (auto& entry : s_.reward) {
      const WorkerState& worker = entry.second;
      if (!worker.alive || now_ < worker.not_before || worker.in_flight >= s_.plan.score_calls_per_worker)
        continue;
      if (best == nullptr || worker.in_flight < best->second.in_flight) best = &entry;
    }
    if (best == nullptr) return;
    StartScore start;
    while (!s_.to_score.empty() && static_cast<int32_t>(start.items.size()) < s_.plan.items_per_score_call) {
      const SampleRef ref = s_.to_score.front();
      s_.to_score.pop_front();
      s_.groups.at(ref.group).samples[ref.index].status = SampleStatus::kScoring;
      start.items.push_back(ref);
    }
    start.call = s_.next_id++;
    start.worker = best->first;
    start.deadline = now_ + s_.plan.score_timeout;
    ++best->second.in_flight;
    s_.score_calls[start.call] = ScoreCallState{start.items, best->first, start.deadline};
    Do(std::move(start));
  }
}

// Every worker is brought to the last version, once the learner can give it out.
void SchedulerStep::LoadPolicies() {
  if (s_.version < 0 || !s_.learner.open || s_.learner.version < s_.version) return;
  for (auto& [name, worker] : s_.rollout) {
    if (!worker.alive || worker.loading != kNoPolicyVersion || worker.version >= s_.version) continue;
    if (now_ < worker.not_before) continue;
    worker.loading = s_.version;
    Do(StartLoad{name, worker.epoch, s_.policy, now_ + s_.plan.load_timeout});
  }
}

}  // namespace sluice
