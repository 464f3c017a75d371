// The matrix product on weights of bfloat16 in pairs of k: panels [pair][16 outputs][2], as vdpbf16ps and the
// tiles of AMX read them. A tile of rows by panels is kept in registers; each output is one accumulator that
// takes the pairs in rising order, so neither the tile's shape nor the cutting of k shows in a result.
//
// What one pair adds to an accumulator is the Math's: WidenedPairs here (two fused multiply-adds of float32),
// DottedPairs in linear_bf16_isa.cc.
#pragma once

#include "core/kernels/kernel_table.h"
#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {

// The next inputs of R rows. Every third row has an address of its own and the processor adds one or two
// strides to it, so that the addresses of a tall tile fit the registers.
template <int R, class Input>
struct RowCursor {
  static constexpr int kBases = (R + 2) / 3;
  RowCursor(const Input* x, int64_t stride) : stride_bytes(stride * static_cast<int64_t>(sizeof(Input))) {
#pragma GCC unroll 8
    for (int b = 0; b < kBases; ++b) {
      base[b] = reinterpret_cast<const char*>(x + 3 * b * stride);
      asm("" : "+r"(base[b]));
    }
  }
  inline __attribute__((always_inline)) const Input* Row(int r) const {
    return reinterpret_cast<const Input*>(base[r / 3] + (r % 3) * stride_bytes);
  }
  inline __attribute__((always_inline)) void Advance(int64_t bytes) {
#pragma GCC unroll 8
    for (int b = 0; b < kBases; ++b) {
      base[b] += bytes;
      asm("" : "+r"(base[b]));  // else the compiler keeps one address a row
    }
  }
  const char* base[kBases];
  int64_t stride_bytes;
};

// y[r, j] (+)= sum over k in [0, count) of x[r, k] w[k, j].
template <class Math>
struct PairProduct {
  const typename Math::Input* x;
  int64_t x_stride;
  const uint16_t* w;     // of the first pair to take
  int64_t panel_stride;  // in values
  int64_t count, columns;
  float* y;
  int64_t y_stride;
  bool accumulate;    // starts from y instead of 0
  const float* bias;  // [columns] added last, or null
  // Weights that come after the last panel of the call, as `w`, to be fetched meanwhile; or null.
  const uint16_t* next;
};

// A block's activations as the product reads them. `stride` in values of Input.
template <class Input>
struct Activations {
  const Input* x;
  int64_t stride;
};

// float32 activations; weights widened exactly. Even k before odd: rising k.
struct WidenedPairs {
  using Input = float;
  static constexpr int64_t kValueBytes = sizeof(float);
  // As they lie, or copied where all rows would fall into the same sets of the cache.
  static Activations<float> Prepare(const LinearPiece& p, int64_t row, int64_t rows, int64_t k,
                                    int64_t count);
  static constexpr int64_t kPairBytes = 2 * sizeof(float);
  // `w`: the pair in the first of P panels, `stride` values apart.
  template <int R, int P>
  static inline __attribute__((always_inline)) void AddPair(Lanes (&sum)[R][P], const RowCursor<R, float>& x,
                                                            const uint16_t* w, int64_t stride) {
    AddHalf(sum, x, w, stride);
    Lanes weight[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) weight[p] = LoadOdd(w + p * stride);
    AddOne<1>(sum, x, weight);
  }
  // The even half, for a last pair whose odd half is padding.
  template <int R, int P>
  static inline __attribute__((always_inline)) void AddHalf(Lanes (&sum)[R][P], const RowCursor<R, float>& x,
                                                            const uint16_t* w, int64_t stride) {
    Lanes weight[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) weight[p] = LoadEven(w + p * stride);
    AddOne<0>(sum, x, weight);
  }

 private:
  template <int Half, int R, int P>
  static inline __attribute__((always_inline)) void AddOne(Lanes (&sum)[R][P], const RowCursor<R, float>& x,
                                                           const Lanes (&weight)[P]) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Lanes value = Splat(x.Row(r)[Half]);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum[r][p] = Fma(value, weight[p], sum[r][p]);
    }
  }
};

#if defined(SLUICE_ISA_AVX512)
constexpr int kPairRows = 13;
constexpr int PairPanels(int rows) { return rows <= 2 ? 8 : rows <= 6 ? 4 : 2; }
#elif defined(SLUICE_ISA_AVX2)
constexpr int kPairRows = 6;
constexpr int PairPanels(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }
#else
constexpr int kPairRows = 2;
constexpr int PairPanels(int rows) { return 2; }
#endif

// A line into the second cache; nothing happens where there is no memory.
inline __attribute__((always_inline)) void Fetch(uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

// R rows by P whole panels. `w` and `y` are of the first panel. Fetches A panels from `ahead` meanwhile.
// Calls nothing: the sums would leave their registers.
template <int R, int P, int A, class Math>
__attribute__((noinline)) void PairTile(const PairProduct<Math>& a, const typename Math::Input* x,
                                        const uint16_t* w, float* y, int64_t y_stride,
                                        const uint16_t* ahead) {
  Lanes sum[R][P];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) sum[r][p] = Splat(0.0f);
  }
  if (a.accumulate) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum[r][p] = Load(y + r * y_stride + p * kLanes);
    }
  }
  RowCursor<R, typename Math::Input> inputs(x, a.x_stride);
  const int64_t panel_stride = a.panel_stride;
  const uintptr_t distance = reinterpret_cast<uintptr_t>(ahead) - reinterpret_cast<uintptr_t>(w);
  for (int64_t pair = a.count / 2; pair > 0; --pair) {
#pragma GCC unroll 8
    for (int p = 0; p < A; ++p) Fetch(reinterpret_cast<uintptr_t>(w + p * panel_stride) + distance);
    Math::AddPair(sum, inputs, w, panel_stride);
    inputs.Advance(Math::kPairBytes);
    w += 2 * kLanes;
  }
  if (a.count % 2 != 0) Math::AddHalf(sum, inputs, w, panel_stride);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) Store(y + r * y_stride + p * kLanes, sum[r][p]);
  }
}

// The same where the last panel has columns that y lacks: by way of rows that have them.
template <int R, int P, int A, class Math>
__attribute__((noinline)) void RaggedPairTile(const PairProduct<Math>& a, const typename Math::Input* x,
                                              const uint16_t* w, float* y, int64_t columns,
                                              const uint16_t* ahead) {
  constexpr int64_t kWidth = P * kLanes;
  float whole[R * kWidth] = {};
  for (int r = 0; a.accumulate && r < R; ++r) {
    __builtin_memcpy(whole + r * kWidth, y + r * a.y_stride, columns * sizeof(float));
  }
  PairTile<R, P, A>(a, x, w, whole, kWidth, ahead);
  for (int r = 0; r < R; ++r) {
    __builtin_memcpy(y + r * a.y_stride, whole + r * kWidth, columns * sizeof(float));
  }
}

template <int R, int P, int A, class Math>
void PairTileAt(const PairProduct<Math>& a, int64_t row, int64_t panel, const uint16_t* ahead) {
  const int64_t column = panel * kLanes, left = a.columns - column;
  const typename Math::Input* x = a.x + row * a.x_stride;
  const uint16_t* w = a.w + panel * a.panel_stride;
  float* y = a.y + row * a.y_stride + column;
  if (left >= P * kLanes) {
    PairTile<R, P, A>(a, x, w, y, a.y_stride, ahead);
  } else {
    RaggedPairTile<R, P, A>(a, x, w, y, left, ahead);
  }
  if (a.bias == nullptr) return;
  const int64_t columns = left < P * kLanes ? left : P * kLanes;
  for (int r = 0; r < R; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[r * a.y_stride + c] += a.bias[column + c];
  }
}

// What is read after the panels up to `panel`, of which the last is `panel_end` - 1.
template <class Math>
const uint16_t* After(const PairProduct<Math>& a, int64_t panel, int64_t panel_end) {
  return panel < panel_end ? a.w + panel * a.panel_stride : a.next;
}

// The only rows by the panels [panel, panel_end), P at a time, then what is left with fewer. Few rows pass
// too fast for more than the processor fetches by itself.
template <int R, int P, class Math>
void PairTilesAcross(const PairProduct<Math>& a, int64_t panel, int64_t panel_end) {
  for (; panel + P <= panel_end; panel += P) {
    if (const uint16_t* ahead = After(a, panel + P, panel_end); R > 2 && ahead != nullptr) {
      PairTileAt<R, P, P>(a, 0, panel, ahead);
    } else {
      PairTileAt<R, P, 0>(a, 0, panel, nullptr);
    }
  }
  if constexpr (P > 1) {
    if (panel < panel_end) PairTilesAcross<R, P / 2>(a, panel, panel_end);
  }
}
template <int R, class Math>
void PairTilesOfRows(const PairProduct<Math>& a, int64_t rows, int64_t panel, int64_t panel_end) {
  if (rows == R) return PairTilesAcross<R, PairPanels(R)>(a, panel, panel_end);
  if constexpr (R > 1) PairTilesOfRows<R - 1>(a, rows, panel, panel_end);
}

// `rows` of R or fewer by the P panels from `panel`. Fetches a panel from `ahead` unless that is null.
template <int R, int P, class Math>
void PairTileOfBand(const PairProduct<Math>& a, int64_t row, int64_t rows, int64_t panel,
                    const uint16_t* ahead) {
  if (rows == R) {
    if (ahead != nullptr) return PairTileAt<R, P, 1>(a, row, panel, ahead);
    return PairTileAt<R, P, 0>(a, row, panel, ahead);
  }
  if constexpr (R > kPairRows / 2) PairTileOfBand<R - 1, P>(a, row, rows, panel, ahead);
}

// All rows by panels [panel, panel_end), P at a time: these stay in the nearest caches while the rows pass,
// in tiles of nearly equal height, each of which fetches one of the next P.
template <int P, class Math>
void PairTilesOfBands(const PairProduct<Math>& a, int64_t rows, int64_t panel, int64_t panel_end) {
  const int64_t tiles = (rows + kPairRows - 1) / kPairRows;
  for (; panel + P <= panel_end; panel += P) {
    const uint16_t* ahead = After(a, panel + P, panel_end);
    for (int64_t tile = 0, row = 0; tile < tiles; ++tile) {
      const int64_t next = rows * (tile + 1) / tiles;
      PairTileOfBand<kPairRows, P>(a, row, next - row, panel,
                                   tile < P && ahead != nullptr ? ahead + tile * a.panel_stride : nullptr);
      row = next;
    }
  }
  if constexpr (P > 1) {
    if (panel < panel_end) PairTilesOfBands<P / 2>(a, rows, panel, panel_end);
  }
}

template <class Math>
void MultiplyPairs(const PairProduct<Math>& a, int64_t rows, int64_t panel, int64_t panel_end) {
  if (rows <= kPairRows) {
    PairTilesOfRows<kPairRows>(a, rows, panel, panel_end);
  } else {
    PairTilesOfBands<PairPanels(kPairRows)>(a, rows, panel, panel_end);
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
