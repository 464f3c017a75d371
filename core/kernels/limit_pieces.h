// What machine_limits.cc times: loops without memory, and a loop that only reads.
#pragma once

#include <stdint.h>

namespace sluice::kernels {

struct LimitPieces {
  // `rounds` of the products' innermost instruction on registers; returns the floating-point operations done.
  int64_t (*multiply_f32)(int64_t rounds);
  int64_t (*multiply_bf16)(int64_t rounds);
  // Reads all of `bytes`, a multiple of 1024, in order.
  void (*read)(const void* memory, int64_t bytes);
};

}  // namespace sluice::kernels
