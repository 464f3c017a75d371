// The calls of kernels.h before attention.h, until their last callers have moved. Blocks are laid out anew.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "core/kernels/kernels.h"

namespace sluice::kernels {
namespace {

struct Copies {
  Copies(const AttentionShape& shape, absl::Span<const AttentionRow> rows) {
    const int64_t bytes = CacheBlockBytes(shape);
    std::map<const float* const*, int64_t> longest;
    for (const AttentionRow& row : rows) {
      int64_t& length = longest[row.blocks];
      length = std::max(length, row.length);
    }
    for (const auto& [blocks, length] : longest) {
      for (int64_t b = 0; b * kBlockTokens < length; ++b) {
        memory.emplace_back(static_cast<std::byte*>(std::aligned_alloc(64, bytes)), std::free);
        for (int64_t t = 0; t < std::min(kBlockTokens, length - b * kBlockTokens); ++t)
          CacheStore(shape, blocks[b] + t * shape.key_dim, nullptr, t, memory.back().get());
        tables[blocks].push_back(memory.back().get());
      }
    }
    for (const AttentionRow& row : rows) cached.push_back({tables[row.blocks].data(), row.length});
  }
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> memory;
  std::map<const float* const*, std::vector<const std::byte*>> tables;
  std::vector<CachedRow> cached;
};

AttentionShape Latent(int64_t heads, int64_t c, int64_t dr, float scale) {
  return {heads, 1, c + dr, c, true, scale, false};
}

}  // namespace

void MlaAttention(const float* q, absl::Span<const AttentionRow> rows, int64_t heads, int64_t c, int64_t dr,
                  float scale, float* out, float* log_sum_exp, ThreadPool* pool) {
  const AttentionShape shape = Latent(heads, c, dr, scale);
  Attention(shape, q, Copies(shape, rows).cached, out, log_sum_exp, pool);
}

void MlaAttentionBackward(const float* q, absl::Span<const AttentionRow> rows,
                          absl::Span<float* const* const> d_blocks, int64_t heads, int64_t c, int64_t dr,
                          float scale, const float* out, const float* log_sum_exp, const float* d_out,
                          float* d_q, ThreadPool* pool) {
  const AttentionShape shape = Latent(heads, c, dr, scale);
  AttentionBackward(shape, q, Copies(shape, rows).cached, {out, log_sum_exp, d_out, d_blocks, d_q}, pool);
}

}  // namespace sluice::kernels
