// What the pieces of attention share: how a group's rows see a block, and the block turned about. Included
// only by the attention*_isa.cc files.
#pragma once

#include "core/kernels/attention_pieces.h"
#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {

constexpr int64_t kTokens = 64;

#if defined(SLUICE_ISA_AVX512) || defined(SLUICE_ISA_AVX2)
inline void Transpose8x8(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
  __m256 a[8], b[8];
  for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(from + i * from_stride);
  for (int i = 0; i < 4; ++i) {
    b[2 * i] = _mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]);
    b[2 * i + 1] = _mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]);
  }
  for (int i = 0; i < 2; ++i) {
    a[4 * i] = _mm256_shuffle_ps(b[4 * i], b[4 * i + 2], 0x44);
    a[4 * i + 1] = _mm256_shuffle_ps(b[4 * i], b[4 * i + 2], 0xEE);
    a[4 * i + 2] = _mm256_shuffle_ps(b[4 * i + 1], b[4 * i + 3], 0x44);
    a[4 * i + 3] = _mm256_shuffle_ps(b[4 * i + 1], b[4 * i + 3], 0xEE);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(to + i * to_stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
    _mm256_storeu_ps(to + (i + 4) * to_stride, _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
  }
}
#endif

// to[j, i] = from[i, j] for `rows` rows of `columns`.
__attribute__((noinline, unused)) static void TransposeOneByOne(const float* from, int64_t from_stride,
                                                                int64_t rows, int64_t columns, float* to,
                                                                int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

inline void Transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
                      int64_t to_stride) {
#if defined(SLUICE_ISA_AVX512) || defined(SLUICE_ISA_AVX2)
  const int64_t even_rows = rows / 8 * 8, even_columns = columns / 8 * 8;
  for (int64_t i = 0; i < even_rows; i += 8) {
    for (int64_t j = 0; j < even_columns; j += 8) {
      Transpose8x8(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    }
  }
  TransposeOneByOne(from + even_columns, from_stride, even_rows, columns - even_columns,
                    to + even_columns * to_stride, to_stride);
  TransposeOneByOne(from + even_rows * from_stride, from_stride, rows - even_rows, columns, to + even_rows,
                    to_stride);
#else
  TransposeOneByOne(from, from_stride, rows, columns, to, to_stride);
#endif
}

// Positions of block b that row r attends to.
inline int64_t Seen(const AttentionGroup& g, int64_t r, int64_t b) {
  const int64_t n = g.lengths[r] - b * kTokens;
  return n < 0 ? 0 : n > kTokens ? kTokens : n;
}
inline int64_t MostSeen(const AttentionGroup& g, int64_t b) {
  int64_t most = 0;
  for (int64_t r = 0; r < g.rows; ++r) {
    const int64_t n = Seen(g, r, b);
    if (n > most) most = n;
  }
  return most;
}
// The first row after r that sees another number of positions (`same`), or that sees none.
inline int64_t RunEnd(const AttentionGroup& g, int64_t r, int64_t b, bool same) {
  const int64_t n = Seen(g, r, b);
  int64_t end = r + 1;
  while (end < g.rows && (same ? Seen(g, end, b) == n : Seen(g, end, b) > 0)) ++end;
  return end;
}
inline int64_t LanesOver(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

inline const float* Keys(const AttentionGroup& g, int64_t b) {
  return reinterpret_cast<const float*>(g.blocks[b] + g.offset);
}
inline const float* Rows(const AttentionGroup& g, int64_t b) {
  return reinterpret_cast<const float*>(g.blocks[b] + g.offset + g.cache.rows_at);
}

}  // namespace sluice::kernels::SLUICE_ISA
