// The decoder that the engine runs: weights packed for the kernels, and one forward over rows of many
// sequences that reads and extends their caches. Same kernels in the same sequence as the learner's forward
// (learner/layer.h): the log-probabilities are equal bit for bit (invariant EXACT).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// Immutable; thread-safe. One per policy version; running sequences pin the one that they started with.
class DecoderWeights;
// `dtype` kBF16 or kF32: what matrices are rounded to. Norms, biases and router run in float32 on the rounded
// values. Tensors that nobody else holds are released one by one as they are packed, so that a model which is
// moved in is never in memory twice.
absl::StatusOr<std::shared_ptr<const DecoderWeights>> PackDecoderWeights(const ModelConfig& config,
                                                                         TensorMap tensors, DType dtype);
int64_t PackedBytes(const DecoderWeights& weights);

// One token to be computed. Rows of one sequence stand in rising position; `caches[l]` are the block pointers
// of layer l, with room for the row's position: the forward writes it there (kernels::CacheStore).
struct DecoderRow {
  int32_t token = 0;
  int32_t position = 0;
  std::byte* const* const* caches = nullptr;  // [layers][blocks] -> one layer's block, 64-byte aligned
  // Where the experts that the row is routed to are written: [layers with experts, experts_per_token], by
  // falling weight. Null: not wanted.
  uint16_t* experts = nullptr;
};

class Decoder {
 public:
  // `pool` may be null and outlives the decoder.
  Decoder(ModelConfig config, ThreadPool* pool);
  ~Decoder();
  const ModelConfig& config() const { return config_; }
  // Runs all rows through the model. Rows that attend to each other (a chunk of a prompt) may be in one call.
  // `hidden` [rows, hidden] receives the final norm's output. Weights or caches that are not numbers give
  // hidden states that are not. Not thread-safe (owns its workspace, which is bounded whatever the rows).
  void Forward(const DecoderWeights& weights, absl::Span<const DecoderRow> rows, float* hidden);
  // logits [rows, vocab] of rows of `hidden`.
  void Logits(const DecoderWeights& weights, const float* hidden, int64_t rows, float* logits);

 private:
  void ForwardSome(const DecoderWeights& weights, absl::Span<const DecoderRow> rows, float* hidden);

  ModelConfig config_;
  ThreadPool* pool_;
  struct Workspace;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace sluice
