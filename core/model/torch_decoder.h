// One model in the memory of a LibTorch device, and one forward over rows of many sequences there: the
// numbered list of README.md with the twins of core/kernels/reference.
//
// LibTorch throws (out of memory, a device that failed): torch_backend.cc is the boundary that catches.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/kernels/kernels.h"
#include "core/kernels/reference/reference.h"
#include "core/model/decoder.h"
#include "core/spec/config/model_config.h"
#include "core/spec/tensors/tensor.h"

namespace sluice {

// Floats of one cached position in one layer: what is attended to, [latent ; k_pe] or [keys ; values].
int64_t TorchCacheWidth(const ModelConfig& config);

// Matrices [out, in] in the packing's type; undefined where the model has none.
struct TorchMlp {
  at::Tensor gate, up, down;
};

// Vectors are float32, of values rounded to the packing's type.
struct TorchLayer {
  at::Tensor input_norm, post_attention_norm;
  at::Tensor q;
  at::Tensor k, v, q_bias, k_bias, v_bias, q_norm, k_norm;              // grouped attention
  at::Tensor q_a, q_a_norm, q_a_bias, q_b, kv_a, kv_a_norm, kv_a_bias;  // latent attention
  at::Tensor w_uk, w_uv;  // latent attention: [heads, dn, c] and [heads, dv, c]
  at::Tensor o, o_bias;
  TorchMlp mlp;  // when dense; else the shared experts
  at::Tensor router, correction_bias;
  std::vector<TorchMlp> experts;  // empty when dense
};

struct TorchModel {
  ModelConfig config;
  at::Device device = at::kCPU;
  at::Tensor embedding, final_norm, head, inverse_frequencies;
  std::vector<TorchLayer> layers;
};

// Tensors that nobody else holds are released as they are uploaded. INVALID_ARGUMENT names a tensor that is
// missing or has a wrong shape or type.
absl::StatusOr<TorchModel> UploadModel(const ModelConfig& config, TensorMap tensors, DType dtype,
                                       at::Device device);

// The final norm's output [rows, hidden] on the device; the rows' cache blocks are device memory.
at::Tensor TorchForward(const TorchModel& model, absl::Span<const DecoderRow> rows);
// [rows, vocab] of hidden states on the device.
at::Tensor TorchLogits(const TorchModel& model, const at::Tensor& hidden);

}  // namespace sluice
