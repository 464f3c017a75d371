#include "coordinator/jobs/progress_table.h"

#include <utility>

#include "core/rl/trajectory_parts.h"

namespace sluice {
// About what it takes in memory.
int64_t BytesOf(const Trajectory& t) {
  size_t bytes = sizeof(Trajectory) + t.text.size() + t.worker.size();
  bytes += t.tokens.size() * (sizeof(int32_t) + 2 * sizeof(float));
  bytes += t.alternatives.size() * sizeof(TokenAlternative) + t.experts.ids.size() * sizeof(uint16_t);
  for (const VersionSpan& span : t.spans)
    bytes += sizeof(VersionSpan) + span.manifest_hash.size() + span.kernel_path.size();
  return static_cast<int64_t>(bytes);
}

void ProgressTable::Keep(const SampleRef& sample, Trajectory report) {
  const auto it = reports_.find(sample);
  const bool whole = FirstToken(report) == 0;
  if (it == reports_.end() && !whole) return;
  if (it != reports_.end() && it->second.tokens.size() >= EndToken(report)) return;
  const int64_t before = it == reports_.end() ? 0 : BytesOf(it->second);
  if (bytes_ + BytesOf(report) - (whole ? before : 0) > max_bytes_) return;
  if (it == reports_.end()) {
    bytes_ += BytesOf(report);
    reports_.emplace(sample, std::move(report));
  } else {
    if (!Append(std::move(report), it->second).ok()) return;
    bytes_ += BytesOf(it->second) - before;
  }
  const auto saved = saved_.find(sample);
  const bool grown = saved == saved_.end() || reports_.at(sample).tokens.size() * 4 >= saved->second * 5;
  if (!sample.group.evaluation && grown) unsaved_.insert(sample);
}

void ProgressTable::Restore(const SampleRef& sample, Trajectory report) {
  Keep(sample, std::move(report));
  if (unsaved_.erase(sample) > 0) saved_[sample] = reports_.at(sample).tokens.size();
}

const Trajectory* ProgressTable::Find(const SampleRef& sample) const {
  const auto it = reports_.find(sample);
  return it == reports_.end() ? nullptr : &it->second;
}

int64_t ProgressTable::Forget(const SampleRef& sample) {
  const auto it = reports_.find(sample);
  if (it == reports_.end()) return 0;
  const auto tokens = static_cast<int64_t>(it->second.tokens.size());
  bytes_ -= BytesOf(it->second);
  reports_.erase(it);
  unsaved_.erase(sample);
  saved_.erase(sample);
  return tokens;
}

int64_t ProgressTable::ForgetGroup(const GroupKey& group) {
  int64_t tokens = 0;
  for (auto it = reports_.lower_bound({group, 0}); it != reports_.end() && it->first.group == group;)
    tokens += Forget((it++)->first);
  return tokens;
}

std::vector<Trajectory> ProgressTable::TakeUnsaved(int64_t bytes) {
  std::vector<Trajectory> out;
  while (!unsaved_.empty()) {
    auto next = unsaved_.upper_bound(last_taken_);
    if (next == unsaved_.end()) next = unsaved_.begin();
    const Trajectory& report = reports_.at(*next);
    bytes -= BytesOf(report);
    if (!out.empty() && bytes < 0) return out;
    out.push_back(report);
    last_taken_ = *next;
    saved_[last_taken_] = report.tokens.size();
    unsaved_.erase(next);
  }
  return out;
}

}  // namespace sluice
