// The trained policy: published values, packed weights, the forward of packed rows with autograd, and the
// head with the loss. One thread at a time.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/thread_pool.h"
#include "core/model/decoder_weights.h"
#include "learner/forward_pass.h"
#include "learner/head.h"
#include "learner/layer.h"
#include "learner/packing.h"
#include "learner/parameters.h"

namespace sluice::learner {

class Policy {
 public:
  // `frozen` are the values of layout's frozen tensors. `pool` may be null and is borrowed.
  Policy(const ModelConfig& config, DType dtype, std::vector<float> frozen, ThreadPool* pool);

  const ParameterLayout& layout() const { return layout_; }
  const ModelConfig& config() const { return config_; }

  // Takes new values of the trained parameters, at least layout().trained_size() floats, rounds them to
  // `dtype` and packs them.
  absl::Status SetPublished(absl::Span<const float> values);
  // The tensors of the published values, for a version: trained and frozen.
  const TensorMap& tensors() const { return tensors_; }
  const std::shared_ptr<const DecoderWeights>& packed() const { return packed_; }

  // Sets the gradient to zero. It has `padded_size` floats, of which the first trained_size() are the
  // parameters'.
  void ZeroGradient(int64_t padded_size);
  absl::Span<const float> gradient() const;

  struct ScoreOptions {
    std::shared_ptr<const DecoderWeights> weights;  // of this model; null: the current ones
    float temperature = 1;
    bool replay = true;  // the experts that the batch says were recorded
  };
  // Scores all targets of the batch, without gradients.
  void Score(std::shared_ptr<const PackedBatch> batch, const ScoreOptions& options,
             const std::function<void(size_t, const TargetScore&)>& on_score);
  // Forward and backward: adds the gradient of the sum of the targets' losses. Recorded experts are replayed.
  void Accumulate(std::shared_ptr<const PackedBatch> batch, float temperature, const TargetLoss& loss);

 private:
  void BindParameters();
  Weight Bind(const std::string& name) const;  // undefined where the model has no such tensor
  at::Tensor Embed(const ForwardPass& pass) const;
  void EmbedBackward(const ForwardPass& pass, const at::Tensor& dx);
  // The final norm's output, over the graph that begins at `x`.
  at::Tensor Body(const at::Tensor& x, const std::shared_ptr<const ForwardPass>& pass) const;

  const ModelConfig config_;
  const DType dtype_;
  const ParameterLayout layout_;
  const std::vector<float> frozen_;
  ThreadPool* const pool_;
  at::Tensor gradient_;  // flat
  TensorMap tensors_;
  std::shared_ptr<const DecoderWeights> packed_;
  std::vector<LayerParameters> layers_;
  Weight embedding_, final_norm_, head_;
};

}  // namespace sluice::learner
