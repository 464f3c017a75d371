// The decoder that the engine runs: weights packed for the kernels, and one forward over rows of many
// sequences that reads and extends their latent caches. Same kernels in the same sequence as the learner's
// forward (learner/policy.h): the log-probabilities are equal bit for bit (invariant EXACT).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/spec/model_config.h"
#include "core/spec/tensor.h"

namespace sluice {

// Immutable; thread-safe. One per policy version; running sequences pin the one that they started with.
class DecoderWeights;
// `dtype` kBF16 or kF32: what matrices are rounded to. Norms, biases and router run in float32 on the rounded
// values.
absl::StatusOr<std::shared_ptr<const DecoderWeights>> PackDecoderWeights(const ModelConfig& config,
                                                                         const TensorMap& tensors,
                                                                         DType dtype);
int64_t PackedBytes(const DecoderWeights& weights);

// One token to be computed. Rows of one sequence stand in rising position; `caches[l]` are the block pointers
// of layer l, with room for the row's position: the forward writes [latent ; k_pe] there.
struct DecoderRow {
  int32_t token = 0;
  int32_t position = 0;
  float* const* const* caches = nullptr;  // [layers][blocks] -> [kBlockTokens, kv_lora_rank + qk_rope_dim]
};

class Decoder {
 public:
  Decoder(ModelConfig config, ThreadPool* pool);
  const ModelConfig& config() const { return config_; }
  // Floats of one cached position in one layer.
  int64_t cache_width() const { return config_.kv_lora_rank + config_.qk_rope_dim; }
  // Runs all rows through the model. Rows that attend to each other (a chunk of a prompt) may be in one call.
  // `hidden` [rows, hidden] receives the final norm's output. Not thread-safe (owns its workspace).
  void Forward(const DecoderWeights& weights, absl::Span<const DecoderRow> rows, float* hidden);
  // logits [rows, vocab] of rows of `hidden`.
  void Logits(const DecoderWeights& weights, const float* hidden, int64_t rows, float* logits);

 private:
  ModelConfig config_;
  ThreadPool* pool_;
  struct Workspace;
  std::shared_ptr<Workspace> workspace_;
};

}  // namespace sluice
