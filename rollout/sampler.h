// From logits to a token: a pure function of the logits, the parameters, the tokens so far and one uniform
// number. Thread-safe.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/rl/types.h"

namespace sluice {

// The tokens of a sequence as the penalties see them. Empty where there is none.
class TokenCounts {
 public:
  TokenCounts(const SamplingParams& params, absl::Span<const int32_t> prompt);
  void Add(int32_t token);  // of the completion
  // How often each is in the completion; 0: only in the prompt.
  const std::unordered_map<int32_t, int32_t>& counts() const { return counts_; }

 private:
  bool needed_ = false;
  std::unordered_map<int32_t, int32_t> counts_;
};

struct SampledToken {
  int32_t token = 0;
  float raw_logprob = 0;        // natural log, under softmax(logits)
  float processed_logprob = 0;  // under the distribution sampled from
  std::vector<TokenAlternative>
      alternatives;  // top_logprobs of them, most probable first, the token included
};

struct SamplingInput {
  absl::Span<const float> logits;
  const SamplingParams& params;
  const TokenCounts& counts;
  absl::Span<const int32_t> forbidden;  // ids that may not be sampled
  float uniform = 0;                    // in [0, 1)
};

// The order of SamplingParams: logit_bias is added; the repetition penalty divides positive logits of tokens
// seen and multiplies others (Keskar et al. 2019, section 4.1), presence and frequency penalties are
// subtracted; forbidden ids get probability 0; the temperature divides; top-k keeps the k greatest; top-p
// keeps the smallest set of the most probable of those with at least that share of their probability
// (Holtzman et al. 2020, section 3.1); min-p drops what is less probable than that share of the most probable
// (Nguyen et al. 2024). Equal logits are ranked by rising id. What is left is inverted over rising ids: the
// first id whose cumulative weight exceeds `uniform` of the total. Temperature 0 takes the greatest logit,
// the lowest id among equals, with processed log-probability 0. INTERNAL when the logits are not numbers.
absl::StatusOr<SampledToken> SampleToken(const SamplingInput& input);

}  // namespace sluice
