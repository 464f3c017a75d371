// The decoder written plainly with LibTorch: latent keys and values expanded, float32 or float64 (or
// bfloat16), any device. It is the oracle of the decoder's tests and what runs on devices without kernels of
// their own. Its results equal the decoder's up to rounding, not bit for bit.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// What one sequence has computed so far, per layer: latents [tokens, c] and rotated keys [tokens, dr], or
// rotated keys and values [tokens, kv_heads, .]. Starts empty.
struct ReferenceCache {
  std::vector<at::Tensor> latents, keys, values;
  int64_t tokens() const { return keys.empty() || !keys[0].defined() ? 0 : keys[0].size(0); }
};

// Of one layer with experts: ids by falling weight and their weights, [tokens, k].
struct ReferenceRouting {
  int64_t layer = 0;
  at::Tensor ids, weights;
};

// Not thread-safe for training; thread-safe for Logits under no gradients.
class ReferenceDecoder {
 public:
  // Copies every tensor of the model to `device` as `dtype`. INVALID_ARGUMENT names a missing tensor or a
  // wrong shape.
  static absl::StatusOr<std::unique_ptr<ReferenceDecoder>> Create(const ModelConfig& config,
                                                                  const TensorMap& tensors, at::Device device,
                                                                  at::ScalarType dtype);

  // Logits [tokens, vocab] after each of `tokens`, which follow what `cache` holds; the cache grows by them.
  // A null cache is a fresh sequence. Routing of this call is appended to `routing` unless null.
  absl::StatusOr<at::Tensor> Logits(absl::Span<const int32_t> tokens, ReferenceCache* cache = nullptr,
                                    std::vector<ReferenceRouting>* routing = nullptr) const;

  // By hub name; leaves that may be given requires_grad.
  std::map<std::string, at::Tensor>& parameters() { return parameters_; }
  const ModelConfig& config() const { return config_; }

 private:
  struct Call;
  ReferenceDecoder(ModelConfig config, at::Device device, at::ScalarType dtype)
      : config_(std::move(config)), device_(device), dtype_(dtype) {}
  at::Tensor Parameter(const std::string& name) const;  // undefined when the model has none of this name
  at::Tensor Linear(const at::Tensor& x, const std::string& name) const;
  at::Tensor Norm(const at::Tensor& x, const std::string& name, double epsilon) const;
  at::Tensor Mlp(const at::Tensor& h, const std::string& name) const;
  // Keys and values of all positions, [tokens, kv heads, .].
  struct KeysAndValues {
    at::Tensor keys, values;
  };
  at::Tensor Rotated(const at::Tensor& x, const Call& call) const;
  at::Tensor Queries(const at::Tensor& h, const std::string& name, const Call& call) const;
  KeysAndValues LatentKeys(const at::Tensor& h, int64_t layer, Call* call) const;
  KeysAndValues GroupedKeys(const at::Tensor& h, int64_t layer, Call* call) const;
  at::Tensor Attend(const at::Tensor& h, int64_t layer, Call* call) const;
  at::Tensor FeedForward(const at::Tensor& h, int64_t layer, Call* call) const;
  at::Tensor Run(absl::Span<const int32_t> tokens, Call* call) const;

  ModelConfig config_;
  at::Device device_;
  at::ScalarType dtype_;
  std::map<std::string, at::Tensor> parameters_;
};

}  // namespace sluice
