// Matrix products with packed weights as nodes of the graph.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "learner/products.h"

namespace sluice::learner {

// y [rows, out] = x [rows, in] W^T (+ bias). The forward reads the packed values only, the backward the
// Weights: a frozen reference runs the same functions.
struct LinearPart {
  const kernels::PackedMatrix* packed = nullptr;
  Weight weight;
  const std::vector<float>* packed_bias = nullptr;  // null or empty: none
  Weight bias;
};

// Several of the same x [rows, ...], in one parallel region.
std::vector<at::Tensor> Linears(const at::Tensor& x, std::vector<LinearPart> parts, ThreadPool* pool);
at::Tensor Linear(const at::Tensor& x, LinearPart part, ThreadPool* pool);

}  // namespace sluice::learner
