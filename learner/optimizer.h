// AdamW (Loshchilov & Hutter 2019, algorithm 2) on one rank's slice of the flat parameters (ZeRO stage 1:
// masters and moments are sharded), and the learning rate over steps. Pure; no LibTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/rl/job_spec.h"

namespace sluice {

struct AdamwParams {
  double learning_rate = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
};

// Equal slices that cover `total` values, each a multiple of 16: rank r owns [r * size, (r + 1) * size).
int64_t SliceSize(int64_t total, int ranks);

class AdamwSlice {
 public:
  AdamwSlice() = default;
  explicit AdamwSlice(int64_t size) : masters_(size), first_(size), second_(size) {}

  absl::Span<float> masters() { return absl::MakeSpan(masters_); }
  absl::Span<float> first_moment() { return absl::MakeSpan(first_); }
  absl::Span<float> second_moment() { return absl::MakeSpan(second_); }
  // Updates so far: t of the bias correction.
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }

  // One update with gradients * scale, on the pool's threads (null: one). Weight decay acts on every
  // parameter.
  void Update(const AdamwParams& params, absl::Span<const float> gradients, double scale,
              ThreadPool* pool = nullptr);
  // Zero moments, no updates: the beginning of another stage.
  void Reset();

 private:
  std::vector<float> masters_, first_, second_;
  int64_t updates_ = 0;
};

// Of step 0, 1, ...: linear over warmup_steps (step s uses (s + 1) / warmup_steps), then constant or along
// half a cosine that reaches final_fraction at `total_steps`.
double LearningRate(const OptimizerSpec& spec, int64_t step, int64_t total_steps);
// The supervised stage's: its own peak and warm-up, and a cosine to zero over its steps.
double WarmStartLearningRate(const WarmStartSpec& spec, int64_t step);

}  // namespace sluice
