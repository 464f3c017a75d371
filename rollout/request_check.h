// What a request must be before the engine takes it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/rl/rollout_worker.h"
#include "rollout/policy_handle.h"

namespace sluice {

// INVALID_ARGUMENT, naming the field, for what cannot be sampled under this policy.
absl::Status CheckRolloutRequest(const RolloutRequest& request, const LoadedPolicy& policy);
// Tokens that end a completion: stop tokens, and end-of-sequence tokens unless they are ignored.
std::vector<int32_t> EndTokens(const SamplingParams& params, const LoadedPolicy& policy);
// The prompt alone: not empty, in the vocabulary, with `new_tokens` within the context.
absl::Status CheckPromptTokens(const std::vector<int32_t>& tokens, int64_t new_tokens,
                               const LoadedPolicy& policy);

}  // namespace sluice
