#include "coordinator/reporting/step_summary.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sluice {

GroupSummary SummariseGroup(const Group& group) {
  GroupSummary out;
  for (const ScoredSample& sample : group.samples) {
    ++out.completions;
    out.tokens += static_cast<int64_t>(sample.trajectory.tokens.size());
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

int64_t StalenessOf(const GroupSummary& group, PolicyVersion version_before) {
  return group.oldest == kNoPolicyVersion ? 0 : version_before - group.oldest;
}

std::map<std::string, double> SummariseBatch(const std::vector<GroupSummary>& groups,
                                             PolicyVersion version_before, int64_t filtered) {
  std::map<std::string, double> out;
  if (groups.empty()) return out;
  double sum = 0, squares = 0, rewards = 0, completions = 0, tokens = 0, ties = 0, staleness = 0;
  int64_t stalest = 0;
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
    completions += static_cast<double>(group.completions);
    tokens += static_cast<double>(group.tokens);
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
  if (completions > 0) out["completion_tokens"] = tokens / completions;
  out["staleness_max"] = static_cast<double>(stalest);
  out["staleness_mean"] = staleness / count;
  out["group_ties"] = (ties + static_cast<double>(filtered)) / (count + static_cast<double>(filtered));
  return out;
}

void EvaluationSummary::Add(const Group& group) {
  const auto kind = group.prompt.fields.find("kind");
  for (const ScoredSample& sample : group.samples) {
    ++completions_;
    tokens_ += static_cast<int64_t>(sample.trajectory.tokens.size());
    if (!sample.verdict.HasReward()) continue;
    const bool correct = sample.verdict.kind == VerdictKind::kCorrect;
    ++rewarded_;
    rewards_[group.draw] += sample.verdict.value;
    correct_ += correct;
    if (kind == group.prompt.fields.end()) continue;
    kinds_[kind->second].first += correct;
    ++kinds_[kind->second].second;
  }
}

EvaluationView EvaluationSummary::Finish(PolicyVersion version) const {
  EvaluationView out;
  out.step = out.version = version;
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
  return out;
}

}  // namespace sluice
