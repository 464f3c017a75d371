// What one optimizer step is made of, checked: groups with their sampled log-probabilities and advantages, or
// supervised rows. Also the parts of a JobSpec that the ranks need. No LibTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/rl/job_spec.h"
#include "core/rl/trainer.h"
#include "core/rl/types.h"
#include "core/spec/config/model_config.h"
#include "learner/byte_stream.h"
#include "learner/loss.h"
#include "learner/packing.h"

namespace sluice {

struct TrainingSequence {
  std::vector<int32_t> tokens;  // the completion
  std::vector<float> raw_logprobs, processed_logprobs;
  std::vector<VersionSpan> spans;
  double advantage = 0, reward = 0;
  RoutedExperts experts;  // replayed; empty where they were not recorded
};

struct TrainingGroup {
  Draw draw = 0;
  std::vector<int32_t> prompt;
  std::vector<TrainingSequence> sequences;
};

// A group's sequences as they are packed, `id` for each: together where they have the same recorded experts
// for their prompt, else (they were begun with different versions) apart. Borrows the group's memory.
struct SequenceToPack {
  const TrainingSequence* sequence = nullptr;
  int64_t id = 0;
};
std::vector<PackGroup> PackGroupsOf(const TrainingGroup& group, absl::Span<const SequenceToPack> sequences);

// What the model's config allows.
struct TokenLimits {
  int64_t vocab = 0, max_positions = 0;
  int32_t moe_layers = 0, experts = 0, experts_per_token = 0;
};
TokenLimits LimitsOf(const ModelConfig& config);

// The samples of a group that have a reward. INVALID_ARGUMENT names the draw and sample with a token outside
// the vocabulary, log-probabilities, spans or experts that do not fit the tokens or the model, numbers that
// are not finite, or too many tokens.
absl::StatusOr<TrainingGroup> MakeTrainingGroup(const Group& group, const TokenLimits& limits);
absl::Status CheckExample(const SupervisedExample& example, const TokenLimits& limits);

// Of a job, what changes the weights. Hashed into checkpoints.
struct LearningSpec {
  ModelDtype dtype = ModelDtype::kBF16;
  GrpoSpec grpo;
  OptimizerSpec optimizer;
  WarmStartSpec warm_start;  // without its file
  int32_t micro_batch_tokens = 8192;
  PolicyTemperature temperature;  // of the log-probabilities that the ratio compares
  int64_t stop_steps = 100;
};
LearningSpec LearningSpecOf(const JobSpec& spec);

void Put(const LearningSpec& spec, ByteWriter* out);
LearningSpec GetLearningSpec(ByteReader* in);
void Put(const TrainingGroup& group, ByteWriter* out);
TrainingGroup GetTrainingGroup(ByteReader* in);
void Put(const SupervisedExample& example, ByteWriter* out);
SupervisedExample GetExample(ByteReader* in);

}  // namespace sluice
