#include "core/rl/advantage.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {
namespace {
constexpr double kStdEpsilon = 1e-6;
}

std::vector<double> GroupAdvantages(absl::Span<const double> rewards, bool normalize_std) {
  std::vector<double> out(rewards.size(), 0.0);
  if (rewards.size() < 2) return out;
  const auto [low, high] = std::minmax_element(rewards.begin(), rewards.end());
  if (*low == *high) return out;
  const double n = static_cast<double>(rewards.size());
  const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / n;
  double scale = 1;
  if (normalize_std) {
    double squares = 0;
    for (double r : rewards) squares += (r - mean) * (r - mean);
    scale = 1 / (std::sqrt(squares / (n - 1)) + kStdEpsilon);
  }
  for (size_t i = 0; i < rewards.size(); ++i) out[i] = (rewards[i] - mean) * scale;
  return out;
}

bool AssignAdvantages(Group& group, bool normalize_std) {
  std::vector<double> rewards;
  for (const ScoredSample& sample : group.samples) {
    if (sample.verdict.HasReward()) rewards.push_back(sample.verdict.value);
  }
  const std::vector<double> advantages = GroupAdvantages(rewards, normalize_std);
  size_t next = 0;
  for (ScoredSample& sample : group.samples)
    sample.advantage = sample.verdict.HasReward() ? advantages[next++] : 0.0;
  return std::all_of(advantages.begin(), advantages.end(), [](double a) { return a == 0; });
}

}  // namespace sluice
