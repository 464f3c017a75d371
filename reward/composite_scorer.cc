#include "reward/composite_scorer.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/retry.h"
#include "core/base/status.h"
#include "core/rl/reward_check.h"
#include "core/rl/reward_composition.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr char kCompute[] = "compute";
constexpr absl::Duration kFullPause = absl::Milliseconds(250);  // that a refused caller is asked to wait

size_t BytesOf(absl::Span<const ScoreItem> items) {
  size_t bytes = 0;
  for (const ScoreItem& item : items) {
    bytes += item.prompt.size() + item.completion.size();
    for (const auto& [name, value] : item.fields) bytes += name.size() + value.size();
  }
  return bytes;
}

// So that what was judged in time is back in time.
absl::Time WithMargin(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) return deadline;
  const absl::Duration left = deadline - absl::Now();
  return deadline - std::clamp(left / 20, absl::ZeroDuration(), absl::Milliseconds(500));
}

}  // namespace

std::string LaneName(const ScorerSpec& spec) {
  if (const auto* remote = std::get_if<RemoteScorerSpec>(&spec))
    return absl::StrCat("remote:", remote->service);
  return std::holds_alternative<CodeScorerSpec>(spec) ? "code" : kCompute;
}

CompositeScorer::CompositeScorer(ScorerRegistry registry, CompositeScorerOptions options,
                                 prometheus::Registry& metrics)
    : registry_(std::move(registry)), options_(std::move(options)), metrics_(metrics) {
  lanes_[kCompute] = {std::make_unique<JudgeLane>(options_.compute.threads), options_.compute.item_timeout};
  for (const auto& [name, lane] : options_.lanes)
    lanes_[name] = {std::make_unique<JudgeLane>(lane.threads), lane.item_timeout};
  RefreshMetrics();
}

void CompositeScorer::RefreshMetrics() {
  for (const auto& [name, lane] : lanes_) metrics_.SetWaiting(name, lane.threads->waiting());
}

absl::StatusOr<std::vector<ComponentScorer>> CompositeScorer::MakeComponents(const RewardSpec& spec) const {
  SLUICE_RETURN_IF_ERROR(Validate(spec));
  std::vector<ComponentScorer> out;
  for (const RewardComponentSpec& rule : spec.components) {
    ComponentScorer component;
    if (!IsGroupTerm(rule)) {
      absl::StatusOr<ComponentScorer> made = registry_.MakeComponent(rule.scorer);
      if (!made.ok()) return Annotate(made.status(), absl::StrCat("reward.component ", Quotation(rule.name)));
      component = *std::move(made);
      auto lane = lanes_.find(LaneName(rule.scorer));
      if (lane == lanes_.end()) lane = lanes_.find(kCompute);
      component.place = {lane->second.threads.get(), lane->second.item_timeout};
    }
    out.push_back(std::move(component));
  }
  return out;
}

absl::Status CompositeScorer::Admit(size_t items, size_t bytes) {
  absl::MutexLock lock(&mu_);
  if (items_ > 0 && (items_ + items > options_.max_items || bytes_ + bytes > options_.max_bytes)) {
    metrics_.CountRefusal();
    absl::Status full = absl::ResourceExhaustedError(
        absl::StrCat("the reward service is full: ", items_, " items (", bytes_,
                     " bytes) are under way, at most ", options_.max_items, " (", options_.max_bytes,
                     " bytes) are taken; try again in ", absl::FormatDuration(kFullPause), ", or send less"));
    SetRetryAfter(kFullPause, full);
    return full;
  }
  items_ += items;
  bytes_ += bytes;
  metrics_.SetAdmitted(items_);
  return absl::OkStatus();
}

void CompositeScorer::Release(size_t items, size_t bytes) {
  absl::MutexLock lock(&mu_);
  items_ -= items;
  bytes_ -= bytes;
  metrics_.SetAdmitted(items_);
}

absl::StatusOr<std::shared_ptr<JudgeCall>> CompositeScorer::Run(const RewardSpec& spec,
                                                                absl::Span<const ScoreItem> items,
                                                                absl::Time deadline,
                                                                const CancelToken& cancel,
                                                                JudgePriority priority) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<ComponentScorer> scorers, MakeComponents(spec));
  JudgeCallOptions options;
  options.priority = priority;
  options.deadline = WithMargin(deadline);
  options.max_completion_bytes = options_.max_completion_bytes;
  auto call = std::make_shared<JudgeCall>(spec, std::vector<ScoreItem>(items.begin(), items.end()),
                                          std::move(scorers), options);
  call->Start();
  call->Await(cancel);
  if (call->finished_items() > 0 || items.empty()) return call;
  if (cancel.cancelled()) return absl::CancelledError("the caller went away");
  return absl::DeadlineExceededError(
      absl::StrCat("none of ", items.size(), " completions was judged in time"));
}

absl::StatusOr<std::vector<Verdict>> CompositeScorer::Score(const RewardSpec& spec,
                                                            absl::Span<const ScoreItem> items,
                                                            absl::Time deadline, const CancelToken& cancel) {
  if (items.size() > options_.max_call_items) {
    return absl::InvalidArgumentError(
        absl::StrCat(items.size(), " items in one call; at most ", options_.max_call_items));
  }
  const size_t bytes = BytesOf(items);
  SLUICE_RETURN_IF_ERROR(Admit(items.size(), bytes));
  SLUICE_FAIL_POINT("reward.call_admitted");
  const absl::Cleanup release = [&] { Release(items.size(), bytes); };
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<JudgeCall> call,
                          Run(spec, items, deadline, cancel, JudgePriority::kNormal));
  std::vector<Verdict> verdicts = call->TakeVerdicts();
  SLUICE_FAIL_POINT("reward.call_judged");
  for (size_t i = 0; i < verdicts.size(); ++i) {
    metrics_.Count(spec, verdicts[i]);
    if (options_.observer) options_.observer(spec, items[i], verdicts[i]);
  }
  RefreshMetrics();
  return verdicts;
}

absl::StatusOr<std::vector<Verdict>> CompositeScorer::ScoreInBackground(const RewardSpec& spec,
                                                                        absl::Span<const ScoreItem> items,
                                                                        absl::Time deadline,
                                                                        const CancelToken& cancel) {
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<JudgeCall> call,
                          Run(spec, items, deadline, cancel, JudgePriority::kBackground));
  return call->TakeVerdicts();
}

}  // namespace sluice
