// What a job waits for, of whom and since when; and when that is longer than it should be. Only reads:
// nothing is decided here. WaitsOf is pure; StallDetector remembers since when each wait is the same. Not
// thread-safe.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/scheduler/scheduler.h"
#include "core/rl/job_spec.h"

namespace sluice {

enum class WaitKind {
  kLearner,
  kRollout,       // completions
  kReward,        // verdicts
  kWeights,       // a worker that loads a version
  kRegistration,  // a worker that is not there
  kStore,
  kStep  // progress of any kind, where none of the others is stalled
};
constexpr int kWaitKinds = 7;
const char* WaitKindName(WaitKind kind);  // "learner", "rollout", ..., a label of sluice_stall_seconds

struct Wait {
  WaitKind kind = WaitKind::kStep;
  std::string key;  // stays the same while what is waited for makes no progress; retries do not change it
  std::string what, on;  // "group 812 of step 40: sample 3", "rollout-2"; `on` may be empty
  absl::Duration limit;  // what it may take by the job's timeouts
};

// Everything that the job waits for now; nothing when it is paused or has ended.
std::vector<Wait> WaitsOf(const SchedulerState& state, const TimeoutSpec& timeout);

struct Stall {
  WaitKind kind = WaitKind::kStep;
  std::string key, what, on;
  int64_t others = 0;  // stalled waits of the kind beside this one
  absl::Time since;
};
// "group 812 of step 40: sample 3 on rollout-2 since 2026-11-21T13:05:00Z", for `sluice show`.
std::string DescribeStall(const Stall& stall);

class StallDetector {
 public:
  // A wait is a stall after its own limit, or after `least` where that is longer.
  explicit StallDetector(absl::Duration least) : least_(least) {}

  struct News {
    std::vector<Stall> begun, ended;
  };
  // Takes in what is waited for at `now`. At most one stall of each kind: the longest.
  News Observe(const std::vector<Wait>& waits, absl::Time now);
  // Forgets everything: another job runs.
  void Reset() { *this = StallDetector(least_); }

  const std::optional<Stall>& OfKind(WaitKind kind) const { return stalls_[static_cast<size_t>(kind)]; }
  std::optional<Stall> Longest() const;

 private:
  using Stalls = std::array<std::optional<Stall>, kWaitKinds>;
  Stalls Find(const std::vector<Wait>& waits, absl::Time now);

  absl::Duration least_;
  std::map<std::string, absl::Time> since_;  // by key
  Stalls stalls_;
};

}  // namespace sluice
