// The reward service's Scorer: each item is judged by every component of the spec; the weighted sum is its
// reward, and the components are kept apart. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/base/thread_pool.h"
#include "core/rl/scorer.h"
#include "prometheus/registry.h"
#include "reward/scorer_registry.h"

namespace prometheus {
class Counter;
class Histogram;
}  // namespace prometheus

namespace sluice {

struct CompositeScorerOptions {
  int threads = 1;
  size_t max_items = 4096;  // of one call
  size_t max_components = 64;
  // Longer completions are UNDECIDED.
  size_t max_completion_bytes = size_t{4} << 20;
};

// The kind of the whole: INFRASTRUCTURE or UNDECIDED when any component is (the former goes first), CORRECT
// or WRONG when all are, else GRADED.
VerdictKind CombineKinds(const std::vector<VerdictComponent>& components);

class CompositeScorer final : public Scorer {
 public:
  // Metrics: sluice_reward_requests_total{verdict} counts items, sluice_reward_duration_seconds is the time
  // of one item.
  CompositeScorer(ScorerRegistry registry, CompositeScorerOptions options, prometheus::Registry& metrics,
                  const Clock& clock = Clock::Real());

  // Items that the deadline cuts off are INFRASTRUCTURE; DEADLINE_EXCEEDED when that is all of them.
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline) override;

 private:
  struct Component {
    std::string name;
    double weight;
    std::unique_ptr<ItemScorer> scorer;
  };
  absl::StatusOr<std::vector<Component>> MakeComponents(const RewardSpec& spec) const;
  Verdict JudgeItem(const std::vector<Component>& components, const ScoreItem& item) const;
  void Count(const Verdict& verdict);

  const ScorerRegistry registry_;
  const CompositeScorerOptions options_;
  const Clock& clock_;
  ThreadPool pool_;
  std::vector<prometheus::Counter*> verdicts_;  // by VerdictKind; borrowed from the metrics registry
  prometheus::Histogram* seconds_;
};

}  // namespace sluice
