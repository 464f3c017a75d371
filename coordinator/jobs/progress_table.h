// What there is so far of the completions under way: the last report of each, for whoever goes on with it.
// Bounded; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "coordinator/scheduler/scheduler.h"
#include "core/rl/types.h"

namespace sluice {

class ProgressTable {
 public:
  static constexpr int64_t kMaxBytes = int64_t{256} << 20;
  explicit ProgressTable(int64_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Takes a report in the place of the one before, unless it is no longer than that, or there is no room for
  // it.
  void Keep(const SampleRef& sample, Trajectory report);
  // What the store has of a sample.
  void Restore(const SampleRef& sample, Trajectory report);
  const Trajectory* Find(const SampleRef& sample) const;  // null: none
  // Return the tokens that are forgotten.
  int64_t Forget(const SampleRef& sample);
  int64_t ForgetGroup(const GroupKey& group);
  // The reports of training samples that came since the last call.
  std::vector<Trajectory> TakeUnsaved();
  bool HasUnsaved() const { return !unsaved_.empty(); }
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t max_bytes_;
  int64_t bytes_ = 0;
  std::map<SampleRef, Trajectory> reports_;
  std::set<SampleRef> unsaved_;
};

}  // namespace sluice
