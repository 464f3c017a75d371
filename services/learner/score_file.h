// `sluice-learner --score-model`: log-probabilities of the rows of a file by the learner's forward.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "core/rl/job_spec.h"

namespace sluice {

struct ScoreFileOptions {
  std::string model;  // Hugging Face directory
  ModelDtype dtype = ModelDtype::kBF16;
  std::string input;   // JSON Lines {"id", "tokens"}
  std::string output;  // JSON Lines {"id", "logprobs"}, in the same order; written whole at the end
  int threads = 1;
};

// INVALID_ARGUMENT names the line. Nothing is written on an error.
absl::Status ScoreFile(const ScoreFileOptions& options);

// The program: parses the command line, returns the exit code (0 done, 1 failed, 2 wrong usage or input).
int ScoreFileMain(int argc, char** argv);

}  // namespace sluice
