// One completion while it grows: what was sampled so far, what the next token depends on besides the logits,
// and when it ends. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/rl/rollout_worker.h"
#include "rollout/completion_text.h"
#include "rollout/policy_handle.h"
#include "rollout/sampler.h"

namespace sluice {

class Completion {
 public:
  // Of request.indices[place]. Tokenizer and end-of-sequence tokens are those of `policy`, which it starts
  // with. `request` outlives it.
  Completion(const RolloutRequest& request, size_t place, const LoadedPolicy& policy);

  // Goes on from what another worker sampled; before any token of its own. INVALID_ARGUMENT when it had ended
  // before its last token.
  absl::Status TakeOver(const Trajectory& begun);

  // The next token, from the logits after all tokens so far.
  absl::StatusOr<SampledToken> Sample(absl::Span<const float> logits) const;
  // Adds it, sampled under `policy` on `kernel_path`.
  void Add(const SampledToken& sampled, const LoadedPolicy& policy, const std::string& kernel_path);

  size_t place() const { return place_; }
  const std::vector<int32_t>& tokens() const { return out_.tokens; }
  FinishReason finish_reason() const { return out_.finish_reason; }  // kUnspecified while it grows
  bool has_news() const { return out_.tokens.size() > reported_; }   // tokens since the last report
  bool progress_due() const;

  // All there is of it; while it grows, the text that is certain, and where the request takes parts, only
  // what is new since the last report. Without the experts. Counts as a report.
  Trajectory Report();

  absl::Time last_token_time;  // for metrics; InfinitePast before the first token of its own

 private:
  void Append(int32_t token);

  const RolloutRequest& request_;
  const size_t place_;
  const std::shared_ptr<const Tokenizer> tokenizer_;  // shared with the policy, which may go first
  std::vector<int32_t> ends_;                         // tokens that end it
  TokenCounts counts_;
  CompletionText text_;
  Trajectory out_;
  bool ended_by_token_ = false;
  size_t reported_ = 0;
};

}  // namespace sluice
