#include "coordinator/reporting/step_summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace sluice {

GroupSummary SummariseGroup(const Group& group) {
  GroupSummary out;
  for (const ScoredSample& sample : group.samples) {
    out.lengths.push_back(static_cast<int64_t>(sample.trajectory.tokens.size()));
    out.stopped += sample.trajectory.finish_reason == FinishReason::kStop;
    out.truncated += sample.trajectory.finish_reason == FinishReason::kLength;
    for (const VersionSpan& span : sample.trajectory.spans) {
      out.oldest = out.oldest == kNoPolicyVersion ? span.version : std::min(out.oldest, span.version);
    }
    if (!sample.verdict.HasReward()) continue;
    out.rewards.push_back(sample.verdict.value);
    for (const VerdictComponent& component : sample.verdict.components) {
      auto& [sum, count] = out.components[component.name];
      sum += component.value;
      ++count;
    }
  }
  out.tied = out.rewards.empty() || *std::min_element(out.rewards.begin(), out.rewards.end()) ==
                                        *std::max_element(out.rewards.begin(), out.rewards.end());
  return out;
}

int64_t PercentileOf(std::vector<int64_t> lengths, double share) {
  if (lengths.empty()) return 0;
  const auto count = static_cast<double>(lengths.size());
  const auto rank = static_cast<int64_t>(std::clamp(std::ceil(share * count), 1.0, count));
  const auto at = lengths.begin() + (rank - 1);
  std::nth_element(lengths.begin(), at, lengths.end());
  return *at;
}

int64_t StalenessOf(const GroupSummary& group, PolicyVersion version_before) {
  return group.oldest == kNoPolicyVersion ? 0 : version_before - group.oldest;
}

std::map<std::string, double> SummariseBatch(const std::vector<GroupSummary>& groups,
                                             PolicyVersion version_before, int64_t filtered) {
  std::map<std::string, double> out;
  if (groups.empty()) return out;
  double sum = 0, squares = 0, rewards = 0, ties = 0, staleness = 0;
  int64_t stalest = 0, stopped = 0, truncated = 0;
  std::vector<int64_t> lengths;
  std::map<std::string, std::pair<double, int64_t>> components;
  for (const GroupSummary& group : groups) {
    for (double reward : group.rewards) {
      sum += reward;
      squares += reward * reward;
      ++rewards;
    }
    for (const auto& [name, part] : group.components) {
      components[name].first += part.first;
      components[name].second += part.second;
    }
    lengths.insert(lengths.end(), group.lengths.begin(), group.lengths.end());
    stopped += group.stopped;
    truncated += group.truncated;
    ties += group.tied;
    const int64_t age = StalenessOf(group, version_before);
    stalest = std::max(stalest, age);
    staleness += static_cast<double>(age);
  }
  const double count = static_cast<double>(groups.size());
  if (rewards > 0) {
    out["reward"] = sum / rewards;
    out["reward_std"] = std::sqrt(std::max(0.0, squares / rewards - sum / rewards * sum / rewards));
  }
  for (const auto& [name, part] : components) {
    out[absl::StrCat("reward_", name)] = part.first / static_cast<double>(part.second);
  }
  if (!lengths.empty()) {
    const auto completions = static_cast<double>(lengths.size());
    out["completion_tokens"] =
        static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), int64_t{0})) / completions;
    out["completion_tokens_p50"] = static_cast<double>(PercentileOf(lengths, 0.5));
    out["completion_tokens_p95"] = static_cast<double>(PercentileOf(lengths, 0.95));
    out["completion_tokens_max"] = static_cast<double>(PercentileOf(lengths, 1));
    out["finish_stop"] = static_cast<double>(stopped);
    out["finish_length"] = static_cast<double>(truncated);
    out["finish_other"] = completions - static_cast<double>(stopped + truncated);
    out["truncated_share"] = static_cast<double>(truncated) / completions;
  }
  out["staleness_max"] = static_cast<double>(stalest);
  out["staleness_mean"] = staleness / count;
  out["group_ties"] = (ties + static_cast<double>(filtered)) / (count + static_cast<double>(filtered));
  return out;
}

namespace {

std::string FiguresOf(const EvaluationView& e) {
  std::string out = absl::StrCat("reward ", e.reward, ", accuracy ", e.accuracy);
  for (const auto& [k, share] : e.pass_at) absl::StrAppend(&out, ", pass@", k, " ", share);
  return out;
}

}  // namespace

std::string DescribeEvaluation(const EvaluationView& evaluation) {
  std::string out = absl::StrCat("evaluation at step ", evaluation.step, ": ", FiguresOf(evaluation));
  for (const EvaluationView& other : evaluation.others)
    absl::StrAppend(&out, "; ", other.name, ": ", FiguresOf(other));
  return out;
}

bool IsCorrect(const Verdict& verdict, const EvaluationSpec& evaluation) {
  VerdictKind kind = verdict.kind;
  double value = verdict.value;
  if (!evaluation.correct_by.empty()) {
    const auto component =
        std::find_if(verdict.components.begin(), verdict.components.end(),
                     [&](const VerdictComponent& c) { return c.name == evaluation.correct_by; });
    if (component == verdict.components.end()) return false;
    kind = component->kind;
    value = component->value;
  }
  return evaluation.correct_at ? value >= *evaluation.correct_at : kind == VerdictKind::kCorrect;
}

double PassAtK(int64_t n, int64_t c, int64_t k) {
  if (n - c < k) return 1;
  double none = 1;  // C(n-c, k) / C(n, k), factor by factor
  for (int64_t i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

void EvaluationSummary::Add(const Group& group, const EvaluationSpec& evaluation) {
  const auto kind = group.prompt.fields.find("kind");
  for (const ScoredSample& sample : group.samples) {
    ++completions_;
    tokens_ += static_cast<int64_t>(sample.trajectory.tokens.size());
    if (!sample.verdict.HasReward()) continue;
    const bool correct = IsCorrect(sample.verdict, evaluation);
    ++rewarded_;
    rewards_[group.draw] += sample.verdict.value;
    correct_ += correct;
    prompts_[group.draw].first += correct;
    ++prompts_[group.draw].second;
    if (kind == group.prompt.fields.end()) continue;
    kinds_[kind->second].first += correct;
    ++kinds_[kind->second].second;
  }
}

EvaluationView EvaluationSummary::Finish(PolicyVersion version, const EvaluationSpec& evaluation) const {
  EvaluationView out;
  out.step = out.version = version;
  out.name = evaluation.name;
  out.samples = rewarded_;
  if (rewarded_ > 0) {
    double sum = 0;
    for (const auto& [draw, reward] : rewards_) sum += reward;
    out.reward = sum / static_cast<double>(rewarded_);
    out.accuracy = static_cast<double>(correct_) / static_cast<double>(rewarded_);
  }
  if (completions_ > 0) out.mean_tokens = static_cast<double>(tokens_) / static_cast<double>(completions_);
  for (const auto& [kind, part] : kinds_) {
    out.accuracy_by_kind[kind] = static_cast<double>(part.first) / static_cast<double>(part.second);
  }
  for (const int32_t k : evaluation.pass_at) {
    double sum = 0;
    int64_t prompts = 0;
    for (const auto& [draw, part] : prompts_) {
      if (part.second < k) continue;  // some of its samples have no reward
      sum += PassAtK(part.second, part.first, k);
      ++prompts;
    }
    if (prompts > 0) out.pass_at[k] = sum / static_cast<double>(prompts);
  }
  return out;
}

}  // namespace sluice
