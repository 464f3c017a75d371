// The ranges of SamplingParams, which hold for jobs, requests and files of rows alike. Pure.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "core/rl/types.h"

namespace sluice {

constexpr int32_t kMaxNewTokens = 1 << 20;
constexpr size_t kMaxStopTexts = 16, kMaxStopTextBytes = 1024, kMaxStopTokens = 1024;
constexpr size_t kMaxLogitBiases = 1024;
constexpr int32_t kMaxTopLogprobs = 20;

// INVALID_ARGUMENT that starts with the name of the field ("top_p: must be ..."). Whether tokens are in the
// vocabulary and lengths in the context, only who has the model can say.
absl::Status Validate(const SamplingParams& params);

// Whether tokens are drawn from another distribution than softmax(logits / temperature): some are barred, or
// logits are changed by what came before them. The learner's ratio is then of temperature 1 (learner/loss.h).
bool Reshapes(const SamplingParams& params);

}  // namespace sluice
