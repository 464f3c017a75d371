#include "learner/linear_node.h"

#include <utility>

#include "core/model/workspace.h"
#include "learner/kernel_node.h"

namespace sluice::learner {
namespace {

std::vector<at::Tensor> Forward(const at::Tensor& x, const std::vector<LinearPart>& parts, ThreadPool* pool) {
  const int64_t rows = x.size(0), in = x.size(1);
  std::vector<at::Tensor> results;
  std::vector<kernels::LinearJob> jobs;
  for (const LinearPart& part : parts) {
    const int64_t out = part.packed->out();
    results.push_back(at::empty({rows, out}));
    const float* bias = part.packed_bias == nullptr ? nullptr : OrNull(*part.packed_bias);
    jobs.push_back({Data(x), rows, in, part.packed, bias, Data(results.back()), out});
  }
  kernels::LinearBatch(jobs, pool);
  return results;
}

at::Tensor Backward(const at::Tensor& x, const std::vector<LinearPart>& parts,
                    const std::vector<at::Tensor>& d_out, ThreadPool* pool) {
  Product dx{at::empty_like(x), false, {}};
  std::vector<Product> products;
  for (size_t i = 0; i < parts.size(); ++i) {
    dx.terms.push_back(InputGradient(d_out[i], parts[i].weight));
    products.push_back(WeightGradient(parts[i].weight, d_out[i], x));
    if (parts[i].bias.grad.defined()) at::Tensor(parts[i].bias.grad).add_(d_out[i].sum(0));
  }
  products.push_back(dx);
  RunProducts(products, pool);
  return dx.c;
}

}  // namespace

std::vector<at::Tensor> Linears(const at::Tensor& x, std::vector<LinearPart> parts, ThreadPool* pool) {
  const at::Tensor input = x.detach();
  const auto forward = [&] { return Forward(input, parts, pool); };
  return RunKernel({x}, forward, [=](const std::vector<at::Tensor>& d_out) -> std::vector<at::Tensor> {
    return {Backward(input, parts, d_out, pool)};
  });
}

at::Tensor Linear(const at::Tensor& x, LinearPart part, ThreadPool* pool) {
  return Linears(x, {std::move(part)}, pool)[0];
}

}  // namespace sluice::learner
