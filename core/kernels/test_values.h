// Random inputs of the kernels' tests: the same on every run.
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/kernels/kernels.h"

namespace sluice::kernels {

// Numbers like those of a model: mostly within +-1, now and then a large one.
inline std::vector<float> TestValues(int64_t n, uint32_t seed, float size = 1.0f) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0f, size);
  std::vector<float> values(n);
  for (float& value : values) value = normal(generator);
  if (n > 3) values[n / 3] *= 8;
  return values;
}

inline at::Tensor AsTensor(const std::vector<float>& values, std::vector<int64_t> shape) {
  return torch::tensor(at::ArrayRef<float>(values.data(), values.size()), at::kFloat)
      .reshape(shape)
      .to(at::kDouble);
}

// The greatest |kernel - twin|, over the greatest |twin| when that is above 1.
inline double Distance(const std::vector<float>& kernel, const at::Tensor& twin) {
  const at::Tensor mine = AsTensor(kernel, twin.sizes().vec());
  const double size = twin.abs().max().item<double>();
  return (mine - twin).abs().max().item<double>() / (size > 1 ? size : 1);
}

// A cache of blocks with `tokens` positions; memory after them is NaN, which must never be read into a
// result.
struct TestCache {
  TestCache(int64_t tokens, int64_t width, uint32_t seed) : values(TestValues(tokens * width, seed)) {
    const int64_t blocks = (tokens + kBlockTokens - 1) / kBlockTokens;
    memory.resize(blocks * kBlockTokens * width, std::numeric_limits<float>::quiet_NaN());
    std::copy(values.begin(), values.end(), memory.begin());
    for (int64_t b = 0; b < blocks; ++b) block.push_back(memory.data() + b * kBlockTokens * width);
  }
  std::vector<float> values, memory;  // [tokens, width], [blocks * 64, width]
  std::vector<const float*> block;
};

}  // namespace sluice::kernels
