// Losses of one token, with their derivatives, and how tokens are added up. Pure, in double; no LibTorch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"

namespace sluice {

// All log-probabilities are natural and of the same distribution (see PolicyTemperature).
struct TokenInput {
  double logprob = 0;    // under the policy that is trained
  double behaviour = 0;  // under the policy that sampled it
  bool has_reference = false;
  double reference = 0;  // under the frozen reference
  double entropy = 0;    // nats, of the distribution that the token was drawn from
  double advantage = 0;
};

struct TokenOutput {
  double loss = 0;
  double d_logprob = 0, d_entropy = 0;  // derivatives of the loss
  double ratio = 1;                     // of probabilities, policy / behaviour
  bool clipped = false;                 // the clip stops the gradient
  double kl_behaviour = 0, kl_reference = 0;
};

class PolicyLoss {
 public:
  virtual ~PolicyLoss() = default;
  virtual TokenOutput Token(const TokenInput& token) const = 0;
};

// "grpo": max(-ratio A, -clip(ratio, 1 - clip_low, 1 + clip_high) A) + kl_coefficient k3 -
// entropy_coefficient H, where ratio = exp(clamp(logprob - behaviour, -20, 20)) (Shao et al. 2024, eq. 3) and
// k3 = exp(d) - d - 1 with d = reference - logprob (Schulman 2020), clamped likewise. "nll": -logprob, for
// supervised training. NOT_FOUND names the losses there are.
absl::StatusOr<std::unique_ptr<const PolicyLoss>> MakePolicyLoss(const std::string& name,
                                                                 const GrpoSpec& spec);
std::vector<std::string> PolicyLossNames();

// The weight of each token of a sequence of `tokens` in the batch's loss, given the totals of the whole batch
// (all micro-batches, all ranks).
double TokenWeight(Aggregation aggregation, int64_t tokens, int64_t batch_tokens, int64_t batch_sequences);

// Which distribution the ratio compares. With temperature alone, the one sampled from: softmax(logits /
// temperature), whose behaviour log-probability is the processed one. With anything else in
// SamplingParams that changes probabilities (top-k, top-p, min-p, penalties, biases, forbidden ends) the
// processed log-probability is of a distribution that the learner does not rebuild, so both sides use the raw
// one (temperature 1): the ratio is then that of the policies themselves, and exactly 1 at equal versions.
struct PolicyTemperature {
  float temperature = 1;
  bool use_processed = false;
};
PolicyTemperature PolicyTemperatureOf(const SamplingParams& sampling);

}  // namespace sluice
