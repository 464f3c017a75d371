// What the store is told of the attempts of a running job when they end. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "coordinator/scheduler/scheduler.h"

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
  // Nothing of attempts that are passed over.
  std::optional<AttemptEnd> Ended(absl::Time now, const AttemptOver& over);

 private:
  struct Attempt {
    Draw draw = 0;
    uint32_t number = 0;
    int64_t tokens = 0;
  };
  std::map<uint64_t, Attempt> attempts_;  // under way
};

}  // namespace sluice
