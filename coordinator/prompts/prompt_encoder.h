// How the rows of a prompts file become what the model is given. Implementations: the model directory's
// tokenizer and chat template (core/spec); a fake in tests. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/rl/job_spec.h"
#include "core/spec/config/model_config.h"

namespace sluice {

struct PromptMessage {
  std::string role, content;
};

class PromptEncoder {
 public:
  virtual ~PromptEncoder() = default;
  // Text -> ids, without special tokens added.
  virtual absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const = 0;
  // Messages -> text that ends where the model's answer begins.
  virtual absl::StatusOr<std::string> RenderChat(const std::vector<PromptMessage>& messages) const = 0;
  virtual int64_t max_positions() const = 0;
  virtual int32_t eos_token() const = 0;  // -1: none
  // Of one token's recorded experts in memory and on disk; 0: the model has none.
  virtual int64_t expert_bytes_per_token() const { return 0; }
  // Lines about the model for the plan of a job.
  virtual std::vector<std::string> Describe() const { return {}; }
};

using PromptEncoderFactory =
    std::function<absl::StatusOr<std::unique_ptr<const PromptEncoder>>(const JobSpec& spec)>;

// INVALID_ARGUMENT that names the field of the job, when such a model cannot be sampled so: tokens outside of
// the vocabulary, experts of a model that has none. Pure.
absl::Status CheckSampling(const SamplingParams& params, const ModelConfig& config);

// Reads config.json, tokenizer.json and, for chat prompts, the chat template of spec.model.path; checks
// spec.sampling against that model.
absl::StatusOr<std::unique_ptr<const PromptEncoder>> ReadPromptEncoder(const JobSpec& spec);

}  // namespace sluice
