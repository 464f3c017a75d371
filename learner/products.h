// The matrix products of the backward: gradients of a product's input and of its weight. Float32 throughout;
// bfloat16 weights are widened piece by piece.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "absl/types/span.h"
#include "core/base/thread_pool.h"

namespace sluice::learner {

// A trained tensor as published (rounded; float32 or bfloat16), and where its gradient is added, a view of
// the flat float32 gradient. Undefined: the model has none.
struct Weight {
  at::Tensor value, grad;
};

// c (+)= a1 b1 + a2 b2 + ..., added up in this order. Two-dimensional views with one unit stride each; c is
// float32 with unit stride in its rows.
struct Product {
  struct Term {
    at::Tensor a;  // [m, k] float32
    at::Tensor b;  // [k, n] float32 or bfloat16
  };
  at::Tensor c;      // [m, n]
  bool add = false;  // to what c holds
  std::vector<Term> terms;
};

// dx [rows, in] = dy [rows, out] W, and W's gradient += dy^T x.
inline Product::Term InputGradient(const at::Tensor& dy, const Weight& weight) { return {dy, weight.value}; }
inline Product WeightGradient(const Weight& weight, const at::Tensor& dy, const at::Tensor& x) {
  return {weight.grad, true, {{dy.t(), x}}};
}

// Computes the products, which write to different places, on the pool's threads (null: one). Results depend
// on the number of threads only.
void RunProducts(absl::Span<const Product> products, ThreadPool* pool);

}  // namespace sluice::learner
