// The feed-forward part of a dense layer as a node of the graph; its pieces serve experts too.
#pragma once

#include <ATen/ATen.h>

#include "core/base/thread_pool.h"
#include "core/model/decoder_weights.h"
#include "learner/products.h"

namespace sluice::learner {

struct MlpParameters {
  Weight gate, up, down;
};

// down(silu(gate(x)) * up(x)).
at::Tensor Mlp(const at::Tensor& x, const MlpWeights& packed, const MlpParameters& parameters,
               ThreadPool* pool);

// gate [rows, width] and up -> silu(gate) * up.
at::Tensor Activate(const at::Tensor& gate, const at::Tensor& up, ThreadPool* pool);
// d_act [rows, width] becomes silu(gate) * up, and gate and up become their gradients.
void ActivateBackward(at::Tensor d_act, at::Tensor gate, at::Tensor up, ThreadPool* pool);

}  // namespace sluice::learner
