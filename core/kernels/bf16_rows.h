// Rounds float32 activations to bfloat16 for the paths that multiply in it.
#pragma once

#include "core/kernels/kernel_table.h"
#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {

constexpr int64_t kRoundedTo = 32;  // inputs of a rounded row are padded with zeros to a multiple of this

// To the nearest, ties to even; infinity and NaN stay what they are. 16 values, the first n of which exist.
inline void RoundSixteen(const float* x, int64_t n, uint16_t* y) {
#if defined(__AVX512BF16__)
  const __mmask16 mask = n >= kLanes ? 0xFFFF : static_cast<__mmask16>((1u << n) - 1);
  const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, x));
  __builtin_memcpy(y, &rounded, sizeof rounded);
#else
  for (int64_t i = 0; i < kLanes; ++i) {
    uint32_t bits = 0;
    if (i < n) __builtin_memcpy(&bits, x + i, sizeof bits);
    const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    const uint32_t rounded = is_nan ? bits | 0x400000u : bits + 0x7FFFu + ((bits >> 16) & 1u);
    y[i] = static_cast<uint16_t>(rounded >> 16);
  }
#endif
}

// Values from one rounded row to the next: never a multiple of a page, so that rows do not share cache sets.
inline int64_t RoundedStride(int64_t count) {
  return (count + kRoundedTo - 1) / kRoundedTo * kRoundedTo + kRoundedTo;
}

// Inputs [k, k + count) of rows [row, row + rows) into y.
inline void RoundRows(const LinearPiece& p, int64_t row, int64_t rows, int64_t k, int64_t count,
                      uint16_t* y) {
  const int64_t stride = RoundedStride(count), padded = stride - kRoundedTo;
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = p.x + (row + r) * p.x_stride + k;
    for (int64_t i = 0; i < padded; i += kLanes) {
      RoundSixteen(x + i, count - i > 0 ? count - i : 0, y + r * stride + i);
    }
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
