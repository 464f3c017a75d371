// The trained policy: published values, packed weights, the forward of packed rows with autograd, and the
// head with the loss. One thread at a time.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/model/decoder_weights.h"
#include "learner/kernel_ops.h"
#include "learner/packing.h"
#include "learner/parameters.h"

namespace sluice::learner {

// What the head found for one target.
struct TargetScore {
  float raw_logprob = 0;  // temperature 1: the engine's number, bit for bit
  float logprob = 0;      // at the temperature asked for
  float entropy = 0;      // at that temperature, nats
};
// Derivatives of the loss.
struct TargetGradient {
  double d_logprob = 0, d_entropy = 0;
};
// Called for each target of a batch, in order.
using TargetLoss = std::function<TargetGradient(size_t target, const TargetScore& score)>;

class Policy {
 public:
  // `frozen` are the values of layout's frozen tensors. `pool` may be null and is borrowed.
  Policy(const ModelConfig& config, DType dtype, std::vector<float> frozen, ThreadPool* pool);

  const ParameterLayout& layout() const { return layout_; }
  const ModelConfig& config() const { return config_; }

  // Takes new values of the trained parameters, at least layout().trained_size() floats that `dtype` can hold
  // exactly, and packs them.
  absl::Status SetPublished(absl::Span<const float> values);
  // The tensors of the published values, for a version: trained and frozen.
  const TensorMap& tensors() const { return tensors_; }
  const std::shared_ptr<const DecoderWeights>& packed() const { return packed_; }

  // Sets the gradient to zero. It has `padded_size` floats, of which the first trained_size() are the
  // parameters'.
  void ZeroGradient(int64_t padded_size);
  absl::Span<const float> gradient() const;

  // Scores all targets of the batch under `weights` (of this model; null: the current ones), without
  // gradients.
  void Score(std::shared_ptr<const PackedBatch> batch, const DecoderWeights* weights, float temperature,
             const std::function<void(size_t, const TargetScore&)>& on_score);
  // Forward and backward: adds the gradient of the sum of the targets' losses.
  void Accumulate(std::shared_ptr<const PackedBatch> batch, float temperature, const TargetLoss& loss);

 private:
  struct LayerParameters {
    Weight input_norm, post_attention_norm, q, q_a, q_a_bias, q_a_norm, q_b, kv_a, kv_a_bias, o, o_bias;
    AttentionParameters attention;
    MlpParameters mlp;
    MoeParameters moe;
  };

  void BindParameters();
  Weight Bind(const std::string& name) const;  // undefined where the model has no such tensor
  LayerParameters BindLayer(int64_t layer) const;
  MlpParameters BindMlp(const std::string& prefix) const;
  at::Tensor Embed(const PackedBatch& batch, const DecoderWeights& weights) const;
  at::Tensor Layer(at::Tensor x, const DecoderWeights& weights, int64_t layer,
                   const std::shared_ptr<const PackedBatch>& batch) const;
  // The final norm's output, over the graph that begins at `x`.
  at::Tensor Body(const at::Tensor& x, const DecoderWeights& weights,
                  const std::shared_ptr<const PackedBatch>& batch) const;
  // Logits, scores and, with `backward`, the gradient of the head's input, by pieces of rows.
  at::Tensor Head(const at::Tensor& hidden, const PackedBatch& batch, const DecoderWeights& weights,
                  float temperature, const TargetLoss& loss, bool backward);

  const ModelConfig config_;
  const DType dtype_;
  const ParameterLayout layout_;
  const std::vector<float> frozen_;
  ThreadPool* const pool_;
  at::Tensor values_, gradient_;  // flat
  TensorMap tensors_;
  std::shared_ptr<const DecoderWeights> packed_;
  std::vector<LayerParameters> layers_;
  Weight embedding_, final_norm_, head_;
};

}  // namespace sluice::learner
