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

inline int64_t LanesOver(int64_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Keys [key_dim, 64] of the first `most` positions of a block of rows [64, stride].
inline void TurnBlock(const float* rows, int64_t stride, int64_t most, int64_t key_dim, float* keys) {
  Transpose(rows, stride, LanesOver(most), key_dim, keys, kTokens);
}

#if defined(SLUICE_ISA_AVX512)
// to[e, t] = from[t, e] for 8 x 8 elements of four values: two dimensions of two positions. Strides in pairs.
inline void Turn8x8(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  // [(t, e) (t+1, e)] [(t, e+1) (t+1, e+1)] becomes [(t, e) (t, e+1)] [(t+1, e) (t+1, e+1)].
  const __m512i swap = _mm512_set4_epi32(0x0F0E0B0A, 0x0D0C0908, 0x07060302, 0x05040100);
  __m512i a[8], b[8];
#pragma GCC unroll 8
  for (int t = 0; t < 8; ++t) a[t] = _mm512_shuffle_epi8(_mm512_loadu_si512(from + t * from_stride), swap);
#pragma GCC unroll 4
  for (int t = 0; t < 8; t += 2) {
    b[t] = _mm512_unpacklo_epi64(a[t], a[t + 1]);
    b[t + 1] = _mm512_unpackhi_epi64(a[t], a[t + 1]);
  }
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {  // elements e of the parity j
    const __m512i p = _mm512_shuffle_i64x2(b[j], b[j + 2], 0x88);
    const __m512i q = _mm512_shuffle_i64x2(b[j], b[j + 2], 0xDD);
    const __m512i r = _mm512_shuffle_i64x2(b[j + 4], b[j + 6], 0x88);
    const __m512i s = _mm512_shuffle_i64x2(b[j + 4], b[j + 6], 0xDD);
    _mm512_storeu_si512(to + (0 + j) * to_stride, _mm512_shuffle_i64x2(p, r, 0x88));
    _mm512_storeu_si512(to + (4 + j) * to_stride, _mm512_shuffle_i64x2(p, r, 0xDD));
    _mm512_storeu_si512(to + (2 + j) * to_stride, _mm512_shuffle_i64x2(q, s, 0x88));
    _mm512_storeu_si512(to + (6 + j) * to_stride, _mm512_shuffle_i64x2(q, s, 0xDD));
  }
}
#endif

// The same in pairs: rows [32, stride, 2] to keys [key_dim / 2, 64, 2]. Rows are padded to 16 values, which
// is where whole registers end.
inline void TurnBlock(const uint16_t* rows, int64_t stride, int64_t most, int64_t key_dim, uint16_t* keys) {
#if defined(SLUICE_ISA_AVX512)
  const uint32_t* from = reinterpret_cast<const uint32_t*>(rows);
  uint32_t* to = reinterpret_cast<uint32_t*>(keys);
  for (int64_t t = 0; 2 * t < most; t += 8) {
    for (int64_t e = 0; 2 * e < key_dim; e += 8) {
      Turn8x8(from + t * stride + 2 * e, stride, to + e * kTokens + 2 * t, kTokens);
    }
  }
#else
  for (int64_t t = 0; t < most; ++t) {
    for (int64_t i = 0; i < LanesOver(key_dim); ++i) {
      keys[(i / 2 * kTokens + t) * 2 + i % 2] = rows[(t / 2 * stride + i) * 2 + t % 2];
    }
  }
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
inline const float* Keys(const AttentionGroup& g, int64_t b) {
  return reinterpret_cast<const float*>(g.blocks[b] + g.offset);
}
inline const float* Rows(const AttentionGroup& g, int64_t b) {
  return reinterpret_cast<const float*>(g.blocks[b] + g.offset + g.cache.rows_at);
}

}  // namespace sluice::kernels::SLUICE_ISA
