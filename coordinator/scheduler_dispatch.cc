// Who samples what at which version, and who judges it.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler_step.h"

namespace sluice {

PolicyVersion BatchOf(const SchedulerState& s, Draw draw) {
  if (s.plan.replay) return s.plan.replay->Of(draw).batch;
  if (draw < s.fork.first_draw) return s.fork.version - 1;
  return s.fork.version + static_cast<PolicyVersion>(draw - s.fork.first_draw) / s.plan.groups_per_step;
}

PolicyVersion SampledAt(const SchedulerState& s, Draw draw) {
  if (s.plan.replay) return s.plan.replay->Of(draw).sampled_at;
  return std::max(s.fork.version, BatchOf(s, draw) - s.plan.max_versions);
}

Draw FirstDrawOf(const SchedulerState& s, PolicyVersion version) {
  const PolicyVersion since = std::max<PolicyVersion>(0, version - s.fork.version);
  return s.fork.first_draw + static_cast<Draw>(since * s.plan.groups_per_step);
}

std::optional<Draw> DrawAt(const SchedulerState& s, uint64_t place) {
  if (s.plan.replay)
    return place < s.plan.replay->size() ? std::optional(s.plan.replay->At(place).draw) : std::nullopt;
  const bool known = place < s.fork.first_draw || BatchOf(s, place) < s.plan.stop_steps;
  return known ? std::optional(place) : std::nullopt;
}

void AddManifest(SchedulerState& state, PolicyVersion version, const std::string& hash) {
  state.manifests[version] = hash;
  const PolicyVersion newest = state.manifests.rbegin()->first;
  while (state.manifests.begin()->first < newest - state.plan.max_versions - 1)
    state.manifests.erase(state.manifests.begin());
}

VersionRange AllowedVersions(const SchedulerState& s, const GroupKey& key) {
  if (key.evaluation) return {s.evaluation->version, s.evaluation->version};
  if (s.plan.deterministic) return {SampledAt(s, key.draw), SampledAt(s, key.draw)};
  return {s.groups.at(key).train_by - s.plan.max_versions, s.version};
}

int64_t SchedulerStep::Outstanding() const {
  return std::count_if(s_.groups.begin(), s_.groups.end(), [](const auto& g) { return !g.first.evaluation; });
}

std::string SchedulerStep::PickRollout(const VersionRange& versions) const {
  int32_t called = 0;  // attempts that take a thread each
  for (const auto& [name, worker] : s_.rollout) called += worker.slots == 0 ? worker.in_flight : 0;
  const bool may_call = called < s_.plan.groups_in_flight;
  const std::pair<const std::string, WorkerState>* best = nullptr;
  for (const auto& entry : s_.rollout) {
    const WorkerState& worker = entry.second;
    if (!worker.alive || worker.version == kNoPolicyVersion || now_ < worker.not_before) continue;
    if (worker.version < versions.min || worker.version > versions.max) continue;
    if (worker.slots == 0 && !may_call) continue;
    if (worker.in_flight >= (worker.slots > 0 ? worker.slots : s_.plan.groups_per_worker)) continue;
    if (best == nullptr || worker.in_flight < best->second.in_flight) best = &entry;
  }
  return best == nullptr ? "" : best->first;
}

bool SchedulerStep::StartAttempt(const GroupKey& key, const VersionRange& versions) {
  if (s_.plan.replay && !BeginReplayed(key)) return true;
  const std::string name = PickRollout(versions);
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
  if (!s_.paused && !s_.rollback && s_.version >= 0) {
    DispatchPending();
    if (s_.admit) DispatchNew();
  }
  DispatchScores();
}

void SchedulerStep::DispatchNew() {
  if (s_.plan.deterministic) DispatchFixedDraws();
  if (s_.evaluation) {
    DispatchEvaluation();
  } else if (!s_.plan.deterministic && !evaluation_due()) {
    DispatchNewGroups();
  }
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
  for (const auto& [train_by, key] : pending) StartAttempt(key, AllowedVersions(s_, key));
}

void SchedulerStep::DispatchEvaluation() {
  const VersionRange versions = {s_.evaluation->version, s_.evaluation->version};
  while (s_.evaluation->started < s_.plan.evaluation_prompts) {
    if (PickRollout(versions).empty()) return;
    const GroupKey key{true, static_cast<Draw>(s_.evaluation->started++)};
    s_.groups[key].samples.resize(static_cast<size_t>(s_.plan.evaluation_samples));
    StartAttempt(key, versions);
  }
}

void SchedulerStep::Issue(PolicyVersion train_by, const VersionRange& versions) {
  const uint64_t place = s_.next_draw++;
  const GroupKey key{false, s_.plan.replay ? s_.plan.replay->At(place).draw : place};
  const int64_t samples = s_.plan.replay ? s_.plan.replay->At(place).samples : s_.plan.group_size;
  GroupState& group = s_.groups[key];
  group.samples.resize(static_cast<size_t>(samples));
  group.train_by = train_by;
  Do(IssueGroup{key.draw, train_by, samples});
  StartAttempt(key, versions);
}

void SchedulerStep::DispatchNewGroups() {
  while (true) {
    const int64_t outstanding = Outstanding();
    if (outstanding >= s_.plan.groups_per_step * (s_.plan.stop_steps - s_.version)) return;
    // The oldest version at which a new group still finds a place in a batch in time:
    // outstanding < groups_per_step * (w + max_versions - v + 1).
    const PolicyVersion oldest =
        std::max(s_.fork.version, outstanding / s_.plan.groups_per_step + s_.version - s_.plan.max_versions);
    if (oldest > s_.version) return;
    const std::string name = PickRollout({oldest, s_.version});
    if (name.empty() || !PassOverBarred()) return;
    Issue(s_.rollout.at(name).version + s_.plan.max_versions, {oldest, s_.version});
  }
}

// Of a deterministic job. While an evaluation is due or runs, only draws of older versions.
void SchedulerStep::DispatchFixedDraws() {
  const PolicyVersion newest = evaluating() ? s_.version - 1 : s_.version;
  while (const std::optional<Draw> draw = DrawAt(s_, s_.next_draw)) {
    const PolicyVersion version = SampledAt(s_, *draw);
    const bool taken = s_.plan.replay && s_.plan.replay->Of(*draw).taken;
    if (version > newest || (!taken && PickRollout({version, version}).empty())) return;
    Issue(BatchOf(s_, *draw), {version, version});
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

void SchedulerStep::FindCompleteBelow() {
  for (; s_.complete_below < s_.next_draw; ++s_.complete_below) {
    const auto group = s_.groups.find(GroupKey{false, *DrawAt(s_, s_.complete_below)});
    if (group != s_.groups.end() && !group->second.ready) return;
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

// Who can give `wanted` to one more, those with the fewest receivers first: workers that serve it, then the
// learner ("").
std::deque<std::string> SchedulerStep::FreeSources(PolicyVersion wanted) const {
  std::map<std::string, int> receivers;
  for (const auto& [name, worker] : s_.rollout) {
    if (worker.loading != kNoPolicyVersion) ++receivers[worker.source];
  }
  std::deque<std::string> free;
  for (int already = 0; already < kReceiversPerSource; ++already) {
    for (const auto& [name, worker] : s_.rollout) {
      if (worker.alive && worker.gives && worker.version == wanted && receivers[name] <= already) {
        free.push_back(name);
      }
    }
  }
  for (int i = receivers[""]; i < kReceiversPerSource; ++i) free.push_back("");
  return free;
}

// Once the learner can give it out.
void SchedulerStep::LoadPolicies() {
  if (s_.version < 0) return;
  const PolicyVersion wanted = WantedVersion();
  if (wanted == kNoPolicyVersion || !s_.learner.open || s_.learner.version < wanted) return;
  std::optional<std::deque<std::string>> sources;  // looked for when there is somebody to give to
  for (auto& [name, worker] : s_.rollout) {
    if (!worker.alive || worker.loading != kNoPolicyVersion || worker.version >= wanted) continue;
    if (now_ < worker.not_before) continue;
    if (!sources) sources = FreeSources(wanted);
    if (sources->empty()) return;
    const auto source = worker.only_learner ? sources->end() - 1 : sources->begin();
    if (worker.only_learner && !source->empty()) continue;
    worker.loading = wanted;
    worker.source = *source;
    worker.load_deadline = now_ + s_.plan.load_timeout;
    Do(StartLoad{name, worker.epoch, RefOf(wanted), worker.load_deadline, *source});
    sources->erase(source);
  }
}

}  // namespace sluice
