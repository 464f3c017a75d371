#include "reward/composite_scorer.h"

#include <atomic>
#include <cmath>
#include <exception>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/histogram.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr int kVerdictKinds = 6;
const char* KindLabel(int kind) {
  static constexpr const char* kLabels[kVerdictKinds] = {"unspecified", "correct",   "wrong",
                                                         "graded",      "undecided", "infrastructure"};
  return kLabels[kind];
}

// A checker's exception is that item's infrastructure failure.
ItemJudgement JudgeSafely(const ItemScorer& scorer, const ScoreItem& item) {
  ItemJudgement out;
  try {
    out = scorer.Judge(item);
  } catch (const std::exception& e) {
    return {VerdictKind::kInfrastructure, 0, absl::StrCat("the scorer failed: ", Quotation(e.what()))};
  } catch (...) {
    return {VerdictKind::kInfrastructure, 0, "the scorer failed"};
  }
  if (!std::isfinite(out.value)) {
    return {VerdictKind::kInfrastructure, 0, absl::StrCat("the scorer's value is ", out.value)};
  }
  return out;
}

Verdict CutOff() {
  Verdict verdict;
  verdict.kind = VerdictKind::kInfrastructure;
  verdict.detail = "not judged within the call's deadline";
  return verdict;
}

}  // namespace

VerdictKind CombineKinds(const std::vector<VerdictComponent>& components) {
  auto any = [&](VerdictKind kind) {
    for (const auto& c : components) {
      if (c.kind == kind) return true;
    }
    return false;
  };
  auto all = [&](VerdictKind kind) {
    for (const auto& c : components) {
      if (c.kind != kind) return false;
    }
    return true;
  };
  if (components.empty() || any(VerdictKind::kInfrastructure) || any(VerdictKind::kUnspecified)) {
    return VerdictKind::kInfrastructure;
  }
  if (any(VerdictKind::kUndecided)) return VerdictKind::kUndecided;
  if (all(VerdictKind::kCorrect)) return VerdictKind::kCorrect;
  if (all(VerdictKind::kWrong)) return VerdictKind::kWrong;
  return VerdictKind::kGraded;
}

CompositeScorer::CompositeScorer(ScorerRegistry registry, CompositeScorerOptions options,
                                 prometheus::Registry& metrics, const Clock& clock)
    : registry_(std::move(registry)), options_(options), clock_(clock), pool_(options.threads) {
  auto& counters = prometheus::BuildCounter()
                       .Name("sluice_reward_requests_total")
                       .Help("Completions judged, by verdict.")
                       .Register(metrics);
  verdicts_.push_back(nullptr);  // an unspecified verdict does not leave this class
  for (int kind = 1; kind < kVerdictKinds; ++kind)
    verdicts_.push_back(&counters.Add({{"verdict", KindLabel(kind)}}));
  seconds_ = &prometheus::BuildHistogram()
                  .Name("sluice_reward_duration_seconds")
                  .Help("Time to judge one completion.")
                  .Register(metrics)
                  .Add({}, prometheus::Histogram::BucketBoundaries{1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10});
}

absl::StatusOr<std::vector<CompositeScorer::Component>> CompositeScorer::MakeComponents(
    const RewardSpec& spec) const {
  if (spec.components.empty()) return absl::InvalidArgumentError("reward.component: at least one is needed");
  if (spec.components.size() > options_.max_components) {
    return absl::InvalidArgumentError(absl::StrCat("reward.component: ", spec.components.size(),
                                                   " given, at most ", options_.max_components));
  }
  std::set<std::string> names;
  std::vector<Component> out;
  for (const RewardComponentSpec& c : spec.components) {
    std::string where = absl::StrCat("reward.component ", Quotation(c.name));
    if (c.name.empty()) return absl::InvalidArgumentError("reward.component: a name is empty");
    if (!names.insert(c.name).second)
      return absl::InvalidArgumentError(absl::StrCat(where, ": the name is used twice"));
    if (!std::isfinite(c.weight))
      return absl::InvalidArgumentError(absl::StrCat(where, ": weight is ", c.weight));
    auto scorer = registry_.Make(c.scorer);
    if (!scorer.ok()) return Annotate(scorer.status(), where);
    out.push_back({c.name, c.weight, *std::move(scorer)});
  }
  return out;
}

Verdict CompositeScorer::JudgeItem(const std::vector<Component>& components, const ScoreItem& item) const {
  absl::Time begin = absl::Now();
  Verdict verdict;
  std::vector<std::string> details;
  bool too_long = item.completion.size() > options_.max_completion_bytes;
  for (const Component& c : components) {
    ItemJudgement j =
        too_long ? Undecided(absl::StrCat("the completion has ", item.completion.size(), " bytes; at most ",
                                          options_.max_completion_bytes, " are judged"))
                 : JudgeSafely(*c.scorer, item);
    details.push_back(absl::StrCat(c.name, ": ", j.detail));
    verdict.value += c.weight * j.value;
    verdict.components.push_back({c.name, j.kind, j.value, c.weight, std::move(j.detail),
                                  std::move(j.outcome), std::move(j.tests), std::move(j.steps),
                                  std::move(j.stamps)});
  }
  verdict.kind = CombineKinds(verdict.components);
  if (verdict.HasReward() && !std::isfinite(verdict.value)) verdict.kind = VerdictKind::kInfrastructure;
  if (!verdict.HasReward()) verdict.value = 0;
  verdict.detail = absl::StrJoin(details, "; ");
  verdict.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  return verdict;
}

void CompositeScorer::Count(const Verdict& verdict) {
  verdicts_[static_cast<size_t>(verdict.kind)]->Increment();
  seconds_->Observe(verdict.seconds);
}

absl::StatusOr<std::vector<Verdict>> CompositeScorer::Score(const RewardSpec& spec,
                                                            absl::Span<const ScoreItem> items,
                                                            absl::Time deadline) {
  if (items.size() > options_.max_items) {
    return absl::InvalidArgumentError(
        absl::StrCat(items.size(), " items in one call; at most ", options_.max_items));
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<Component> components, MakeComponents(spec));
  std::vector<Verdict> verdicts(items.size());
  std::atomic<size_t> judged{0};
  pool_.ParallelFor(static_cast<int64_t>(items.size()), [&](int64_t i) {
    if (clock_.Now() >= deadline) {
      verdicts[i] = CutOff();
      return;
    }
    verdicts[i] = JudgeItem(components, items[i]);
    ++judged;
  });
  for (const Verdict& v : verdicts) Count(v);
  if (judged == 0 && !items.empty()) {
    return absl::DeadlineExceededError(
        absl::StrCat("none of ", items.size(), " completions was judged in time"));
  }
  return verdicts;
}

}  // namespace sluice
