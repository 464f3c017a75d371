#include "coordinator/jobs/progress_table.h"

#include <utility>

namespace sluice {
namespace {

// About what it takes in memory.
int64_t BytesOf(const Trajectory& t) {
  size_t bytes = sizeof(Trajectory) + t.text.size() + t.worker.size();
  bytes += t.tokens.size() * (sizeof(int32_t) + 2 * sizeof(float));
  bytes += t.alternatives.size() * sizeof(TokenAlternative) + t.experts.ids.size() * sizeof(uint16_t);
  for (const VersionSpan& span : t.spans)
    bytes += sizeof(VersionSpan) + span.manifest_hash.size() + span.kernel_path.size();
  return static_cast<int64_t>(bytes);
}

}  // namespace

void ProgressTable::Keep(const SampleRef& sample, Trajectory report) {
  const Trajectory* before = Find(sample);
  if (before != nullptr && before->tokens.size() >= report.tokens.size()) return;
  const int64_t more = BytesOf(report) - (before == nullptr ? 0 : BytesOf(*before));
  if (bytes_ + more > max_bytes_) return;
  bytes_ += more;
  reports_[sample] = std::move(report);
  if (!sample.group.evaluation) unsaved_.insert(sample);
}

void ProgressTable::Restore(const SampleRef& sample, Trajectory report) {
  Keep(sample, std::move(report));
  unsaved_.erase(sample);
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
  return tokens;
}

int64_t ProgressTable::ForgetGroup(const GroupKey& group) {
  int64_t tokens = 0;
  for (auto it = reports_.lower_bound({group, 0}); it != reports_.end() && it->first.group == group;)
    tokens += Forget((it++)->first);
  return tokens;
}

std::vector<Trajectory> ProgressTable::TakeUnsaved() {
  std::vector<Trajectory> out;
  for (const SampleRef& sample : std::exchange(unsaved_, {})) out.push_back(reports_.at(sample));
  return out;
}

}  // namespace sluice
