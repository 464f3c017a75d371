// From logits to a token: a pure function of the logits, the parameters and one uniform number.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/rl/types.h"

namespace sluice {

struct SampledToken {
  int32_t token = 0;
  float raw_logprob = 0;        // natural log, under softmax(logits)
  float processed_logprob = 0;  // under the distribution sampled from
};

// Temperature divides the logits; then top-k keeps the k greatest; then top-p keeps the smallest set of the
// most probable of those with at least that share of their probability (Holtzman et al. 2020, section 3.1).
// Equal logits are ranked by rising id. What is left is inverted over rising ids: the first id whose
// cumulative weight exceeds `uniform` (in [0, 1)) of the total, weights and sums in double. Temperature 0
// takes the greatest logit, the lowest id among equals, with processed log-probability 0. INTERNAL when the
// logits are not finite.
absl::StatusOr<SampledToken> SampleToken(absl::Span<const float> logits, const SamplingParams& params,
                                         float uniform);

}  // namespace sluice
