// The pieces of attention that are compiled once per instruction set, over one head of the cache: a group of
// rows of one sequence and the query heads that read this head.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <cstddef>

namespace sluice::kernels {

// What one kv head's part of a block holds, from `offset` of the block. Rows of values are padded to 16, so
// that whole registers can be read; what the padding holds is never used.
//   float32: keys [key_dim, 64] (absent when value_in_key), then rows [64, stride]
//   bf16: the same in pairs of values: keys [key_dim / 2, 64, 2], then rows [32, stride, 2]
// A row is the value, or the key when value_in_key.
struct CacheHead {
  int64_t key_dim, value_dim;
  bool value_in_key, bf16;
  int64_t stride;      // of rows, in values
  int64_t rows_at;     // bytes from the head's part to its rows
  int64_t part_bytes;  // of one head
};

// q, out and so on hold (row, head) pairs in rising order, m = rows * heads of them.
struct AttentionGroup {
  CacheHead cache;
  int64_t offset;                  // of the head's part in every block, bytes
  const float* q;                  // [m, key_dim]
  const std::byte* const* blocks;  // by block
  const int64_t* lengths;          // by row
  int64_t rows, heads;             // heads: of the queries that read this kv head
  float scale;
};

struct AttentionBackwardGroup {
  AttentionGroup forward;
  const float* log_sum_exp;  // [m]
  const float* d_out;        // [m, value_dim]
  const float* d_dot;        // [m]: sum of d_out * out
};

// Where the gradient of one head's keys and values of a block is added: position t at + t * stride.
struct BlockGradient {
  float* keys;
  float* values;  // unused when value_in_key
  int64_t stride;
};

struct AttentionPieces {
  // One position of one head; value is null when value_in_key.
  void (*store)(const CacheHead& cache, std::byte* part, int64_t slot, const float* key, const float* value);
  // out [m, value_dim]; log_sum_exp [m] or null. Scratch in floats, aligned to 64 bytes:
  // AttentionScratch(m, head).
  void (*forward)(const AttentionGroup& group, float* out, float* log_sum_exp, float* scratch);
  void (*forward_bf16)(const AttentionGroup& group, float* out, float* log_sum_exp, float* scratch);
  bool rounds_queries;  // forward_bf16 rounds queries and probabilities too
  // Gradients of the scores of block `b` into d_scores [m, 64]; adds to `gradient` unless null.
  void (*backward_block)(const AttentionBackwardGroup& group, int64_t b, const BlockGradient* gradient,
                         float* d_scores, float* scratch);
  // d_q [m, key_dim] of (row, head) pairs of rows [row, row_end), from d_scores [blocks, m, 64].
  void (*backward_queries)(const AttentionGroup& group, int64_t row, int64_t row_end, const float* d_scores,
                           float* d_q, float* scratch);
};

// Enough for each of them.
constexpr int64_t AttentionScratch(int64_t m, const CacheHead& head) {
  const int64_t widest = head.key_dim > head.value_dim ? head.key_dim : head.value_dim;
  return (64 * 5 + m) * (widest + 16) + m * (2 * 64 + 3) + 2 * 64 * 64 + 16 * 16;
}

}  // namespace sluice::kernels
