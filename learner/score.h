// Log-probabilities of token sequences by the learner's forward, for `sluice score --path learner` and parity
// tests. No LibTorch in this header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/rl/job_spec.h"

namespace sluice {

// A model, read and packed once. One thread at a time.
class TokenScorer {
 public:
  // `model_directory` in the layout of the Hugging Face hub; `threads` at least 1.
  static absl::StatusOr<std::unique_ptr<TokenScorer>> Open(const std::string& model_directory,
                                                           ModelDtype dtype, int threads = 1);
  ~TokenScorer();

  // log p(tokens[t + 1] | tokens[0..t]) at temperature 1, for t = 0 .. size - 2. INVALID_ARGUMENT for fewer
  // than two tokens, more than the model's positions, or one outside the vocabulary.
  absl::StatusOr<std::vector<float>> Score(absl::Span<const int32_t> tokens);

 private:
  class Impl;
  explicit TokenScorer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// One sequence.
absl::StatusOr<std::vector<float>> ScoreTokens(const std::string& model_directory, ModelDtype dtype,
                                               absl::Span<const int32_t> tokens, int threads = 1);

}  // namespace sluice
