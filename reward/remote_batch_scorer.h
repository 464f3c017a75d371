// A component that another reward service judges: a learned reward model, a judge, a function of one's own.
// Calls have a time limit each and are tried again with growing pauses where that may help. What the other
// service says is checked: a judgement that breaks the rules is INFRASTRUCTURE for its item.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/rl/scorer.h"
#include "reward/item_scorer.h"
#include "reward/scorer_registry.h"

namespace sluice {

struct RetryPauses {
  absl::Duration first = absl::Milliseconds(100), longest = absl::Seconds(5);  // each twice the one before
};

class RemoteBatchScorer final : public BatchScorer {
 public:
  // `service` is shared with other calls. The other service is asked for one component, "remote", with the
  // spec's parameters.
  RemoteBatchScorer(std::shared_ptr<Scorer> service, const RemoteScorerSpec& spec,
                    const RetryPauses& pauses = {});
  size_t max_batch() const override { return static_cast<size_t>(spec_.max_batch); }
  // UNAVAILABLE, DEADLINE_EXCEEDED and RESOURCE_EXHAUSTED are tried again, other errors not; not before a
  // service that is full says (RetryAfter). The value of a
  // judgement is that of the whole verdict; steps, tests and stamps are those of its components.
  std::vector<ItemJudgement> Judge(absl::Span<const ScoreItem* const> items,
                                   const JudgeLimits& limits) const override;

 private:
  absl::StatusOr<std::vector<Verdict>> Ask(absl::Span<const ScoreItem> items,
                                           const JudgeLimits& limits) const;
  ItemJudgement JudgementOf(Verdict verdict, const ScoreItem& item) const;
  ItemJudgement NotJudged(const absl::Status& status) const;

  const std::shared_ptr<Scorer> service_;
  const RemoteScorerSpec spec_;
  const RewardSpec asked_;
  const RetryPauses pauses_;
};

// For ScorerRegistry::RegisterBatch("remote", ...): other services by the names that specs give them.
// INVALID_ARGUMENT at an unknown name; the message lists those there are.
ScorerRegistry::BatchFactory RemoteScorerFactory(std::map<std::string, std::shared_ptr<Scorer>> services,
                                                 const RetryPauses& pauses = {});

}  // namespace sluice
