#include "learner/loss.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/rl/sampling_check.h"

namespace sluice {
namespace {

constexpr double kLogRatioBound = 20;  // exp(20) = 4.9e8: a ratio beyond it carries no information

struct Clamped {
  double value;
  bool inside;
};
Clamped Clamp(double x) {
  return {std::min(std::max(x, -kLogRatioBound), kLogRatioBound), std::fabs(x) <= kLogRatioBound};
}

class GrpoLoss final : public PolicyLoss {
 public:
  explicit GrpoLoss(const GrpoSpec& spec) : spec_(spec) {}

  TokenOutput Token(const TokenInput& token) const override {
    TokenOutput out;
    const Clamped log_ratio = Clamp(token.logprob - token.behaviour);
    out.ratio = std::exp(log_ratio.value);
    out.kl_behaviour = out.ratio - log_ratio.value - 1;
    const double bounded = std::min(std::max(out.ratio, 1 - spec_.clip_low), 1 + spec_.clip_high);
    const double free = -out.ratio * token.advantage, held = -bounded * token.advantage;
    out.clipped = held > free;
    out.loss = std::max(free, held);
    if (!out.clipped && log_ratio.inside) out.d_logprob = -token.advantage * out.ratio;
    if (token.has_reference) AddReference(token, &out);
    out.loss -= spec_.entropy_coefficient * token.entropy;
    out.d_entropy = -spec_.entropy_coefficient;
    return out;
  }

 private:
  void AddReference(const TokenInput& token, TokenOutput* out) const {
    const Clamped d = Clamp(token.reference - token.logprob);
    out->kl_reference = std::exp(d.value) - d.value - 1;
    out->loss += spec_.kl_coefficient * out->kl_reference;
    if (d.inside) out->d_logprob += spec_.kl_coefficient * (1 - std::exp(d.value));
  }
  const GrpoSpec spec_;
};

class NegativeLogLikelihood final : public PolicyLoss {
 public:
  TokenOutput Token(const TokenInput& token) const override {
    TokenOutput out;
    out.loss = -token.logprob;
    out.d_logprob = -1;
    return out;
  }
};

using Maker = std::function<std::unique_ptr<const PolicyLoss>(const GrpoSpec&)>;
std::map<std::string, Maker> Makers() {
  return {{"grpo", [](const GrpoSpec& spec) { return std::make_unique<GrpoLoss>(spec); }},
          {"nll", [](const GrpoSpec&) { return std::make_unique<NegativeLogLikelihood>(); }}};
}

}  // namespace

std::vector<std::string> PolicyLossNames() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : Makers()) names.push_back(name);
  return names;
}

absl::StatusOr<std::unique_ptr<const PolicyLoss>> MakePolicyLoss(const std::string& name,
                                                                 const GrpoSpec& spec) {
  const auto makers = Makers();
  auto found = makers.find(name);
  if (found != makers.end()) return found->second(spec);
  return absl::NotFoundError(
      absl::StrCat("no loss named ", name, "; there are ", absl::StrJoin(PolicyLossNames(), ", ")));
}

double TokenWeight(Aggregation aggregation, int64_t tokens, int64_t batch_tokens, int64_t batch_sequences) {
  if (tokens == 0 || batch_tokens == 0 || batch_sequences == 0) return 0;
  switch (aggregation) {
    case Aggregation::kTokenMean:
      return 1.0 / static_cast<double>(batch_tokens);
    case Aggregation::kSequenceMeanTokenMean:
      return 1.0 / (static_cast<double>(batch_sequences) * static_cast<double>(tokens));
    case Aggregation::kSequenceMeanTokenSum:
      return 1.0 / static_cast<double>(batch_sequences);
  }
  return 0;
}

PolicyTemperature PolicyTemperatureOf(const SamplingParams& sampling) {
  if (Reshapes(sampling) || sampling.temperature <= 0 || sampling.temperature == 1.0f) return {1.0f, false};
  return {sampling.temperature, true};
}

}  // namespace sluice
