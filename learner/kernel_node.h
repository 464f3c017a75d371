// A kernel call as a node of LibTorch's graph.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <vector>

namespace sluice::learner {

// `forward` makes the node's results. `backward` maps their gradients (contiguous) to those of the inputs; it
// runs once and is dropped with all it keeps as soon as it has run, so that activations are freed along the
// way.
using NodeForward = std::function<std::vector<at::Tensor>()>;
using NodeBackward = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;
std::vector<at::Tensor> RunKernel(at::TensorList inputs, const NodeForward& forward, NodeBackward backward);

inline float* Data(at::Tensor& t) { return t.mutable_data_ptr<float>(); }
inline const float* Data(const at::Tensor& t) { return t.const_data_ptr<float>(); }

}  // namespace sluice::learner
