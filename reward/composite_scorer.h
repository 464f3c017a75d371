// The reward service's Scorer: each item is judged by every component of the spec, the whole is composed by
// the rules of core/rl/reward_composition.h, and the components are kept apart. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/rl/scorer.h"
#include "prometheus/registry.h"
#include "reward/judge_call.h"
#include "reward/judge_lane.h"
#include "reward/reward_metrics.h"
#include "reward/scorer_registry.h"

namespace sluice {

// Threads of one kind of work, so that none waits behind another.
struct LaneOptions {
  int threads = 1;
  absl::Duration item_timeout = absl::Seconds(10);  // then the item is INFRASTRUCTURE
};

struct CompositeScorerOptions {
  LaneOptions compute;  // what is only computed
  // By LaneName of what waits: "code", "remote:NAME". What has no lane is judged on the threads of `compute`.
  std::map<std::string, LaneOptions> lanes;
  size_t max_call_items = 4096;
  // Of all calls under way; a call beyond them is refused.
  size_t max_items = 32768, max_bytes = size_t{1} << 30;
  // Longer completions are UNDECIDED.
  size_t max_completion_bytes = size_t{4} << 20;
  // Sees each verdict, on the thread of the call. May be empty.
  std::function<void(const RewardSpec&, const ScoreItem&, const Verdict&)> observer;
};

// "compute", "code" or "remote:NAME".
std::string LaneName(const ScorerSpec& spec);

class CompositeScorer final : public Scorer {
 public:
  CompositeScorer(ScorerRegistry registry, CompositeScorerOptions options, prometheus::Registry& metrics);

  using Scorer::Score;
  // Answers a little before the deadline: items that are not judged by then are INFRASTRUCTURE;
  // DEADLINE_EXCEEDED or CANCELLED when that is all of them. RESOURCE_EXHAUSTED: too much is under way; the
  // message and RetryAfter say so, and the same call may succeed later.
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline, const CancelToken& cancel) override;

  // As Score, when nothing else is to be done: not admitted, not counted, not observed.
  absl::StatusOr<std::vector<Verdict>> ScoreInBackground(const RewardSpec& spec,
                                                         absl::Span<const ScoreItem> items,
                                                         absl::Time deadline, const CancelToken& cancel);

  // Of the queue gauges, now.
  void RefreshMetrics();

 private:
  struct Lane {
    std::unique_ptr<JudgeLane> threads;
    absl::Duration item_timeout;
  };
  absl::StatusOr<std::shared_ptr<JudgeCall>> Run(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                                 absl::Time deadline, const CancelToken& cancel,
                                                 JudgePriority priority);
  absl::StatusOr<std::vector<ComponentScorer>> MakeComponents(const RewardSpec& spec) const;
  absl::Status Admit(size_t items, size_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  void Release(size_t items, size_t bytes) ABSL_LOCKS_EXCLUDED(mu_);

  const ScorerRegistry registry_;
  const CompositeScorerOptions options_;
  RewardMetrics metrics_;
  absl::Mutex mu_;
  size_t items_ ABSL_GUARDED_BY(mu_) = 0, bytes_ ABSL_GUARDED_BY(mu_) = 0;  // admitted
  std::map<std::string, Lane> lanes_;  // not changed after construction; their threads end first
};

}  // namespace sluice
