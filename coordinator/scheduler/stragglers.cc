// Attempts and groups that take long: hedges, the time limit of groups, over-sampling.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {

// A second attempt at what the attempts that began too long ago still miss, on another worker, where one is
// free. Who is first with a sample counts.
void SchedulerStep::DispatchHedges() {
  for (auto it = s_.attempts.begin(); it != s_.attempts.end(); ++it) {
    const AttemptState& attempt = it->second;
    if (now_ < attempt.started + s_.plan.hedge_after || PickRollout({0, s_.version}) == nullptr) return;
    GroupState& group = s_.groups.at(attempt.group);
    if (group.running.size() > 1 || attempt.indices.empty()) continue;
    const std::string* other = PickFor(attempt.group, attempt.worker);
    if (other == nullptr) continue;
    StartAttempt(attempt.group, group, *other, attempt.indices);
    Do(Tally{Straggling::kHedgeStarted});
  }
}

bool SchedulerStep::ComesFromAnother(const GroupState& group, uint32_t index) const {
  return std::any_of(group.running.begin(), group.running.end(),
                     [&](uint64_t id) { return s_.attempts.at(id).indices.count(index) > 0; });
}

// `first` brought the sample: no other attempt has to. One with nothing left to bring ends.
void SchedulerStep::TakeFromOthers(const GroupKey& key, GroupState& group, uint64_t first, uint32_t index) {
  for (uint64_t id : std::vector<uint64_t>(group.running)) {
    AttemptState& other = s_.attempts.at(id);
    if (id == first || other.indices.erase(index) == 0 || !other.indices.empty()) continue;
    Do(Tally{other.hedge ? Straggling::kHedgeLost : Straggling::kHedgeWon});
    Do(CancelGenerate{id});
    RemoveAttempt(id, AttemptOutcome::kHedgeLost);
  }
}

// Of the groups that are open now: the time that nobody worked on them is not theirs.
void SchedulerStep::StartGroupClocks() {
  if (s_.plan.group_timeout == absl::InfiniteDuration()) return;
  for (auto& [key, group] : s_.groups) {
    if (key.evaluation || group.ready) continue;
    group.deadline = now_ + s_.plan.group_timeout;
    Place(key, group);
  }
}

void SchedulerStep::ExpireGroups() {
  const auto& deadlines = s_.index.groups.deadlines();
  while (!s_.paused && !deadlines.empty() && deadlines.begin()->first <= now_) {
    const GroupKey key{false, deadlines.begin()->second};
    GroupState& group = s_.groups.at(key);
    group.deadline = absl::InfiniteFuture();
    Place(key, group);
    Do(Tally{Straggling::kGroupLate});
    GoOnWithout(key, group);
  }
}

// Completions that are there are still judged.
void SchedulerStep::GoOnWithout(const GroupKey& key, GroupState& group) {
  CancelAttempts(group);
  const std::string reason = absl::StrCat("not sampled within timeout.group_seconds (",
                                          absl::FormatDuration(s_.plan.group_timeout), ")");
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    const SampleStatus status = group.samples[i].status;
    if (status == SampleStatus::kPending || status == SampleStatus::kGenerating)
      Lose({key, i}, LedgerColumn::kDroppedFailed, reason);
  }
  SampleChanged(key);
}

// The groups that no later batch may train on.
void SchedulerStep::CancelOverSampled() {
  if (s_.plan.extra_groups == 0) return;
  const std::set<Draw> batch(s_.batch.begin(), s_.batch.end());
  std::vector<GroupKey> left;
  for (const auto& [key, group] : s_.groups) {
    if (!key.evaluation && group.train_by <= s_.version && batch.count(key.draw) == 0) left.push_back(key);
  }
  for (const GroupKey& key : left) {
    Do(Tally{Straggling::kGroupOverSampled});
    Drop(key, LedgerColumn::kCancelled, "over-sampled: the batch was full without it");
  }
}

}  // namespace sluice
