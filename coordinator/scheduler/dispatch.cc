// Who samples what at which version, and who judges it.
#include <algorithm>
#include <limits>
#include <utility>

#include "coordinator/scheduler/step.h"

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

void SchedulerStep::Dispatch() {
  if (!s_.paused && !s_.rollback && s_.version >= 0) {
    DispatchPending();
    DispatchHedges();
    if (s_.admit && s_.reward_away.why.empty()) DispatchNew();
  }
  DispatchScores();
}

void SchedulerStep::DispatchNew() {
  if (s_.plan.deterministic) DispatchFixedDraws();
  if (s_.evaluation) DispatchEvaluation();
  const bool measured = evaluation_due() || (s_.evaluation && !s_.evaluation->canary);
  if (!s_.plan.deterministic && !measured) DispatchNewGroups();
}

// Samples that were issued and have no attempt: those that matter soonest first.
void SchedulerStep::DispatchPending() {
  const auto& pending = s_.index.groups.pending();
  for (auto it = pending.begin(); it != pending.end();) {
    const auto entry = *it;
    const auto& [train_by, key] = entry;
    const bool started = StartAttempt(key);
    // Without a worker for this one there is none for those that may have the same versions.
    const GroupKey last{key.evaluation, std::numeric_limits<Draw>::max()};
    it = pending.upper_bound(started || s_.plan.replay ? entry : std::pair(train_by, last));
  }
}

// The row of the evaluation's prompt number `started`, and its samples. Rows of those that are not due are
// passed over.
std::pair<int64_t, int64_t> SchedulerStep::NextHeldOut() const {
  int64_t number = s_.evaluation->started, row = s_.plan.evaluation_prompts;
  if (s_.evaluation->canary || number < row) return {number, s_.plan.evaluation_samples};
  number -= row;
  for (const HeldOutPlan& more : s_.plan.more_evaluations) {
    if (IsDue(s_.plan, more, s_.evaluation->version)) {
      if (number < more.prompts) return {row + number, more.samples};
      number -= more.prompts;
    }
    row += more.prompts;
  }
  return {row, 1};  // behind all: not reached while started < prompts
}

void SchedulerStep::DispatchEvaluation() {
  while (s_.evaluation->started < s_.evaluation->prompts) {
    const auto [row, samples] = NextHeldOut();
    const GroupKey key{true, static_cast<Draw>(row)};
    if (PickFor(key) == nullptr) return;
    ++s_.evaluation->started;
    GroupState& group = s_.groups[key];
    group.samples.resize(static_cast<size_t>(samples));
    Place(key, group);
    StartAttempt(key);
  }
}

void SchedulerStep::Issue(PolicyVersion train_by) {
  const uint64_t place = s_.next_draw++;
  const GroupKey key{false, s_.plan.replay ? s_.plan.replay->At(place).draw : place};
  const int64_t samples = s_.plan.replay ? s_.plan.replay->At(place).samples : s_.plan.group_size;
  GroupState& group = s_.groups[key];
  group.samples.resize(static_cast<size_t>(samples));
  group.train_by = train_by;
  group.deadline = now_ + s_.plan.group_timeout;
  Place(key, group);
  Do(IssueGroup{key.draw, train_by, samples});
  StartAttempt(key);
}

void SchedulerStep::DispatchNewGroups() {
  while (true) {
    const int64_t outstanding = s_.index.groups.outstanding();
    const int64_t placed = std::max<int64_t>(0, outstanding - s_.plan.extra_groups);
    if (placed >= s_.plan.groups_per_step * (s_.plan.stop_steps - s_.version)) return;
    // The oldest version at which a new group still finds a place in a batch in time:
    // placed < groups_per_step * (w + max_versions - v + 1). The batch that is closed has none.
    const int64_t batches = std::max<int64_t>(placed / s_.plan.groups_per_step, s_.batch.empty() ? 0 : 1);
    const PolicyVersion oldest = std::max(s_.fork.version, batches + s_.version - s_.plan.max_versions);
    const PolicyVersion newest = TrustedVersion(s_);
    if (oldest > newest) return;
    const std::string* name = PickRollout({oldest, newest});
    if (name == nullptr || !PassOverBarred()) return;
    Issue(s_.rollout.at(*name).version + s_.plan.max_versions);
  }
}

// Of a deterministic job. While an evaluation is due or runs, only draws of older versions.
void SchedulerStep::DispatchFixedDraws() {
  const PolicyVersion newest = evaluating() ? s_.version - 1 : s_.version;
  while (const std::optional<Draw> draw = DrawAt(s_, s_.next_draw)) {
    const PolicyVersion version = SampledAt(s_, *draw);
    const bool taken = s_.plan.replay && s_.plan.replay->Of(*draw).taken;
    if (version > newest || (!taken && PickRollout({version, version}) == nullptr)) return;
    Issue(BatchOf(s_, *draw));
  }
}

void SchedulerStep::DispatchScores() {
  while (!s_.to_score.empty()) {
    const std::string* picked = s_.index.reward.LeastLoaded(kNoPolicyVersion, kNoPolicyVersion, true);
    if (picked == nullptr) return;
    StartScore start;
    start.items = TakeToScore();
    if (start.items.empty()) return;
    start.call = s_.next_id++;
    start.worker = *picked;
    start.deadline = now_ + s_.plan.score_timeout;
    BeginCall(s_.reward, start.worker, start.call);
    s_.score_calls[start.call] = ScoreCallState{start.items, start.worker, start.deadline};
    Do(std::move(start));
  }
}

std::vector<SampleRef> SchedulerStep::TakeToScore() {
  std::vector<SampleRef> items;
  while (!s_.to_score.empty() && static_cast<int32_t>(items.size()) < s_.plan.items_per_score_call) {
    const SampleRef ref = s_.to_score.front();
    s_.to_score.pop_front();
    const auto group = s_.groups.find(ref.group);
    if (group == s_.groups.end()) continue;
    SampleSlot& slot = group->second.samples[ref.index];
    if (!std::exchange(slot.queued, false) || slot.status != SampleStatus::kGenerated) continue;
    slot.status = SampleStatus::kScoring;
    items.push_back(ref);
  }
  return items;
}

void SchedulerStep::FindCompleteBelow() {
  for (; s_.complete_below < s_.next_draw; ++s_.complete_below) {
    const auto group = s_.groups.find(GroupKey{false, *DrawAt(s_, s_.complete_below)});
    if (group != s_.groups.end() && !group->second.ready) return;
  }
}

}  // namespace sluice
