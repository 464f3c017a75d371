#include "rollout/request_check.h"

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr size_t kMaxIndices = 4096, kMaxStopTokens = 1024, kMaxStops = 16, kMaxStopBytes = 1024;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckSampling(const SamplingParams& s, const LoadedPolicy& policy) {
  if (!(s.temperature >= 0 && s.temperature <= 100)) {
    return Invalid("sampling.temperature is ", s.temperature, "; must be in [0, 100]");
  }
  if (s.temperature > 0 && s.temperature < 1e-4f) {
    return Invalid("sampling.temperature is ", s.temperature, "; use 0 for greedy or at least 0.0001");
  }
  if (s.top_k < 0) return Invalid("sampling.top_k is ", s.top_k, "; must be 0 (off) or more");
  if (!(s.top_p > 0 && s.top_p <= 1)) return Invalid("sampling.top_p is ", s.top_p, "; must be in (0, 1]");
  if (s.max_new_tokens < 1)
    return Invalid("sampling.max_new_tokens is ", s.max_new_tokens, "; must be at least 1");
  if (s.stop_token_ids.size() > kMaxStopTokens) {
    return Invalid("sampling.stop_token_ids has ", s.stop_token_ids.size(), " ids; at most ", kMaxStopTokens);
  }
  if (s.stop.size() > kMaxStops)
    return Invalid("sampling.stop has ", s.stop.size(), " texts; at most ", kMaxStops);
  for (const std::string& stop : s.stop) {
    if (stop.empty() || stop.size() > kMaxStopBytes) {
      return Invalid("sampling.stop: a text of ", stop.size(), " bytes; must have 1 to ", kMaxStopBytes);
    }
  }
  if (!s.stop.empty() && policy.tokenizer == nullptr) {
    return Invalid("sampling.stop: the model has no tokenizer.json, so texts cannot be watched for");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPromptTokens(const std::vector<int32_t>& tokens, int64_t new_tokens,
                               const LoadedPolicy& policy) {
  if (tokens.empty()) return Invalid("prompt_tokens is empty; give at least one token");
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= policy.config.vocab) {
      return Invalid("prompt_tokens[", i, "] is ", tokens[i], "; the vocabulary has ", policy.config.vocab);
    }
  }
  const int64_t total = static_cast<int64_t>(tokens.size()) + new_tokens;
  if (total > policy.config.max_positions) {
    return Invalid("prompt_tokens (", tokens.size(), ") and sampling.max_new_tokens (", new_tokens,
                   ") do not fit the model's context of ", policy.config.max_positions);
  }
  return absl::OkStatus();
}

absl::Status CheckRolloutRequest(const RolloutRequest& request, const LoadedPolicy& policy) {
  if (request.indices.empty() || request.indices.size() > kMaxIndices) {
    return Invalid("indices has ", request.indices.size(), " members; must have 1 to ", kMaxIndices);
  }
  if (std::set<uint32_t>(request.indices.begin(), request.indices.end()).size() != request.indices.size()) {
    return Invalid("indices: a member is named twice");
  }
  SLUICE_RETURN_IF_ERROR(CheckSampling(request.sampling, policy));
  return CheckPromptTokens(request.prompt_tokens, request.sampling.max_new_tokens, policy);
}

}  // namespace sluice
