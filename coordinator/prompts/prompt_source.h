// The prompts of a job: its JSON Lines files read, checked and turned into tokens, and the order in which
// they are handed out. Immutable after loading.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/prompts/prompt_encoder.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "core/rl/trainer.h"
#include "core/rl/types.h"

namespace sluice {

struct PromptSet {
  std::vector<Prompt> training;
  std::vector<Prompt> evaluation;        // of the evaluation, then of each of more_evaluations
  std::vector<size_t> evaluation_sizes;  // how many of each
  std::vector<SupervisedExample> warm_start;
  std::string files_hash;  // SHA-256 over all files: the same after a restart, or the job cannot go on
};

// Reads and checks all files of the job, which takes minutes where they are large. INVALID_ARGUMENT:
// "FILE:LINE: field: what is wrong". CANCELLED soon after `cancel` is raised.
absl::StatusOr<PromptSet> LoadPrompts(const JobSpec& spec, const PromptEncoder& encoder,
                                      const CancelToken& cancel = CancelToken());
// With the job's own encoder.
absl::StatusOr<PromptSet> LoadPrompts(const JobSpec& spec, const PromptEncoderFactory& factory);

// INVALID_ARGUMENT: with completions of max_new_tokens for the longest prompt, a group would be larger than
// the store and the learner take, or the recorded experts of a completion larger than a message may be. Pure.
absl::Status CheckGroupSize(const JobSpec& spec, const PromptSet& prompts, int64_t expert_bytes_per_token);
// INVALID_ARGUMENT when a batch of the longest warm-start rows would not go into one message to the learner.
absl::Status CheckWarmStartBatch(const JobSpec& spec, const PromptSet& prompts);

// Row number `ordinal` of an endless sequence of passes over `rows` rows; each pass is a permutation of its
// own, a function of the seed, the domain and the pass.
class ShuffledOrder {
 public:
  // `first`: rows that another job, which this one goes on from, has had.
  ShuffledOrder(uint64_t seed, RandomDomain domain, size_t rows, uint64_t first = 0)
      : seed_(seed), domain_(domain), rows_(rows), first_(first) {}
  size_t At(uint64_t ordinal);

 private:
  const uint64_t seed_;
  const RandomDomain domain_;
  const size_t rows_;
  const uint64_t first_;
  std::map<uint64_t, std::vector<uint32_t>> passes_;  // of the last few passes asked for
};

}  // namespace sluice
