// What there is so far of the completions under way: what was reported of each, for whoever goes on with it.
// Bounded; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "coordinator/scheduler/scheduler.h"
#include "core/rl/types.h"

namespace sluice {

// In memory, about.
int64_t BytesOf(const Trajectory& trajectory);

class ProgressTable {
 public:
  static constexpr int64_t kMaxBytes = int64_t{2} << 30;
  explicit ProgressTable(int64_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Takes a report in the place of the one before, or a part (core/rl/trajectory_parts) after it, unless
  // there is nothing new in it, tokens are missing between the two, or there is no room for it: then what was
  // there stays, to be gone on with.
  void Keep(const SampleRef& sample, Trajectory report);
  // What the store has of a sample.
  void Restore(const SampleRef& sample, Trajectory report);
  const Trajectory* Find(const SampleRef& sample) const;  // null: none
  // Return the tokens that are forgotten.
  int64_t Forget(const SampleRef& sample);
  int64_t ForgetGroup(const GroupKey& group);
  // The training samples that came, or grew by a quarter, since they were handed out: all that is handed out
  // of a completion is a few times as long as it is. At least one, and no more than have `bytes` together:
  // the next call goes on behind them.
  std::vector<Trajectory> TakeUnsaved(int64_t bytes);
  bool HasUnsaved() const { return !unsaved_.empty(); }
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t max_bytes_;
  int64_t bytes_ = 0;
  std::map<SampleRef, Trajectory> reports_;
  std::set<SampleRef> unsaved_;
  SampleRef last_taken_;               // of unsaved_
  std::map<SampleRef, size_t> saved_;  // tokens that were handed out
};

}  // namespace sluice
