#include "rollout/request_check.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/rl/sampling_check.h"

namespace sluice {
namespace {

constexpr size_t kMaxIndices = 4096;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status CheckInVocabulary(const std::vector<int32_t>& tokens, const LoadedPolicy& policy,
                               const std::string& field) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= policy.config.vocab) {
      return Invalid(field, "[", i, "] is ", tokens[i], "; the vocabulary has ", policy.config.vocab);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSampling(const SamplingParams& s, const LoadedPolicy& policy) {
  if (absl::Status status = Validate(s); !status.ok()) return Invalid("sampling.", status.message());
  SLUICE_RETURN_IF_ERROR(CheckInVocabulary(s.stop_token_ids, policy, "sampling.stop_token_ids"));
  for (const auto& [token, bias] : s.logit_bias) {
    SLUICE_RETURN_IF_ERROR(CheckInVocabulary({token}, policy, "sampling.logit_bias"));
  }
  if (s.top_logprobs > policy.config.vocab) {
    return Invalid("sampling.top_logprobs is ", s.top_logprobs, "; the vocabulary has ", policy.config.vocab);
  }
  if (!s.stop.empty() && policy.tokenizer == nullptr) {
    return Invalid("sampling.stop: the model has no tokenizer.json, so texts cannot be watched for");
  }
  const std::vector<int32_t> ends = EndTokens(s, policy);
  if (s.min_new_tokens > 0 &&
      std::set<int32_t>(ends.begin(), ends.end()).size() == static_cast<size_t>(policy.config.vocab)) {
    return Invalid("sampling.min_new_tokens is ", s.min_new_tokens, ", but every token ends a completion");
  }
  return absl::OkStatus();
}

bool Covers(const std::vector<VersionSpan>& spans, int32_t tokens) {
  int32_t end = 0;
  for (const VersionSpan& span : spans) {
    if (span.begin != end || span.end <= span.begin) return false;
    end = span.end;
  }
  return end == tokens;
}

absl::Status CheckBegunExperts(const RolloutRequest& request, const Trajectory& begun,
                               const LoadedPolicy& policy) {
  if (!request.sampling.record_experts || begun.experts.ids.empty()) return absl::OkStatus();
  const ModelConfig& c = policy.config;
  const int64_t layers = std::count(c.moe_layer.begin(), c.moe_layer.end(), true);
  const size_t fed = request.prompt_tokens.size() + begun.tokens.size() - 1;
  if (begun.experts.moe_layers != layers || begun.experts.per_token != c.moe.experts_per_token ||
      begun.experts.ids.size() != fed * static_cast<size_t>(layers * c.moe.experts_per_token)) {
    return Invalid("begun: the experts of index ", begun.key.index, " are not those of ", fed,
                   " tokens of this model (", layers, " layers, ", c.moe.experts_per_token, " a token)");
  }
  return absl::OkStatus();
}

absl::Status CheckBegun(const RolloutRequest& request, const Trajectory& begun, const LoadedPolicy& policy) {
  const uint32_t index = begun.key.index;
  const auto& indices = request.indices;
  const size_t tokens = begun.tokens.size();
  if (begun.key.draw != request.draw) {
    return Invalid("begun: draw ", begun.key.draw, " in a request for draw ", request.draw);
  }
  if (std::find(indices.begin(), indices.end(), index) == indices.end()) {
    return Invalid("begun: index ", index, " is not among the indices");
  }
  if (tokens > static_cast<size_t>(request.sampling.max_new_tokens)) {
    return Invalid("begun: index ", index, " has ", tokens, " tokens, more than sampling.max_new_tokens");
  }
  SLUICE_RETURN_IF_ERROR(CheckInVocabulary(begun.tokens, policy, "begun.tokens"));
  if (begun.raw_logprobs.size() != tokens || begun.processed_logprobs.size() != tokens) {
    return Invalid("begun: index ", index, " has ", tokens, " tokens, ", begun.raw_logprobs.size(), " and ",
                   begun.processed_logprobs.size(), " log-probabilities");
  }
  if (!Covers(begun.spans, static_cast<int32_t>(tokens))) {
    return Invalid("begun: the spans of index ", index, " do not cover its tokens");
  }
  if (request.sampling.top_logprobs > 0 &&
      begun.alternatives.size() != tokens * static_cast<size_t>(request.sampling.top_logprobs)) {
    return Invalid("begun: index ", index, " has ", begun.alternatives.size(), " alternatives for ", tokens,
                   " tokens and sampling.top_logprobs ", request.sampling.top_logprobs);
  }
  return CheckBegunExperts(request, begun, policy);
}

}  // namespace

std::vector<int32_t> EndTokens(const SamplingParams& params, const LoadedPolicy& policy) {
  std::vector<int32_t> out = params.stop_token_ids;
  if (params.ignore_eos) return out;
  for (int32_t token : policy.config.eos_token_ids) {
    if (token >= 0 && token < policy.config.vocab) out.push_back(token);
  }
  return out;
}

absl::Status CheckPromptTokens(const std::vector<int32_t>& tokens, int64_t new_tokens,
                               const LoadedPolicy& policy) {
  if (tokens.empty()) return Invalid("prompt_tokens is empty; give at least one token");
  SLUICE_RETURN_IF_ERROR(CheckInVocabulary(tokens, policy, "prompt_tokens"));
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
  if (request.progress_every_tokens < 0) {
    return Invalid("progress_every_tokens is ", request.progress_every_tokens, "; must be 0 (off) or more");
  }
  SLUICE_RETURN_IF_ERROR(CheckSampling(request.sampling, policy));
  std::set<uint32_t> begun_indices;
  for (const Trajectory& begun : request.begun) {
    if (!begun_indices.insert(begun.key.index).second) {
      return Invalid("begun: index ", begun.key.index, " is there twice");
    }
    SLUICE_RETURN_IF_ERROR(CheckBegun(request, begun, policy));
  }
  return CheckPromptTokens(request.prompt_tokens, request.sampling.max_new_tokens, policy);
}

}  // namespace sluice
