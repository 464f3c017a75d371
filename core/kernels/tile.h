// The one matrix product behind Linear and attention: a tile of rows by panels of 16 lanes kept in registers.
// Each output is one accumulator with fused multiply-adds in rising k, so the tile's shape never shows in a
// result.
#pragma once

#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {

// y[r, j] = start + sum over k in [0, count) of x[r, k] w[k, j], for j in [0, columns).
// Column panel p of w begins at w + p * panel_stride, and its row k at + k * row_stride; 16 values are read
// each time, so the last panel must be padded in memory.
template <typename Weight>
struct Product {
  const float* x;
  int64_t x_stride;
  const Weight* w;
  int64_t row_stride, panel_stride;
  int64_t count, columns;
  float* y;
  int64_t y_stride;
  bool accumulate = false;           // start = y instead of 0 ...
  const float* row_scale = nullptr;  // ... times row_scale[r] when not null
  const float* bias = nullptr;       // [columns], added last
};

#if defined(SLUICE_ISA_AVX512)
constexpr int kTileRows = 6;
constexpr int PanelsOfTile(int rows) { return rows <= 2 ? 8 : 4; }
#elif defined(SLUICE_ISA_AVX2)
constexpr int kTileRows = 6;
constexpr int PanelsOfTile(int rows) { return rows == 1 ? 4 : rows <= 3 ? 2 : 1; }
#else
constexpr int kTileRows = 2;
constexpr int PanelsOfTile(int rows) { return 2; }
#endif

template <typename Weight>
inline Lanes StartOf(const Product<Weight>& a, int64_t row, int64_t column, int64_t n) {
  if (!a.accumulate) return Splat(0.0f);
  const float* y = a.y + row * a.y_stride + column;
  const Lanes start = n >= kLanes ? Load(y) : LoadFirst(y, n, 0.0f);
  return a.row_scale == nullptr ? start : Mul(start, Splat(a.row_scale[row]));
}

template <typename Weight>
inline void Finish(const Product<Weight>& a, int64_t row, int64_t column, int64_t n, Lanes sum) {
  float* y = a.y + row * a.y_stride + column;
  if (a.bias != nullptr) {
    sum = Add(sum, n >= kLanes ? Load(a.bias + column) : LoadFirst(a.bias + column, n, 0.0f));
  }
  if (n >= kLanes) {
    Store(y, sum);
  } else {
    StoreFirst(y, n, sum);
  }
}

template <int R, int P, typename Weight>
__attribute__((noinline)) void Tile(const Product<Weight>& a, int64_t row, int64_t panel) {
  Lanes sum[R][P];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      const int64_t column = (panel + p) * kLanes;
      sum[r][p] = StartOf(a, row + r, column, a.columns - column);
    }
  }
  const float* x = a.x + row * a.x_stride;
  const Weight* w = a.w + panel * a.panel_stride;
  const int64_t x_stride = a.x_stride, row_stride = a.row_stride, panel_stride = a.panel_stride;
  for (int64_t k = 0; k < a.count; ++k) {
    Lanes weight[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) weight[p] = Load(w + p * panel_stride);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Lanes value = Splat(x[r * x_stride + k]);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum[r][p] = Fma(value, weight[p], sum[r][p]);
    }
    w += row_stride;
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      const int64_t column = (panel + p) * kLanes;
      Finish(a, row + r, column, a.columns - column, sum[r][p]);
    }
  }
}

// Rows [row, row + R) by all panels of [panel, panel_end).
template <int R, typename Weight>
void TilesOfRows(const Product<Weight>& a, int64_t row, int64_t panel, int64_t panel_end) {
  constexpr int kWidest = PanelsOfTile(R);
  while (panel < panel_end) {
    const int64_t left = panel_end - panel;
    if constexpr (kWidest >= 8) {
      if (left >= 8) {
        Tile<R, 8>(a, row, panel);
        panel += 8;
        continue;
      }
    }
    if constexpr (kWidest >= 4) {
      if (left >= 4) {
        Tile<R, 4>(a, row, panel);
        panel += 4;
        continue;
      }
    }
    if constexpr (kWidest >= 2) {
      if (left >= 2) {
        Tile<R, 2>(a, row, panel);
        panel += 2;
        continue;
      }
    }
    Tile<R, 1>(a, row, panel);
    panel += 1;
  }
}

template <typename Weight>
void TilesOfLastRows(const Product<Weight>& a, int64_t row, int64_t rows, int64_t panel, int64_t panel_end) {
  switch (rows) {
#if !defined(SLUICE_ISA_GENERIC)
    case 5:
      return TilesOfRows<5>(a, row, panel, panel_end);
    case 4:
      return TilesOfRows<4>(a, row, panel, panel_end);
    case 3:
      return TilesOfRows<3>(a, row, panel, panel_end);
    case 2:
      return TilesOfRows<2>(a, row, panel, panel_end);
#endif
    case 1:
      return TilesOfRows<1>(a, row, panel, panel_end);
    default:
      return;
  }
}

// Rows [row, row_end) by panels [panel, panel_end). A band of panels stays in cache while the rows pass by.
template <typename Weight>
void Multiply(const Product<Weight>& a, int64_t row, int64_t row_end, int64_t panel, int64_t panel_end) {
  constexpr int64_t kBand = 4;
  const int64_t band_size = row_end - row <= 2 ? panel_end - panel : kBand;
  for (int64_t band = panel; band < panel_end; band += band_size) {
    const int64_t band_end = band + band_size < panel_end ? band + band_size : panel_end;
    int64_t r = row;
    for (; r + kTileRows <= row_end; r += kTileRows) TilesOfRows<kTileRows>(a, r, band, band_end);
    TilesOfLastRows(a, r, row_end - r, band, band_end);
  }
}

template <typename Weight>
void Multiply(const Product<Weight>& a, int64_t rows) {
  Multiply(a, 0, rows, 0, (a.columns + kLanes - 1) / kLanes);
}

}  // namespace sluice::kernels::SLUICE_ISA
