// Every number of the demonstration that is a matter of taste or tuning.
#pragma once

#include <cstdint>

namespace sluice::cli {

// The model: a small DeepSeek-V3 (latent attention, mixture of experts) with random weights.
struct DemoModel {
  int64_t hidden = 96, layers = 2, heads = 4;
  int64_t kv_lora_rank = 32, qk_nope_dim = 16, qk_rope_dim = 16, v_dim = 32;
  int64_t dense_layers = 1, intermediate = 192;  // the first layers have a dense MLP
  int64_t experts = 8, experts_per_token = 2, shared_experts = 1, expert_intermediate = 64;
  int64_t max_positions = 128;
  double embedding_std = 0.05;  // other matrices: 1 / sqrt(columns)
};

// The problems: "5 2 8:" -> "258".
struct DemoTask {
  int least_digits = 3, most_digits = 5;
  int held_out_one_in = 5;  // of the sets of digits
  int training_problems = 6000, held_out_per_kind = 64, warm_rows = 8000;
};

// The job.
struct DemoHyperparameters {
  int64_t warm_steps = 120;
  int32_t warm_batch = 64;
  double warm_learning_rate = 2e-3;
  int64_t steps = 150;
  int32_t groups_per_step = 64, group_size = 8, max_new_tokens = 8;
  double learning_rate = 1e-3, beta2 = 0.99, max_grad_norm = 1.0;
  int64_t warmup_steps = 5;
  double clip_low = 0.2, clip_high = 0.28, kl_coefficient = 0.001, entropy_coefficient = 0.005;
  bool normalize_std = true;
  int32_t micro_batch_tokens = 8192;
  int32_t staleness = 2;
  int64_t evaluate_every = 25;
  int32_t evaluation_samples = 2;
  int64_t checkpoint_every = 25;
};

// The fleet.
struct DemoFleet {
  int rollout_workers = 2, reward_workers = 1, learner_ranks = 2;
};

}  // namespace sluice::cli
