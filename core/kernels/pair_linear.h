// Linear with weights of bfloat16 pairs: a piece is cut into blocks of rows and of k that fit the caches and
// the scratch memory. The accumulators of a block of k wait in y, as float32, for the next one, so the
// cutting never shows in a result.
#pragma once

#include "core/kernels/kernel_table.h"
#include "core/kernels/pair_tile.h"

namespace sluice::kernels::SLUICE_ISA {

// A multiple of 32, which is a step of every product. Fewer rows may take longer blocks.
inline int64_t InputsOfBlock(int64_t in, int64_t rows) { return rows <= 16 || in < 3072 ? in : 2048; }

// `multiply(row, rows, k, count)` for each block; at most kLinearScratch bytes of `value_bytes` a value, each
// row padded by up to 64 values.
template <class Body>
void OverBlocks(const LinearPiece& p, int64_t tile_rows, int64_t value_bytes, const Body& multiply) {
  const int64_t rows = p.row_end - p.row;
  int64_t inputs = InputsOfBlock(p.in, rows);
  const int64_t most = kLinearScratch / value_bytes / tile_rows - 64;
  if (inputs > most) inputs = most / 32 * 32;
  const int64_t fitting = kLinearScratch / value_bytes / (inputs + 64) / tile_rows * tile_rows;
  for (int64_t row = p.row; row < p.row_end; row += fitting) {
    const int64_t block = p.row_end - row < fitting ? p.row_end - row : fitting;
    int64_t k = 0;
    do {  // once even where there are no inputs: the result is the bias
      const int64_t count = p.in - k < inputs ? p.in - k : inputs;
      multiply(row, block, k, count);
      k += count;
    } while (k < p.in);
  }
}

template <class Math>
void LinearOfPairs(const LinearPiece& p) {
  using Input = typename Math::Input;
  OverBlocks(p, kPairRows, Math::kValueBytes, [&](int64_t row, int64_t rows, int64_t k, int64_t count) {
    const Activations<Input> x = Math::Prepare(p, row, rows, k, count);
    const bool last = k + count == p.in;
    const void* next = last && row + rows == p.row_end ? p.next : nullptr;
    MultiplyPairs(PairProduct<Math>{x.x, x.stride, static_cast<const uint16_t*>(p.w) + k * kLanes,
                                    p.panel_inputs * kLanes, count, p.out, p.y + row * p.y_stride, p.y_stride,
                                    k > 0, last ? p.bias : nullptr, static_cast<const uint16_t*>(next)},
                  rows, p.panel, p.panel_end);
  });
}

}  // namespace sluice::kernels::SLUICE_ISA
