// Attention over a paged cache, one operation for all models: every query head attends to the cached keys of
// its group of heads. Multi-head (kv_heads = heads), grouped (Ainslie et al. 2023), multi-query (kv_heads =
// 1) and absorbed multi-head latent attention (DeepSeek-V2, section 2.1.2: one cached vector [latent ; k_pe],
// of which the latent is also the value) differ by AttentionShape alone.
//
// The cache is in blocks of kBlockTokens positions; block b holds positions [64 b, 64 b + 64). What is inside
// a block is the kernels' own: only CacheStore writes it, only the functions here read it. Blocks are
// combined in rising order with a running maximum (Dao et al. 2022, algorithm 1), so that a row's result does
// not depend on the call it is in (invariant INVARIANT). Thread-safe; `pool` may be null.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/base/thread_pool.h"

namespace sluice::kernels {

constexpr int64_t kBlockTokens = 64;

struct AttentionShape {
  int64_t heads = 0,
          kv_heads = 0;  // heads is a multiple of kv_heads; head h reads kv head h / (heads / kv_heads)
  int64_t key_dim = 0, value_dim = 0;  // of one head
  bool value_in_key = false;           // the value is the key's first value_dim dimensions, not stored again
  float scale = 1;                     // of the scores
  // Keys and values are rounded to bfloat16 in the cache; on the paths cpu-avx512-bf16 and cpu-amx so are
  // queries and probabilities before their products. Sums are float32, and so is everything else.
  bool bf16 = false;
};

// Bytes of one layer's block, a multiple of 64. Blocks must be aligned to 64 bytes.
int64_t CacheBlockBytes(const AttentionShape& shape);
// Writes one position: key [kv_heads, key_dim] (rotated, normed, as attended to), value [kv_heads, value_dim]
// or null when value_in_key. `slot` = position mod kBlockTokens. Different slots of one block may be written
// by different threads at once.
void CacheStore(const AttentionShape& shape, const float* key, const float* value, int64_t slot,
                std::byte* block);
// Reads one position back as attention sees it (rounded). `value` may be null.
void CacheLoad(const AttentionShape& shape, const std::byte* block, int64_t slot, float* key, float* value);

struct CachedRow {
  const std::byte* const* blocks = nullptr;  // of one sequence in this layer
  int64_t length = 0;                        // positions attended to, >= 1 (the row's own position + 1)
};
// q [rows, heads, key_dim], out [rows, heads, value_dim]; log_sum_exp [rows, heads] may be null. Consecutive
// rows with the same `blocks` pointer are read together.
void Attention(const AttentionShape& shape, const float* q, absl::Span<const CachedRow> rows, float* out,
               float* log_sum_exp, ThreadPool* pool);

// Gradients, for the learner (Dao 2023, section 3.1). d_blocks[r][b] is where the gradient of row r's block b
// is added, plain float32: for each of kBlockTokens positions the keys [kv_heads, key_dim], then, unless
// value_in_key, the values [kv_heads, value_dim]; null: not wanted. Rows are handled in order, so sums into
// shared blocks have a fixed order. d_q [rows, heads, key_dim] is overwritten.
struct AttentionGradient {
  const float* out = nullptr;          // of the forward
  const float* log_sum_exp = nullptr;  // of the forward
  const float* d_out = nullptr;        // [rows, heads, value_dim]
  absl::Span<float* const* const> d_blocks;
  float* d_q = nullptr;
};
void AttentionBackward(const AttentionShape& shape, const float* q, absl::Span<const CachedRow> rows,
                       const AttentionGradient& gradient, ThreadPool* pool);

}  // namespace sluice::kernels
