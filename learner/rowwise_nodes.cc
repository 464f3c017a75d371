#include "learner/rowwise_nodes.h"

#include <algorithm>

#include "core/kernels/kernels.h"
#include "core/model/row_ranges.h"
#include "learner/kernel_node.h"

namespace sluice::learner {
namespace {

constexpr int64_t kRowsOfPart = 128;  // whose weight gradients are added up before the rest

at::Tensor NormForward(const at::Tensor& x, const std::vector<float>& packed, float epsilon,
                       ThreadPool* pool) {
  const int64_t dim = x.size(1);
  at::Tensor y = at::empty_like(x);
  const float* from = Data(x);
  float* to = Data(y);
  ForRowRanges(pool, x.size(0), 2 * dim, [&](int64_t first, int64_t count) {
    kernels::RmsNorm(from + first * dim, count, dim, dim, packed.data(), epsilon, to + first * dim, dim);
  });
  return y;
}

at::Tensor Sum(const at::Tensor& x, const at::Tensor& y, ThreadPool* pool) {
  const int64_t dim = x.size(1);
  at::Tensor sum = at::empty_like(x);
  const float *a = Data(x), *b = Data(y);
  float* to = Data(sum);
  ForRowRanges(pool, x.size(0), 3 * dim, [&](int64_t first, int64_t count) {
    std::copy_n(a + first * dim, count * dim, to + first * dim);
    kernels::Add(b + first * dim, count * dim, to + first * dim);
  });
  return sum;
}

}  // namespace

void AddNormGradient(const kernels::RmsNormGradient& gradient, int64_t rows, const std::vector<float>& packed,
                     const Weight& weight, float epsilon, ThreadPool* pool) {
  const int64_t dim = static_cast<int64_t>(packed.size()), parts = (rows + kRowsOfPart - 1) / kRowsOfPart;
  std::vector<float> sums(parts * dim, 0.0f);
  ForRowRanges(pool, parts, kRowsOfPart * 4 * dim, [&](int64_t first, int64_t count) {
    for (int64_t part = first; part < first + count; ++part) {
      const int64_t row = part * kRowsOfPart;
      kernels::RmsNormGradient g = gradient;
      g.dy += row * g.dy_stride;
      g.x += row * g.x_stride;
      g.dx += row * g.dx_stride;
      g.d_weight = &sums[part * dim];
      kernels::RmsNormBackward(g, std::min(kRowsOfPart, rows - row), dim, packed.data(), epsilon);
    }
  });
  at::Tensor grad = weight.grad;
  for (int64_t part = 0; part < parts; ++part) kernels::Add(&sums[part * dim], dim, Data(grad));
}

at::Tensor RmsNorm(const at::Tensor& x, const std::vector<float>& packed, const Weight& weight, float epsilon,
                   ThreadPool* pool) {
  const at::Tensor input = x.detach();
  const auto forward = [&]() -> std::vector<at::Tensor> {
    return {NormForward(input, packed, epsilon, pool)};
  };
  const auto backward = [=, &packed](const std::vector<at::Tensor>& d_out) -> std::vector<at::Tensor> {
    at::Tensor dx = at::empty_like(input);
    const int64_t dim = input.size(1);
    AddNormGradient({Data(d_out[0]), dim, Data(input), dim, Data(dx), dim, nullptr}, input.size(0), packed,
                    weight, epsilon, pool);
    return {dx};
  };
  return RunKernel({x}, forward, backward)[0];
}

at::Tensor Residual(const at::Tensor& x, const at::Tensor& y, ThreadPool* pool) {
  const at::Tensor a = x.detach(), b = y.detach();
  const auto forward = [&]() -> std::vector<at::Tensor> { return {Sum(a, b, pool)}; };
  return RunKernel({x, y}, forward, [](const std::vector<at::Tensor>& d_out) -> std::vector<at::Tensor> {
    return {d_out[0], d_out[0]};
  })[0];
}

}  // namespace sluice::learner
