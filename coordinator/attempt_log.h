// What becomes of the attempts of a running job, for the store: read from what the scheduler does with them.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "coordinator/scheduler.h"
#include "coordinator/store_rows.h"

namespace sluice {

struct AttemptEnd {
  Draw draw = 0;
  uint32_t number = 0;
  AttemptOutcome outcome = AttemptOutcome::kDone;
  int64_t tokens = 0;
  absl::Time ended;
};

class AttemptLog {
 public:
  void Started(const StartGenerate& start);  // of training; those of evaluations are passed over
  void CountTokens(uint64_t attempt, int64_t tokens);
  // The attempts that `event` ended: `state` is as it left it.
  std::vector<AttemptEnd> Ended(const Event& event, const SchedulerState& state);

 private:
  struct Attempt {
    Draw draw = 0;
    uint32_t number = 0;
    absl::Time deadline;
    int64_t tokens = 0;
  };
  std::map<uint64_t, Attempt> attempts_;  // under way
};

}  // namespace sluice
