// Linear on the tile registers of AMX, over a policy `Tiles` that is the processor's (linear_amx_isa.cc) or a
// program's that does the same arithmetic (linear_amx_emulated.cc). A tile is 16 rows of 64 bytes; 16 pairs
// of a panel are one. Rows are padded to 16, so that a row's sums are the same alone and among others.
//
// Tiles: Begin() and End() around a thread's use; Zero<t>(), Load<t>(from, bytes from row to row), Store<t>,
// and AddDots<c, a, b>(): c[m, n] += sum over 16 pairs of a[m, pair] b[pair, n].
#pragma once

#include "core/kernels/bf16_rows.h"
#include "core/kernels/pair_linear.h"

namespace sluice::kernels::SLUICE_ISA {

constexpr int64_t kTileSide = 16;
constexpr int64_t kStepInputs = 2 * kTileSide;  // of one AddDots

// A block of rows whose activations are rounded, and where its results go.
struct AmxBlock {
  const uint16_t* x;  // [rows rounded up to 16, stride]
  int64_t x_stride;   // in values
  const uint16_t* w;
  int64_t panel_stride;  // in values
  int64_t steps;
  int64_t rows, columns;
  float* y;
  int64_t y_stride;
  bool accumulate;
  const float* bias;
};

// Between a tile and the rows and columns of y that exist.
template <class Tiles, int T>
void StartTile(const AmxBlock& a, int64_t row, int64_t panel) {
  if (!a.accumulate) return Tiles::template Zero<T>();
  alignas(64) float buffer[kTileSide * kTileSide] = {};
  for (int64_t r = 0; r < kTileSide && row + r < a.rows; ++r) {
    const float* y = a.y + (row + r) * a.y_stride + panel * kLanes;
    Store(buffer + r * kLanes, LoadFirst(y, a.columns - panel * kLanes, 0.0f));
  }
  Tiles::template Load<T>(buffer, kTileSide * sizeof(float));
}

template <class Tiles, int T>
void FinishTile(const AmxBlock& a, int64_t row, int64_t panel) {
  alignas(64) float buffer[kTileSide * kTileSide];
  Tiles::template Store<T>(buffer, kTileSide * sizeof(float));
  const int64_t n = a.columns - panel * kLanes;
  Lanes bias = Splat(0.0f);
  if (a.bias != nullptr) bias = LoadFirst(a.bias + panel * kLanes, n, 0.0f);
  for (int64_t r = 0; r < kTileSide && row + r < a.rows; ++r) {
    float* y = a.y + (row + r) * a.y_stride + panel * kLanes;
    Lanes sum = Load(buffer + r * kLanes);
    if (a.bias != nullptr) sum = Add(sum, bias);
    if (n >= kLanes) {
      Store(y, sum);
    } else {
      StoreFirst(y, n, sum);
    }
  }
}

// Two tiles of rows by two panels: accumulators 0 to 3, activations 4 and 5, weights 6 and 7.
template <class Tiles>
void TwoByTwo(const AmxBlock& a, int64_t row, int64_t panel) {
  StartTile<Tiles, 0>(a, row, panel);
  StartTile<Tiles, 1>(a, row, panel + 1);
  StartTile<Tiles, 2>(a, row + kTileSide, panel);
  StartTile<Tiles, 3>(a, row + kTileSide, panel + 1);
  const int64_t x_bytes = a.x_stride * sizeof(uint16_t);
  for (int64_t s = 0; s < a.steps; ++s) {
    const uint16_t* x = a.x + row * a.x_stride + s * kStepInputs;
    const uint16_t* w = a.w + panel * a.panel_stride + s * kStepInputs * kLanes;
    Tiles::template Load<6>(w, 64);
    Tiles::template Load<4>(x, x_bytes);
    Tiles::template AddDots<0, 4, 6>();
    Tiles::template Load<7>(w + a.panel_stride, 64);
    Tiles::template AddDots<1, 4, 7>();
    Tiles::template Load<5>(x + kTileSide * a.x_stride, x_bytes);
    Tiles::template AddDots<2, 5, 6>();
    Tiles::template AddDots<3, 5, 7>();
  }
  FinishTile<Tiles, 0>(a, row, panel);
  FinishTile<Tiles, 1>(a, row, panel + 1);
  FinishTile<Tiles, 2>(a, row + kTileSide, panel);
  FinishTile<Tiles, 3>(a, row + kTileSide, panel + 1);
}

// One tile of rows by four panels: few rows, so weights are what is streamed.
template <class Tiles>
void OneByFour(const AmxBlock& a, int64_t row, int64_t panel) {
  StartTile<Tiles, 0>(a, row, panel);
  StartTile<Tiles, 1>(a, row, panel + 1);
  StartTile<Tiles, 2>(a, row, panel + 2);
  StartTile<Tiles, 3>(a, row, panel + 3);
  const int64_t x_bytes = a.x_stride * sizeof(uint16_t);
  for (int64_t s = 0; s < a.steps; ++s) {
    const uint16_t* w = a.w + panel * a.panel_stride + s * kStepInputs * kLanes;
    Tiles::template Load<4>(a.x + row * a.x_stride + s * kStepInputs, x_bytes);
    Tiles::template Load<5>(w, 64);
    Tiles::template AddDots<0, 4, 5>();
    Tiles::template Load<6>(w + a.panel_stride, 64);
    Tiles::template AddDots<1, 4, 6>();
    Tiles::template Load<7>(w + 2 * a.panel_stride, 64);
    Tiles::template AddDots<2, 4, 7>();
    Tiles::template Load<5>(w + 3 * a.panel_stride, 64);
    Tiles::template AddDots<3, 4, 5>();
  }
  FinishTile<Tiles, 0>(a, row, panel);
  FinishTile<Tiles, 1>(a, row, panel + 1);
  FinishTile<Tiles, 2>(a, row, panel + 2);
  FinishTile<Tiles, 3>(a, row, panel + 3);
}

template <class Tiles>
void OneByOne(const AmxBlock& a, int64_t row, int64_t panel) {
  StartTile<Tiles, 0>(a, row, panel);
  const int64_t x_bytes = a.x_stride * sizeof(uint16_t);
  for (int64_t s = 0; s < a.steps; ++s) {
    Tiles::template Load<4>(a.x + row * a.x_stride + s * kStepInputs, x_bytes);
    Tiles::template Load<5>(a.w + panel * a.panel_stride + s * kStepInputs * kLanes, 64);
    Tiles::template AddDots<0, 4, 5>();
  }
  FinishTile<Tiles, 0>(a, row, panel);
}

template <class Tiles>
void MultiplyAmx(const AmxBlock& a, int64_t panel, int64_t panel_end) {
  const int64_t band = a.rows <= kTileSide ? 4 : 2;
  for (; panel < panel_end; panel += band) {
    int64_t row = 0;
    if (panel + 2 <= panel_end) {
      for (; row + kTileSide < a.rows; row += 2 * kTileSide) TwoByTwo<Tiles>(a, row, panel);
    }
    for (; row < a.rows; row += kTileSide) {
      if (panel + 4 <= panel_end && band == 4) {
        OneByFour<Tiles>(a, row, panel);
      } else {
        for (int64_t p = panel; p < panel + band && p < panel_end; ++p) OneByOne<Tiles>(a, row, p);
      }
    }
  }
}

template <class Tiles>
void LinearOnTiles(const LinearPiece& p) {
  Tiles::Begin();
  OverBlocks(p, 2 * kTileSide, sizeof(uint16_t), [&](int64_t row, int64_t rows, int64_t k, int64_t count) {
    uint16_t* x = static_cast<uint16_t*>(p.scratch);
    const int64_t stride = RoundedStride(count), padded = (rows + kTileSide - 1) / kTileSide * kTileSide;
    RoundRows(p, row, rows, k, count, x);
    __builtin_memset(x + rows * stride, 0, (padded - rows) * stride * sizeof(uint16_t));
    MultiplyAmx<Tiles>(
        AmxBlock{x, stride, static_cast<const uint16_t*>(p.w) + k * kLanes, p.panel_inputs * kLanes,
                 (count + kStepInputs - 1) / kStepInputs, rows, p.out, p.y + row * p.y_stride, p.y_stride,
                 k > 0, k + count == p.in ? p.bias : nullptr},
        p.panel, p.panel_end);
  });
  Tiles::End();
}

// For LimitPieces.
template <class Tiles>
int64_t MultiplyOnTiles(int64_t rounds) {
  Tiles::Begin();
  alignas(64) uint16_t ones[kTileSide * kStepInputs];
  for (uint16_t& one : ones) one = 0x3F80;
  Tiles::template Load<4>(ones, 64);
  Tiles::template Load<5>(ones, 64);
  for (int64_t i = 0; i < rounds; ++i) {
    Tiles::template AddDots<0, 4, 5>();
    Tiles::template AddDots<1, 4, 5>();
    Tiles::template AddDots<2, 4, 5>();
    Tiles::template AddDots<3, 4, 5>();
  }
  Tiles::End();
  return rounds * 4 * kTileSide * kTileSide * kStepInputs * 2;
}

}  // namespace sluice::kernels::SLUICE_ISA
