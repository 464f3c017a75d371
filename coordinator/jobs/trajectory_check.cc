#include "coordinator/jobs/trajectory_check.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/rl/trajectory_parts.h"

namespace sluice {
namespace {

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

absl::Status CheckLengths(const Trajectory& t, const TrajectoryRules& rules) {
  const size_t tokens = t.tokens.size();
  const auto most = static_cast<size_t>(rules.sampling.max_new_tokens);
  const bool finished = t.finish_reason != FinishReason::kUnspecified;
  if (tokens == 0) return absl::InvalidArgumentError("no tokens");
  if (finished && FirstToken(t) > 0) return absl::InvalidArgumentError("finished, and not whole");
  if (EndToken(t) > most) return absl::InvalidArgumentError("more tokens than max_new_tokens");
  if (EndToken(t) == most && !finished)
    return absl::InvalidArgumentError("as many tokens as max_new_tokens, and not finished");
  if (t.raw_logprobs.size() != tokens || t.processed_logprobs.size() != tokens)
    return absl::InvalidArgumentError("log-probabilities and tokens differ in number");
  if (!AllFinite(t.raw_logprobs) || !AllFinite(t.processed_logprobs))
    return absl::InvalidArgumentError("a log-probability is not finite");
  if (t.alternatives.size() != tokens * static_cast<size_t>(rules.sampling.top_logprobs))
    return absl::InvalidArgumentError("alternatives are not top_logprobs for each token");
  return absl::OkStatus();
}

absl::Status CheckExperts(const Trajectory& t, const TrajectoryRules& rules) {
  const RoutedExperts& experts = t.experts;
  if (!rules.sampling.record_experts) {
    return experts.ids.empty() ? absl::OkStatus()
                               : absl::InvalidArgumentError("experts that nobody asked for");
  }
  const size_t width = static_cast<size_t>(std::max(0, experts.moe_layers)) *
                       static_cast<size_t>(std::max(0, experts.per_token));
  const size_t fed = t.tokens.size() + (FirstToken(t) == 0 ? rules.prompt_tokens - 1 : 0);
  if (width > 0 && experts.ids.size() == fed * width) return absl::OkStatus();
  return absl::InvalidArgumentError("experts are not those of all tokens but the last");
}

absl::Status CheckSpans(const Trajectory& t, const TrajectoryRules& rules) {
  auto end = static_cast<int32_t>(FirstToken(t));
  for (const VersionSpan& span : t.spans) {
    if (span.begin != end || span.end <= span.begin)
      return absl::InvalidArgumentError("spans do not tile the tokens");
    end = span.end;
    const auto known = rules.manifests.find(span.version);
    if (known == rules.manifests.end() || known->second != span.manifest_hash) {
      return absl::InvalidArgumentError(
          absl::StrCat("sampled with another manifest of version ", span.version, " than was published"));
    }
  }
  if (end == static_cast<int32_t>(EndToken(t))) return absl::OkStatus();
  return absl::InvalidArgumentError("spans do not cover the tokens");
}

}  // namespace

absl::Status CheckTrajectory(const Trajectory& trajectory, const TrajectoryRules& rules) {
  if (trajectory.key.draw != rules.draw) return absl::InvalidArgumentError("of another draw");
  SLUICE_RETURN_IF_ERROR(CheckLengths(trajectory, rules));
  SLUICE_RETURN_IF_ERROR(CheckExperts(trajectory, rules));
  return CheckSpans(trajectory, rules);
}

}  // namespace sluice
