// A replay: a deterministic job whose draws, batches and versions are those of a recorded one.
#include <algorithm>
#include <utility>

#include "coordinator/scheduler/step.h"

namespace sluice {

void FollowRecord(JobPlan& plan, std::shared_ptr<const ReplaySchedule> record) {
  plan.deterministic = true;
  plan.drop_on_deadline = plan.filter_ties = false;
  plan.evaluation_every = plan.evaluation_prompts = 0;
  plan.more_evaluations.clear();
  plan.guard = {};
  plan.gate = {};
  plan.canary = {};
  plan.hedge_after = plan.group_timeout = absl::InfiniteDuration();
  plan.extra_groups = 0;
  plan.stop_steps = record->steps();
  plan.replay = std::move(record);
}

// Leaves out what was lost, and asks for a group that was not sampled in one go. Whether something is left
// to sample.
bool SchedulerStep::BeginReplayed(const GroupKey& key) {
  const RecordedGroup& recorded = s_.plan.replay->Of(key.draw);
  GroupState& group = s_.groups.at(key);
  TakeRecorded take{key.draw, {}};
  bool pending = false;
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    SampleSlot& slot = group.samples[i];
    if (slot.status != SampleStatus::kPending) continue;
    if (const auto lost = recorded.lost.find(i); lost != recorded.lost.end()) {
      Lose({key, i}, lost->second.column, lost->second.reason);
    } else if (recorded.taken) {
      slot.status = SampleStatus::kGenerating;
      take.indices.push_back(i);
    } else {
      pending = true;
    }
  }
  if (!take.indices.empty()) Do(std::move(take));
  if (!pending) SampleChanged(key);
  return pending;
}

void SchedulerStep::On(const RecordedTaken& e) {
  const GroupKey key{false, e.draw};
  const auto group = s_.groups.find(key);
  if (group == s_.groups.end() || !s_.plan.replay || !s_.plan.replay->Of(e.draw).taken) return;
  for (uint32_t index : e.indices) {
    SampleSlot& slot = group->second.samples[index];
    if (slot.status == SampleStatus::kGenerating) slot.status = SampleStatus::kGenerated;
  }
  SampleChanged(key);
}

void SchedulerStep::CloseReplayedBatch() {
  const std::vector<Draw>& draws = s_.plan.replay->Batch(s_.version);
  const bool ready = std::all_of(draws.begin(), draws.end(), [this](Draw draw) {
    const auto group = s_.groups.find(GroupKey{false, draw});
    return group != s_.groups.end() && group->second.ready;
  });
  if (!ready) return;
  s_.batch = draws;
  Do(RecordBatch{s_.version + 1, s_.batch});
}

}  // namespace sluice
