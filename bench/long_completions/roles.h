// The processes around the coordinator: each stands in for one of the fleet over the real wire, and checks
// what it is handed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/long_completions/known_completion.h"
#include "bench/long_completions/links.h"

namespace sluice::bench {

struct RoleOptions {
  std::string name;    // in the fleet
  std::string folder;  // of the run: the coordinator's address, what was generated and trained
  CompletionShape shape;
  absl::Duration piece =
      absl::Milliseconds(100);  // that all completions of a group take for what is reported at once
  std::vector<Death> deaths;
};

// Each serves until its process is told to stop. What was handed over and is not as it must be is a line in
// FOLDER/wrong.
//
// A worker appends "draw index begin end" to FOLDER/NAME.generated for all that it samples, before it reports
// it.
absl::Status RunWorker(const RoleOptions& options);
absl::Status RunReward(const RoleOptions& options);
// The learner's versions are files FOLDER/trained.VERSION of lines "draw index", made when it commits.
absl::Status RunLearner(const RoleOptions& options);

}  // namespace sluice::bench
