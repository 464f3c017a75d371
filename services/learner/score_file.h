// `sluice-learner --score-model`: log-probabilities of the rows of a file by the learner's forward.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"

namespace sluice {

struct ScoreFileOptions {
  std::string model;  // Hugging Face directory
  ModelDtype dtype = ModelDtype::kBF16;
  std::string input;  // JSON Lines {"id", "tokens"}
  // JSON Lines {"id", "logprobs"} in the same order, or {"id", "error", "line"} for a row that is wrong;
  // written whole at the end.
  std::string output;
  int threads = 1;
};

struct ScoreFileOutcome {
  int rows = 0, failed = 0;
  absl::Status first_error;  // names the file and the line
};

// OK also when some rows failed. Nothing is written on an error, which is one of the model or of a file.
absl::StatusOr<ScoreFileOutcome> ScoreFile(const ScoreFileOptions& options);

// The program: parses the command line, returns the exit code (0 done, 1 some rows failed, 2 wrong usage or
// input).
int ScoreFileMain(int argc, char** argv);

}  // namespace sluice
