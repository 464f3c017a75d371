// Norms and residual sums as nodes of the graph.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "core/base/thread_pool.h"
#include "core/kernels/gradients.h"
#include "learner/products.h"

namespace sluice::learner {

// Per row of x [rows, dim]; `packed` [dim] is the weight's published value and outlives the backward.
at::Tensor RmsNorm(const at::Tensor& x, const std::vector<float>& packed, const Weight& weight, float epsilon,
                   ThreadPool* pool);
// x + y.
at::Tensor Residual(const at::Tensor& x, const at::Tensor& y, ThreadPool* pool);

// kernels::RmsNormBackward divided among threads; `gradient.d_weight` is ignored, weight.grad added to. The
// sum over rows has a fixed order.
void AddNormGradient(const kernels::RmsNormGradient& gradient, int64_t rows, const std::vector<float>& packed,
                     const Weight& weight, float epsilon, ThreadPool* pool);

}  // namespace sluice::learner
