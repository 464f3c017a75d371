#include "rollout/completion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/rl/trajectory_parts.h"
#include "rollout/request_check.h"

namespace sluice {

Completion::Completion(const RolloutRequest& request, size_t place, const LoadedPolicy& policy)
    : last_token_time(absl::InfinitePast()),
      request_(request),
      place_(place),
      tokenizer_(policy.tokenizer),
      ends_(EndTokens(request.sampling, policy)),
      counts_(request.sampling, request.prompt_tokens),
      text_(tokenizer_.get(), &request.sampling.stop) {
  out_.key = {request.draw, request.indices[place]};
  out_.attempt = request.attempt;
}

// Counts the token, watches for stops and says whether it ended.
void Completion::Append(int32_t token) {
  const SamplingParams& params = request_.sampling;
  out_.tokens.push_back(token);
  counts_.Add(token);
  const size_t size = out_.tokens.size();
  const bool enough = size >= static_cast<size_t>(params.min_new_tokens);
  const bool stop_text = text_.Append(token, !enough);
  if (enough) {
    ended_by_token_ = std::find(ends_.begin(), ends_.end(), token) != ends_.end();
    if (ended_by_token_ || stop_text) out_.finish_reason = FinishReason::kStop;
  }
  if (out_.finish_reason == FinishReason::kUnspecified &&
      size == static_cast<size_t>(params.max_new_tokens)) {
    out_.finish_reason = FinishReason::kLength;
  }
}

absl::Status Completion::TakeOver(const Trajectory& begun) {
  for (int32_t token : begun.tokens) {
    if (finish_reason() != FinishReason::kUnspecified) {
      return absl::InvalidArgumentError(absl::StrCat("begun: the completion of index ", begun.key.index,
                                                     " ends at token ", out_.tokens.size(), " of its ",
                                                     begun.tokens.size()));
    }
    Append(token);
  }
  out_.raw_logprobs = begun.raw_logprobs;
  out_.processed_logprobs = begun.processed_logprobs;
  out_.spans = begun.spans;
  if (request_.sampling.top_logprobs > 0) out_.alternatives = begun.alternatives;
  reported_ = out_.tokens.size();
  out_.text = text_.Take();
  return absl::OkStatus();
}

absl::StatusOr<SampledToken> Completion::Sample(absl::Span<const float> logits) const {
  const size_t size = out_.tokens.size();
  const float uniform = UniformAt(request_.seed, request_.domain, request_.draw, request_.indices[place_],
                                  static_cast<uint32_t>(size));
  absl::Span<const int32_t> forbidden;
  if (size < static_cast<size_t>(request_.sampling.min_new_tokens)) forbidden = ends_;
  return SampleToken({logits, request_.sampling, counts_, forbidden, uniform});
}

void Completion::Add(const SampledToken& sampled, const LoadedPolicy& policy,
                     const std::string& kernel_path) {
  const int32_t at = static_cast<int32_t>(out_.tokens.size());
  if (out_.spans.empty() || out_.spans.back().version != policy.version ||
      out_.spans.back().manifest_hash != policy.manifest_hash ||
      out_.spans.back().kernel_path != kernel_path) {
    out_.spans.push_back({at, at, policy.version, policy.manifest_hash, kernel_path});
  }
  out_.spans.back().end = at + 1;
  out_.raw_logprobs.push_back(sampled.raw_logprob);
  out_.processed_logprobs.push_back(sampled.processed_logprob);
  out_.alternatives.insert(out_.alternatives.end(), sampled.alternatives.begin(), sampled.alternatives.end());
  Append(sampled.token);
}

bool Completion::progress_due() const {
  const size_t every = static_cast<size_t>(request_.progress_every_tokens);
  return every > 0 && out_.tokens.size() >= reported_ + every;
}

Trajectory Completion::Report() {
  const size_t first = std::exchange(reported_, out_.tokens.size());
  if (out_.finish_reason != FinishReason::kUnspecified) {
    out_.text = text_.Text(ended_by_token_);
    return out_;
  }
  std::string more = text_.Take();
  out_.text += more;
  if (!request_.progress_in_parts || first == 0) return out_;
  Trajectory part = PartOf(out_, first, reported_);
  part.text = std::move(more);
  return part;
}

}  // namespace sluice
