// Which groups are trained on together, and when.
#include <algorithm>
#include <iterator>
#include <utility>

#include "coordinator/scheduler/step.h"

namespace sluice {

// Of the batch, or, before it closes, of the groups that would be in it now: those that the learner is to be
// given.
std::vector<Draw> SchedulerStep::MissingAtLearner() const {
  std::vector<Draw> missing;
  for (Draw draw : s_.batch) {
    if (s_.learner.added.count(draw) == 0) missing.push_back(draw);
  }
  const auto& ready = s_.index.groups.ready();
  const auto& to_add = s_.index.groups.to_add();
  if (!s_.batch.empty() || to_add.empty()) return missing;
  const auto size = static_cast<size_t>(s_.plan.groups_per_step);
  const auto end = ready.size() > size ? std::next(ready.begin(), static_cast<int64_t>(size)) : ready.end();
  for (const auto& entry : to_add) {
    if (end != ready.end() && entry >= *end) break;
    if (s_.plan.deterministic && entry.first != s_.version) break;  // of the next batch
    missing.push_back(entry.second);
  }
  return missing;
}

// How many of the groups that are not complete, those of the first train_by first, later batches would have
// no place for in time: with the first of those that are ready in this batch, at most groups_per_step x (t -
// version) may be left with train_by <= t, and those of over-sampling.
int64_t SchedulerStep::Overdue() const {
  int64_t overdue = 0, open = 0, ready = 0;
  for (const auto& [train_by, count] : s_.index.groups.by_train_by()) {
    open += count.open;
    ready += count.ready;
    const int64_t places =
        s_.plan.groups_per_step * std::max<int64_t>(0, train_by - s_.version) + s_.plan.extra_groups;
    const int64_t kept = open - overdue + std::max<int64_t>(0, ready - s_.plan.groups_per_step);
    overdue += std::max<int64_t>(0, std::min(kept - places, open - overdue));
  }
  return overdue;
}

// Whether the batch may close without the groups that are overdue. At their deadline they are dropped.
bool SchedulerStep::DropOrWaitForDue() {
  const int64_t overdue = Overdue();
  if (overdue == 0) return true;
  s_.blocked_since = std::min(s_.blocked_since, now_);
  if (!s_.plan.drop_on_deadline ||
      now_ < s_.blocked_since + s_.plan.generate_timeout + s_.plan.score_timeout) {
    return false;
  }
  DropFirstOpen(overdue);
  return true;
}

void SchedulerStep::DropFirstOpen(int64_t count) {
  std::vector<std::pair<PolicyVersion, GroupKey>> open;
  for (const auto& [key, group] : s_.groups) {
    if (!key.evaluation && !group.ready) open.emplace_back(group.train_by, key);
  }
  std::sort(open.begin(), open.end());
  open.resize(static_cast<size_t>(count));
  for (const auto& [train_by, key] : open)
    Drop(key, LedgerColumn::kDroppedStale, "not complete when it had to be trained on");
}

void SchedulerStep::CloseBatch() {
  const auto& ready = s_.index.groups.ready();
  // By construction there are none; a group that is too old is never trained on.
  while (!ready.empty() && ready.begin()->first < s_.version)
    Drop({false, ready.begin()->second}, LedgerColumn::kDroppedStale, "too old");
  if (static_cast<int64_t>(ready.size()) < s_.plan.groups_per_step) {
    s_.blocked_since = absl::InfiniteFuture();
    return;
  }
  if (!DropOrWaitForDue()) return;
  s_.blocked_since = absl::InfiniteFuture();
  for (auto it = ready.begin(); static_cast<int64_t>(s_.batch.size()) < s_.plan.groups_per_step; ++it)
    s_.batch.push_back(it->second);
  CancelOverSampled();
  Do(RecordBatch{s_.version + 1, s_.batch});
}

void SchedulerStep::CloseFixedBatch() {
  if (s_.plan.replay) return CloseReplayedBatch();
  const auto size = static_cast<Draw>(s_.plan.groups_per_step), first = FirstDrawOf(s_, s_.version);
  if (s_.complete_below < first + size) return;
  for (Draw draw = first; draw < first + size; ++draw) s_.batch.push_back(draw);
  Do(RecordBatch{s_.version + 1, s_.batch});
}

}  // namespace sluice
