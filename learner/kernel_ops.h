// The model's operations as autograd functions: each forward calls the same kernel on the same packed weights
// as the engine (invariant EXACT); each backward is written with ATen. Gradients of weights are added
// straight into `grad`, a view of the flat gradient; only activations travel through autograd's graph.
//
// All tensors are contiguous float32 on the CPU. `pool` may be null. The graph of one batch belongs to one
// thread.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/model/decoder_weights.h"
#include "learner/packing.h"

namespace sluice::learner {

// A trained tensor as published (rounded), and where its gradient is added. Undefined: the model has none.
struct Weight {
  at::Tensor value, grad;
};

struct MlpParameters {
  Weight gate, up, down;
};

struct MoeParameters {
  Weight router;  // [experts, hidden]
  std::vector<MlpParameters> experts;
  MlpParameters shared;
};

struct AttentionParameters {
  Weight kv_a_norm;  // [c]
  Weight kv_b;       // [heads (dn+dv), c]
};

// Runs `forward` as a node of the graph over `inputs`. `backward` maps the result's gradient to those of the
// inputs.
at::Tensor RunKernel(at::TensorList inputs, const std::function<at::Tensor()>& forward,
                     const std::function<std::vector<at::Tensor>(const at::Tensor&)>& backward);

// The forward reads the packed values only, the backward the Weights: a frozen reference runs the same
// functions.

// y [rows, out] = x [rows, in] W^T (+ bias).
at::Tensor Linear(const at::Tensor& x, const kernels::PackedMatrix& packed, const Weight& weight,
                  const std::vector<float>& packed_bias, const Weight& bias, ThreadPool* pool);
// Per row.
at::Tensor RmsNorm(const at::Tensor& x, const std::vector<float>& packed, const Weight& weight,
                   float epsilon);
at::Tensor RmsNormBackward(const at::Tensor& dy, const at::Tensor& x, const Weight& weight, float epsilon);

// down(silu(gate(x)) * up(x)).
at::Tensor Mlp(const at::Tensor& x, const MlpWeights& packed, const MlpParameters& parameters,
               ThreadPool* pool);

// Routed and shared experts of `packed`; rows are gathered by expert, only experts in use are computed.
// Gradients flow through the routing weights into the router; the choice itself and the correction bias have
// none.
at::Tensor Moe(const at::Tensor& x, const DecoderWeights& model, const MoeWeights& packed,
               const MoeParameters& parameters, ThreadPool* pool);

// Steps 3 and 5 to 8 (before o) of core/model/README.md: q [rows, heads (dn+dr)] and kv [rows, c+dr] as
// projected, the result [rows, heads dv]. `batch` is kept until the backward has run.
at::Tensor LatentAttention(const at::Tensor& q, const at::Tensor& kv, const DecoderWeights& model,
                           const LayerWeights& packed, const AttentionParameters& parameters,
                           std::shared_ptr<const PackedBatch> batch, ThreadPool* pool);

}  // namespace sluice::learner
