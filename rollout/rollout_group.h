// A call of the engine under way: what was asked, and the handing over of completions from the engine's
// thread to the caller's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "core/base/cancellation.h"
#include "core/rl/rollout_worker.h"
#include "core/rl/trajectory_parts.h"
#include "rollout/policy_handle.h"

namespace sluice {

enum class GroupKind { kSample, kScore };

// Shared by the caller, who waits, and the engine's thread, which works on it.
struct RolloutGroup {
  // Set by the caller, then constant.
  uint64_t ordinal = 0;  // of arrival
  GroupKind kind = GroupKind::kSample;
  RolloutRequest request;  // kScore: only job, prompt_tokens and deadline
  CancelToken cancel;
  absl::Time arrival;  // for metrics

  // Written by the engine's thread; read by the caller once done.
  std::shared_ptr<PolicyRun> run;  // pinned while the group runs; shared with the engine and other groups
  PolicyVersion version = kNoPolicyVersion;  // of the policy, when the group has ended
  size_t unfinished = 0;                     // completions
  std::vector<float> scores;

  absl::Mutex mu;
  std::deque<Trajectory> ready ABSL_GUARDED_BY(mu);
  bool done ABSL_GUARDED_BY(mu) = false;
  absl::Status status ABSL_GUARDED_BY(mu);

  // Sequences that it stands for in limits and gauges.
  size_t sequences() const { return kind == GroupKind::kSample ? request.indices.size() : 1; }

  // A report of progress that the caller has not fetched yet becomes one with the next of the same
  // completion: a slow caller makes no queue.
  void HandOver(Trajectory trajectory) {
    absl::MutexLock lock(&mu);
    for (Trajectory& waiting : ready) {
      if (waiting.key == trajectory.key) {
        if (FirstToken(trajectory) == 0 || !Append(trajectory, waiting).ok()) waiting = std::move(trajectory);
        return;
      }
    }
    ready.push_back(std::move(trajectory));
  }
  void End(absl::Status how) {
    absl::MutexLock lock(&mu);
    status = std::move(how);
    done = true;
  }
};

}  // namespace sluice
