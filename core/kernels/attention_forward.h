// Attention of one group over one head of the cache: flash attention (Dao et al. 2022, algorithm 1). Scores
// have their lanes over positions and outputs over dimensions, so that no sum runs across lanes; every score
// and every output is one accumulator, over dimensions or positions in rising order.
//
// `Math` says how the products are computed:
//   kPair       consecutive k that lie side by side in the cache: 1 (float32) or 2 (bfloat16)
//   Input       of x: queries and probabilities, kPerPair of them for each kPair k
//   Value       of the cache
//   Prepare     x from float32
//   Factors<P>  P panels of 16 values, ready to be multiplied
//   First       the same with the second ones of each pair made 0
//   Add         sum + x * factor
#pragma once

#include <math.h>

#include "core/kernels/attention_block.h"
#include "core/kernels/isa_pieces.h"

namespace sluice::kernels::SLUICE_ISA {

#if defined(SLUICE_ISA_AVX512)
constexpr int kTallestTile = 6;
constexpr int WidestTile(int) { return 4; }
#elif defined(SLUICE_ISA_AVX2)
constexpr int kTallestTile = 6;
constexpr int WidestTile(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }
#else
constexpr int kTallestTile = 2;
constexpr int WidestTile(int) { return 2; }
#endif

struct FloatMath {
  static constexpr int64_t kPair = 1, kPerPair = 1;
  using Input = float;
  using Value = float;
  struct Factor {
    Lanes value;
  };
  static const float* Prepare(const float* x, int64_t, int64_t, float*) { return x; }
  static Factor Read(const float* w) { return {Load(w)}; }
  static Factor ReadFirst(const float* w) { return Read(w); }
  static Lanes Add(Lanes sum, const float* x, const Factor& f) { return Fma(Splat(*x), f.value, sum); }
};

// bfloat16 caches widened to float32; queries and probabilities stay float32.
struct WidenedMath {
  static constexpr int64_t kPair = 2, kPerPair = 2;
  using Input = float;
  using Value = uint16_t;
  struct Factor {
    Lanes first, second;
  };
  // Odd dimensions get a 0 behind them.
  static const float* Prepare(const float* x, int64_t rows, int64_t dim, float* to) {
    if (dim % 2 == 0) return x;
    for (int64_t r = 0; r < rows; ++r) {
      __builtin_memcpy(to + r * (dim + 1), x + r * dim, dim * sizeof(float));
      to[r * (dim + 1) + dim] = 0.0f;
    }
    return to;
  }
  static Factor Read(const uint16_t* w) { return {LoadEven(w), LoadOdd(w)}; }
  static Factor ReadFirst(const uint16_t* w) { return {LoadEven(w), Splat(0.0f)}; }
  static Lanes Add(Lanes sum, const float* x, const Factor& f) {
    return Fma(Splat(x[1]), f.second, Fma(Splat(x[0]), f.first, sum));
  }
};

// x [rows, x_stride] times w [pairs of k, w_stride] into y [rows, columns]; strides in elements.
template <class Math>
struct BlockProduct {
  const typename Math::Input* x;
  int64_t x_stride;
  const typename Math::Value* w;
  int64_t w_stride, columns;
  float* y;
  int64_t y_stride;
};

// Pairs [from, to) of k; with `half`, of pair `to` only the first.
template <class Math, int R, int P>
inline void AddPairs(const typename Math::Input* x, int64_t x_stride, const typename Math::Value* w,
                     int64_t w_stride, int64_t from, int64_t to, bool half, Lanes (&sum)[R][P]) {
  for (int64_t k = from; k < to; ++k) {
    typename Math::Factor factor[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) factor[p] = Math::Read(w + k * w_stride + p * kLanes * Math::kPair);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p)
        sum[r][p] = Math::Add(sum[r][p], x + r * x_stride + k * Math::kPerPair, factor[p]);
    }
  }
  if (Math::kPair == 1 || !half) return;
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) {
    const typename Math::Factor factor = Math::ReadFirst(w + to * w_stride + p * kLanes * Math::kPair);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      sum[r][p] = Math::Add(sum[r][p], x + r * x_stride + to * Math::kPerPair, factor);
  }
}

template <class Math, int R, int P>
__attribute__((noinline)) void ScoreTile(const BlockProduct<Math>& a, int64_t row, int64_t column,
                                         int64_t pairs) {
  Lanes sum[R][P];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) sum[r][p] = Splat(0.0f);
  }
  AddPairs<Math, R, P>(a.x + row * a.x_stride, a.x_stride, a.w + column * Math::kPair, a.w_stride, 0, pairs,
                       false, sum);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) Store(a.y + (row + r) * a.y_stride + column + p * kLanes, sum[r][p]);
  }
}

// y = y * scale + probabilities times values, or without y where there is no scale. Row r sees seen[r]
// positions: what all rows see is summed together, then the rest of each.
template <class Math, int R, int P>
__attribute__((noinline)) void ValueTile(const BlockProduct<Math>& a, int64_t row, int64_t column,
                                         const int64_t* seen, const float* scale) {
  Lanes sum[R][P];
  int64_t least = seen[0];
  bool same = true;
  for (int r = 1; r < R; ++r) {
    same = same && seen[r] == seen[0];
    if (seen[r] < least) least = seen[r];
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      const float* y = a.y + (row + r) * a.y_stride + column + p * kLanes;
      const int64_t left = a.columns - column - p * kLanes;
      sum[r][p] = Splat(0.0f);
      if (scale != nullptr)
        sum[r][p] = Mul(left >= kLanes ? Load(y) : LoadFirst(y, left, 0.0f), Splat(scale[r]));
    }
  }
  const typename Math::Input* x = a.x + row * a.x_stride;
  const typename Math::Value* w = a.w + column * Math::kPair;
  AddPairs<Math, R, P>(x, a.x_stride, w, a.w_stride, 0, least / Math::kPair, same && least % Math::kPair != 0,
                       sum);
  if (!same) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      Lanes one[1][P];
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) one[0][p] = sum[r][p];
      AddPairs<Math, 1, P>(x + r * a.x_stride, 0, w, a.w_stride, least / Math::kPair, seen[r] / Math::kPair,
                           seen[r] % Math::kPair != 0, one);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum[r][p] = one[0][p];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      float* y = a.y + (row + r) * a.y_stride + column + p * kLanes;
      const int64_t left = a.columns - column - p * kLanes;
      if (left >= kLanes) {
        Store(y, sum[r][p]);
      } else {
        StoreFirst(y, left, sum[r][p]);
      }
    }
  }
}

// tile.Run<R, P>(row, column) over rows [row, row_end) and `columns`.
template <int R, class Tile>
void OverColumns(int64_t row, int64_t columns, const Tile& tile) {
  constexpr int kWide = WidestTile(R);
  int64_t column = 0;
  for (; columns - column > (kWide - 1) * kLanes; column += kWide * kLanes)
    tile.template Run<R, kWide>(row, column);
  for (; column < columns; column += kLanes) tile.template Run<R, 1>(row, column);
}
template <int R, class Tile>
void OverLastRows(int64_t row, int64_t row_end, int64_t columns, const Tile& tile) {
  if (row_end - row == R) return OverColumns<R>(row, columns, tile);
  if constexpr (R > 1) OverLastRows<R - 1>(row, row_end, columns, tile);
}
template <class Tile>
void OverTiles(int64_t row, int64_t row_end, int64_t columns, const Tile& tile) {
  for (; row + kTallestTile <= row_end; row += kTallestTile) OverColumns<kTallestTile>(row, columns, tile);
  OverLastRows<kTallestTile - 1>(row, row_end, columns, tile);
}

template <class Math>
struct ScoreTiles {
  const BlockProduct<Math>& product;
  int64_t pairs;
  template <int R, int P>
  void Run(int64_t row, int64_t column) const {
    ScoreTile<Math, R, P>(product, row, column, pairs);
  }
};
template <class Math>
struct ValueTiles {
  const BlockProduct<Math>& product;
  const AttentionGroup& group;
  int64_t block;
  const float* correction;  // [m] or null
  template <int R, int P>
  void Run(int64_t row, int64_t column) const {
    int64_t seen[R];
    for (int r = 0; r < R; ++r) seen[r] = Seen(group, (row + r) / group.heads, block);
    ValueTile<Math, R, P>(product, row, column, seen, correction == nullptr ? nullptr : correction + row);
  }
};

// One head's scores of one block, in place, become exponentials below the new running maximum; the running
// sum is rescaled. Returns what earlier sums are multiplied with.
inline float SoftmaxStep(float* scores, int64_t n, float scale, float* max, float* sum) {
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

template <class Math>
struct ForwardScratch {
  using Input = typename Math::Input;
  ForwardScratch(float* memory, int64_t m, const CacheHead& cache)
      : turned(reinterpret_cast<typename Math::Value*>(memory)),
        scores(memory + kTokens * LanesOver(cache.key_dim)),
        probabilities(reinterpret_cast<Input*>(scores + m * kTokens)),
        q(probabilities + m * kTokens),
        max(reinterpret_cast<float*>(q + m * (cache.key_dim + 1))),
        sum(max + m),
        correction(sum + m) {}
  typename Math::Value* turned;  // keys of a block
  float* scores;                 // [m, 64]
  Input *probabilities, *q;      // what Prepare made
  float *max, *sum, *correction;
};

// The rows of runs that see block b.
template <class Tile>
void OverSeen(const AttentionGroup& g, int64_t b, int64_t columns, const Tile& tile) {
  for (int64_t r = 0; r < g.rows; ++r) {
    if (Seen(g, r, b) == 0) continue;
    const int64_t end = RunEnd(g, r, b, false);
    OverTiles(r * g.heads, end * g.heads, columns, tile);
    r = end - 1;
  }
}

template <class Math>
void Attend(const AttentionGroup& g, float* out, float* log_sum_exp, float* memory) {
  using Value = typename Math::Value;
  constexpr int64_t kPair = Math::kPair, kPerPair = Math::kPerPair;
  const CacheHead& cache = g.cache;
  const int64_t m = g.rows * g.heads, value_dim = cache.value_dim;
  const int64_t key_pairs = (cache.key_dim + kPair - 1) / kPair;
  const ForwardScratch<Math> s(memory, m, cache);
  const typename Math::Input* q = Math::Prepare(g.q, m, cache.key_dim, s.q);
  for (int64_t i = 0; i < m; ++i) {
    s.max[i] = -__builtin_inff();
    s.sum[i] = 0.0f;
  }
  for (int64_t b = 0;; ++b) {
    const int64_t most = MostSeen(g, b);
    if (most == 0) break;
    const Value* rows = reinterpret_cast<const Value*>(Rows(g, b));
    const Value* keys = reinterpret_cast<const Value*>(Keys(g, b));
    if (cache.value_in_key) {
      TurnBlock(rows, cache.stride, most, cache.key_dim, s.turned);
      keys = s.turned;
    }
    const BlockProduct<Math> scores = {q,      key_pairs * kPerPair, keys, kTokens * kPair, kTokens, s.scores,
                                       kTokens};
    OverSeen(g, b, LanesOver(most), ScoreTiles<Math>{scores, key_pairs});
    for (int64_t i = 0; i < m; ++i) {
      const int64_t n = Seen(g, i / g.heads, b);
      if (n > 0) s.correction[i] = SoftmaxStep(s.scores + i * kTokens, n, g.scale, s.max + i, s.sum + i);
    }
    const BlockProduct<Math> values = {Math::Prepare(s.scores, m, kTokens, s.probabilities),
                                       kTokens / kPair * kPerPair,
                                       rows,
                                       cache.stride * kPair,
                                       value_dim,
                                       out,
                                       value_dim};
    OverSeen(g, b, value_dim, ValueTiles<Math>{values, g, b, b > 0 ? s.correction : nullptr});
  }
  for (int64_t i = 0; i < m; ++i) {
    const float inverse = 1.0f / s.sum[i];
    for (int64_t j = 0; j < value_dim; ++j) out[i * value_dim + j] *= inverse;
    if (log_sum_exp != nullptr) log_sum_exp[i] = s.max[i] + static_cast<float>(log(s.sum[i]));
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
