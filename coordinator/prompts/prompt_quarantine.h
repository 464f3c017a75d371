// The prompts of a job that are not handed out because samples of theirs were given up on, and which of the
// coming draws fall on them. Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "coordinator/prompts/prompt_source.h"
#include "coordinator/scheduler/scheduler.h"

namespace sluice {

class PromptQuarantine {
 public:
  void Add(uint64_t row);
  void Release(const std::vector<uint64_t>& rows);  // none: all
  // Tells the scheduler which of its next draws are of such prompts. Cheap when nothing changed.
  void Foresee(ShuffledOrder& order, SchedulerState& state);

 private:
  std::set<uint64_t> rows_;
  bool changed_ = false;
};

}  // namespace sluice
