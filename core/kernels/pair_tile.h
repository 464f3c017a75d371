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
  template <int R, int P>
  static inline __attribute__((always_inline)) void AddPair(Lanes (&sum)[R][P], const float* x,
                                                            int64_t x_stride, const uint16_t* w,
                                                            int64_t panel_stride, int64_t pair) {
    Lanes weight[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) weight[p] = LoadEven(w + p * panel_stride + pair * 2 * kLanes);
    AddOne(sum, x + 2 * pair, x_stride, weight);
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) weight[p] = LoadOdd(w + p * panel_stride + pair * 2 * kLanes);
    AddOne(sum, x + 2 * pair + 1, x_stride, weight);
  }
  // The even half of a last pair whose odd half is padding.
  template <int R, int P>
  static void AddHalf(Lanes (&sum)[R][P], const float* x, int64_t x_stride, const uint16_t* w,
                      int64_t panel_stride, int64_t pair) {
    Lanes weight[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) weight[p] = LoadEven(w + p * panel_stride + pair * 2 * kLanes);
    AddOne(sum, x + 2 * pair, x_stride, weight);
  }

 private:
  template <int R, int P>
  static inline __attribute__((always_inline)) void AddOne(Lanes (&sum)[R][P], const float* x,
                                                           int64_t x_stride, const Lanes (&weight)[P]) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const Lanes value = Splat(x[r * x_stride]);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum[r][p] = Fma(value, weight[p], sum[r][p]);
    }
  }
};

#if defined(SLUICE_ISA_AVX512)
constexpr int kPairRows = 14;
constexpr int PairPanels(int rows) { return rows <= 2 ? 8 : rows <= 6 ? 4 : 2; }
#elif defined(SLUICE_ISA_AVX2)
constexpr int kPairRows = 6;
constexpr int PairPanels(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }
#else
constexpr int kPairRows = 2;
constexpr int PairPanels(int rows) { return 2; }
#endif

template <int R, int P, class Math>
__attribute__((noinline)) void PairTile(const PairProduct<Math>& a, int64_t row, int64_t panel) {
  Lanes sum[R][P];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      const int64_t column = (panel + p) * kLanes, n = a.columns - column;
      const float* y = a.y + (row + r) * a.y_stride + column;
      sum[r][p] = !a.accumulate ? Splat(0.0f) : n >= kLanes ? Load(y) : LoadFirst(y, n, 0.0f);
    }
  }
  const typename Math::Input* x = a.x + row * a.x_stride;
  const uint16_t* w = a.w + panel * a.panel_stride;
  const int64_t x_stride = a.x_stride, panel_stride = a.panel_stride, pairs = a.count / 2;
  for (int64_t pair = 0; pair < pairs; ++pair) Math::AddPair(sum, x, x_stride, w, panel_stride, pair);
  if (a.count % 2 != 0) Math::AddHalf(sum, x, x_stride, w, panel_stride, pairs);
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      const int64_t column = (panel + p) * kLanes, n = a.columns - column;
      float* y = a.y + (row + r) * a.y_stride + column;
      if (a.bias != nullptr) {
        const float* bias = a.bias + column;
        sum[r][p] = Add(sum[r][p], n >= kLanes ? Load(bias) : LoadFirst(bias, n, 0.0f));
      }
      if (n >= kLanes) {
        Store(y, sum[r][p]);
      } else {
        StoreFirst(y, n, sum[r][p]);
      }
    }
  }
}

// R rows by the panels [panel, panel_end), P at a time, then what is left with fewer.
template <int R, int P, class Math>
void PairTilesAcross(const PairProduct<Math>& a, int64_t row, int64_t panel, int64_t panel_end) {
  for (; panel + P <= panel_end; panel += P) PairTile<R, P>(a, row, panel);
  if constexpr (P > 1) {
    if (panel < panel_end) PairTilesAcross<R, P / 2>(a, row, panel, panel_end);
  }
}

template <int R, class Math>
void PairTilesOfRows(const PairProduct<Math>& a, int64_t row, int64_t rows, int64_t panel,
                     int64_t panel_end) {
  if (rows == R) return PairTilesAcross<R, PairPanels(R)>(a, row, panel, panel_end);
  if constexpr (R > 1) PairTilesOfRows<R - 1>(a, row, rows, panel, panel_end);
}

// All rows by panels [panel, panel_end). Two panels at a time stay in the nearest cache while the rows pass,
// in tiles of nearly equal height.
template <class Math>
void MultiplyPairs(const PairProduct<Math>& a, int64_t rows, int64_t panel, int64_t panel_end) {
  const int64_t tiles = (rows + kPairRows - 1) / kPairRows;
  const int64_t band = tiles == 1 ? panel_end - panel : PairPanels(kPairRows);
  for (; panel < panel_end; panel += band) {
    const int64_t band_end = panel + band < panel_end ? panel + band : panel_end;
    for (int64_t tile = 0, row = 0; tile < tiles; ++tile) {
      const int64_t next = rows * (tile + 1) / tiles;
      PairTilesOfRows<kPairRows>(a, row, next - row, panel, band_end);
      row = next;
    }
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
