// Absorbed attention over one group of rows that share their blocks: flash attention (Dao et al. 2022,
// algorithm 1; Dao 2023, section 3.1 for the backward) with the three products on the tiles of tile.h. A
// block is transposed once, so that scores have their lanes over positions and no sum runs across lanes.
#include <math.h>

#include "core/kernels/isa_pieces.h"
#include "core/kernels/tile.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

constexpr int64_t kTokens = 64;

#if defined(SLUICE_ISA_AVX512) || defined(SLUICE_ISA_AVX2)
void Transpose8x8(const float* from, int64_t from_stride, float* to, int64_t to_stride) {
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
__attribute__((noinline)) void TransposeOneByOne(const float* from, int64_t from_stride, int64_t rows,
                                                 int64_t columns, float* to, int64_t to_stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_stride + i] = from[i * from_stride + j];
  }
}

void Transpose(const float* from, int64_t from_stride, int64_t rows, int64_t columns, float* to,
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

// y [rows, columns] = (y * row_scale | y | 0) + x [rows, count] w [count, columns], where w is plain memory:
// its last columns, when they are no whole panel, go through `edge` [count, 16].
struct PlainProduct {
  const float* x;
  int64_t x_stride;
  const float* w;
  int64_t w_stride, count, columns;
  float* y;
  int64_t y_stride;
  bool accumulate;
  const float* row_scale;
};
void MultiplyPlain(const PlainProduct& p, int64_t rows, float* edge) {
  const int64_t whole = p.columns / kLanes * kLanes;
  Product<float> product = {p.x, p.x_stride, p.w, p.w_stride, kLanes, p.count, whole, p.y, p.y_stride};
  product.accumulate = p.accumulate;
  product.row_scale = p.row_scale;
  Multiply(product, rows);
  if (whole == p.columns) return;
  for (int64_t k = 0; k < p.count; ++k) {
    Store(edge + k * kLanes, LoadFirst(p.w + k * p.w_stride + whole, p.columns - whole, 0.0f));
  }
  product.w = edge;
  product.row_stride = kLanes;
  product.columns = p.columns - whole;
  product.y = p.y + whole;
  Multiply(product, rows);
}

// [m, lanes over positions] = x [m, count] times the transposed block: scores, or d_out times the values.
void MultiplyTransposed(const float* x, int64_t count, const float* transposed, int64_t positions, float* y,
                        int64_t m) {
  const Product<float> product = {x, count,  transposed, kTokens, kLanes, count, LanesOver(positions),
                                  y, kTokens};
  Multiply(product, m);
}

// One head's scores of one block, in place, become exponentials below the new running maximum; the running
// sum is rescaled. Returns what earlier sums are multiplied with.
float SoftmaxStep(float* scores, int64_t n, float scale, float* max, float* sum) {
  const float lowest = -__builtin_inff();
  Lanes best = Splat(lowest);
  for (int64_t i = 0; i < n; i += kLanes) {
    const Lanes s =
        Mul(n - i >= kLanes ? Load(scores + i) : LoadFirst(scores + i, n - i, lowest), Splat(scale));
    Store(scores + i, s);
    best = Max(s, best);
  }
  const float block_max = MaxOf(best);
  const float new_max = block_max > *max ? block_max : *max;
  const float correction = ExpOne(*max - new_max);
  Lanes total = Splat(0.0f);
  for (int64_t i = 0; i < n; i += kLanes) {
    const Lanes p = Exp(Sub(Load(scores + i), Splat(new_max)));
    Store(scores + i, p);
    total = Add(total, p);
  }
  *sum = *sum * correction + Sum(total);
  *max = new_max;
  return correction;
}

struct Scratch {
  float *transposed, *edge, *scores, *d_probability, *factors, *turned, *stacked, *max, *sum, *correction;
};
Scratch Divide(float* memory, int64_t m, int64_t width) {
  Scratch s;
  s.transposed = memory;
  s.edge = s.transposed + kTokens * width;
  s.scores = s.edge + kTokens * kLanes;
  s.d_probability = s.scores + m * kTokens;
  s.factors = s.d_probability + m * kTokens;
  s.turned = s.factors + kTokens * kTokens;
  s.stacked = s.turned + kTokens * kTokens;
  s.max = s.stacked + kTokens * LanesOver(width);
  s.sum = s.max + m;
  s.correction = s.sum + m;
  return s;
}

}  // namespace

void AttentionIsa(const AttentionGroup& g, float* out, float* log_sum_exp, float* memory) {
  const int64_t width = g.c + g.dr, heads = g.heads, m = g.rows * heads;
  const Scratch s = Divide(memory, m, width);
  for (int64_t i = 0; i < m; ++i) {
    s.max[i] = -__builtin_inff();
    s.sum[i] = 0.0f;
  }
  for (int64_t b = 0;; ++b) {
    const int64_t most = MostSeen(g, b);
    if (most == 0) break;
    const float* block = g.blocks[b];
    Transpose(block, width, LanesOver(most), width, s.transposed, kTokens);
    for (int64_t r = 0; r < g.rows; ++r) {
      if (Seen(g, r, b) == 0) continue;
      const int64_t end = RunEnd(g, r, b, false);
      MultiplyTransposed(g.q + r * heads * width, width, s.transposed, most, s.scores + r * heads * kTokens,
                         (end - r) * heads);
      r = end - 1;
    }
    for (int64_t i = 0; i < m; ++i) {
      const int64_t n = Seen(g, i / heads, b);
      if (n == 0) continue;
      s.correction[i] = SoftmaxStep(s.scores + i * kTokens, n, g.scale, s.max + i, s.sum + i);
    }
    for (int64_t r = 0; r < g.rows; ++r) {
      const int64_t n = Seen(g, r, b), first = r * heads;
      if (n == 0) continue;
      const int64_t end = RunEnd(g, r, b, true);
      MultiplyPlain({s.scores + first * kTokens, kTokens, block, width, n, g.c, out + first * g.c, g.c, b > 0,
                     b > 0 ? s.correction + first : nullptr},
                    (end - r) * heads, s.edge);
      r = end - 1;
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    const float inverse = 1.0f / s.sum[i];
    for (int64_t j = 0; j < g.c; ++j) out[i * g.c + j] *= inverse;
    if (log_sum_exp != nullptr) log_sum_exp[i] = s.max[i] + static_cast<float>(log(s.sum[i]));
  }
}

namespace {

// One head's 64 positions: scores become probabilities; d_scores = scale p (dp - d_dot). Positions that are
// not attended to may hold anything, so they are made 0.
void ScoreGradient(const AttentionBackwardGroup& backward, int64_t i, int64_t n, float* scores,
                   const float* dp, float* d_scores) {
  const Lanes lse = Splat(backward.log_sum_exp[i]), dot = Splat(backward.d_dot[i]);
  const Lanes scale = Splat(backward.forward.scale);
  for (int64_t t = 0; t < kTokens; t += kLanes) {
    const int64_t left = n - t < 0 ? 0 : n - t;
    if (left >= kLanes) {
      const Lanes p = Exp(Sub(Mul(Load(scores + t), scale), lse));
      Store(d_scores + t, Mul(Mul(p, Sub(Load(dp + t), dot)), scale));
      Store(scores + t, p);
    } else {
      const Lanes p = Exp(Sub(Mul(LoadFirst(scores + t, left, 0.0f), scale), lse));
      const Lanes d_score = Mul(Mul(p, Sub(LoadFirst(dp + t, left, 0.0f), dot)), scale);
      Store(d_scores + t, KeepFirst(d_score, left));
      Store(scores + t, KeepFirst(p, left));
    }
  }
}

// d_block += d_scores^T q (keys) + p^T d_out (values, the first c columns), for (row, head) = first .. first
// + count. Both sums are one product over the factors d_score, p, d_score, p, ... in rising (row, head), so
// that its bits do not depend on how rows were grouped.
void AddBlockGradient(const AttentionBackwardGroup& backward, const Scratch& s, int64_t first, int64_t count,
                      int64_t positions, const float* d_scores, float* d_block) {
  const AttentionGroup& g = backward.forward;
  const int64_t width = g.c + g.dr, stride = LanesOver(width), some = kTokens / 2;
  for (int64_t i = first; i < first + count; i += some) {
    const int64_t pairs = first + count - i < some ? first + count - i : some;
    for (int64_t j = 0; j < pairs; ++j) {
      float* key = s.stacked + 2 * j * stride;
      float* value = key + stride;
      __builtin_memset(key, 0, 2 * stride * sizeof(float));
      __builtin_memcpy(key, g.q + (i + j) * width, width * sizeof(float));
      __builtin_memcpy(value, backward.d_out + (i + j) * g.c, g.c * sizeof(float));
      __builtin_memcpy(s.factors + 2 * j * kTokens, d_scores + (i + j) * kTokens, kTokens * sizeof(float));
      __builtin_memcpy(s.factors + (2 * j + 1) * kTokens, s.scores + (i + j) * kTokens,
                       kTokens * sizeof(float));
    }
    Transpose(s.factors, kTokens, 2 * pairs, kTokens, s.turned, kTokens);
    Product<float> product = {s.turned, kTokens, s.stacked, stride, kLanes, 2 * pairs, width, d_block, width};
    product.accumulate = true;
    Multiply(product, positions);
  }
}

}  // namespace

// With p = exp(score - log_sum_exp), dp = d_out . value: d_score = scale p (dp - d_dot) (Dao 2023, algorithm
// 2).
void AttentionBackwardBlockIsa(const AttentionBackwardGroup& backward, int64_t b, float* d_block,
                               float* d_scores, float* memory) {
  const AttentionGroup& g = backward.forward;
  const int64_t width = g.c + g.dr, heads = g.heads, m = g.rows * heads;
  const int64_t most = MostSeen(g, b);
  const Scratch s = Divide(memory, m, width);
  Transpose(g.blocks[b], width, LanesOver(most), width, s.transposed, kTokens);
  for (int64_t r = 0; r < g.rows; ++r) {
    if (Seen(g, r, b) == 0) continue;
    const int64_t end = RunEnd(g, r, b, false), first = r * heads, count = (end - r) * heads;
    MultiplyTransposed(g.q + first * width, width, s.transposed, most, s.scores + first * kTokens, count);
    MultiplyTransposed(backward.d_out + first * g.c, g.c, s.transposed, most,
                       s.d_probability + first * kTokens, count);
    for (int64_t i = first; i < first + count; ++i) {
      ScoreGradient(backward, i, Seen(g, i / heads, b), s.scores + i * kTokens, s.d_probability + i * kTokens,
                    d_scores + i * kTokens);
    }
    if (d_block != nullptr) AddBlockGradient(backward, s, first, count, most, d_scores, d_block);
    r = end - 1;
  }
}

void AttentionBackwardQueriesIsa(const AttentionGroup& g, int64_t row, int64_t row_end, const float* d_scores,
                                 float* d_q, float* memory) {
  const int64_t width = g.c + g.dr, heads = g.heads, m = g.rows * heads;
  float* edge = Divide(memory, m, width).edge;
  for (int64_t b = 0; MostSeen(g, b) > 0; ++b) {
    for (int64_t r = row; r < row_end; ++r) {
      const int64_t n = Seen(g, r, b), first = r * heads;
      if (n == 0) continue;
      int64_t end = RunEnd(g, r, b, true);
      if (end > row_end) end = row_end;
      MultiplyPlain({d_scores + (b * m + first) * kTokens, kTokens, g.blocks[b], width, n, width,
                     d_q + first * width, width, b > 0, nullptr},
                    (end - r) * heads, edge);
      r = end - 1;
    }
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
