// Log-probabilities of a token sequence by the learner's forward, for `sluice score --path learner` and
// parity tests. No LibTorch in this header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/rl/job_spec.h"

namespace sluice {

// log p(tokens[t + 1] | tokens[0..t]) at temperature 1, for t = 0 .. size - 2. INVALID_ARGUMENT for fewer
// than two tokens or one outside the vocabulary.
absl::StatusOr<std::vector<float>> ScoreTokens(const std::string& model_directory, ModelDtype dtype,
                                               absl::Span<const int32_t> tokens, int threads = 1);

}  // namespace sluice
