// Random inputs of the kernels' tests: the same on every run.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

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

// A cache of blocks with `tokens` positions. What was not stored is NaN, which must never be read into a
// result.
struct TestCache {
  TestCache(const AttentionShape& shape, int64_t tokens, uint32_t seed)
      : shape(shape),
        keys(TestValues(tokens * shape.kv_heads * shape.key_dim, seed)),
        values(shape.value_in_key ? std::vector<float>()
                                  : TestValues(tokens * shape.kv_heads * shape.value_dim, seed + 1)) {
    const int64_t bytes = CacheBlockBytes(shape), count = (tokens + kBlockTokens - 1) / kBlockTokens;
    memory.resize(count * bytes / sizeof(Line));
    for (Line& line : memory)
      std::fill(line.floats, line.floats + 16, std::numeric_limits<float>::quiet_NaN());
    for (int64_t b = 0; b < count; ++b)
      blocks.push_back(reinterpret_cast<std::byte*>(memory.data()) + b * bytes);
    table.assign(blocks.begin(), blocks.end());
    for (int64_t t = 0; t < tokens; ++t) Store(t);
  }
  TestCache(const TestCache&) = delete;
  TestCache& operator=(const TestCache&) = delete;

  int64_t key_width() const { return shape.kv_heads * shape.key_dim; }
  int64_t value_width() const { return shape.value_in_key ? 0 : shape.kv_heads * shape.value_dim; }
  void Store(int64_t t) {
    CacheStore(shape, &keys[t * key_width()], values.empty() ? nullptr : &values[t * value_width()],
               t % kBlockTokens, blocks[t / kBlockTokens]);
  }

  struct alignas(64) Line {
    float floats[16];
  };
  AttentionShape shape;
  std::vector<float> keys, values;  // [tokens, kv_heads, key_dim], [tokens, kv_heads, value_dim]
  std::vector<Line> memory;
  std::vector<std::byte*> blocks;
  std::vector<const std::byte*> table;  // the same, for CachedRow
};

}  // namespace sluice::kernels
