// The tile registers of AMX as a program, for tests and for the check before the processor's are trusted.
// Intel 64 and IA-32 Architectures Software Developer's Manual, TDPBF16PS: within one instruction the even
// and the odd products of a sum are each a chain of fused multiply-adds from 0; then even + odd, then that
// to the accumulator. Denormal numbers count as zero, on the way in and out.
#include <math.h>

#include "core/kernels/amx_linear.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

constexpr float kLeastNormal = 1.17549435e-38f;
float Flush(float value) { return fabsf(value) < kLeastNormal ? copysignf(0.0f, value) : value; }
float Widen(uint16_t half) { return Flush(FloatOfBits(static_cast<uint32_t>(half) << 16)); }

thread_local float tiles[8][kTileSide * kTileSide];

struct EmulatedTiles {
  static void Begin() { __builtin_memset(tiles, 0, sizeof tiles); }
  static void End() {}
  template <int T>
  static void Zero() {
    __builtin_memset(tiles[T], 0, sizeof tiles[T]);
  }
  template <int T>
  static void Load(const void* from, int64_t row_bytes) {
    for (int64_t r = 0; r < kTileSide; ++r) {
      __builtin_memcpy(tiles[T] + r * kTileSide, static_cast<const char*>(from) + r * row_bytes, 64);
    }
  }
  template <int T>
  static void Store(void* to, int64_t row_bytes) {
    for (int64_t r = 0; r < kTileSide; ++r) {
      __builtin_memcpy(static_cast<char*>(to) + r * row_bytes, tiles[T] + r * kTileSide, 64);
    }
  }
  template <int C, int A, int B>
  static void AddDots() {
    uint16_t a[2 * kTileSide], b[2 * kTileSide];
    for (int64_t m = 0; m < kTileSide; ++m) {
      float sum[2 * kTileSide] = {};
      __builtin_memcpy(a, tiles[A] + m * kTileSide, sizeof a);
      for (int64_t pair = 0; pair < kTileSide; ++pair) {
        __builtin_memcpy(b, tiles[B] + pair * kTileSide, sizeof b);
        for (int64_t i = 0; i < 2 * kTileSide; ++i) {
          sum[i] = Flush(fmaf(Widen(a[2 * pair + i % 2]), Widen(b[i]), sum[i]));
        }
      }
      for (int64_t n = 0; n < kTileSide; ++n) {
        float& c = tiles[C][m * kTileSide + n];
        c = Flush(Flush(c) + Flush(sum[2 * n] + sum[2 * n + 1]));
      }
    }
  }
};

}  // namespace

void LinearAmxIsa(const LinearPiece& p) { LinearOnTiles<EmulatedTiles>(p); }
int64_t MultiplyAmxLimitIsa(int64_t rounds) { return MultiplyOnTiles<EmulatedTiles>(rounds); }

}  // namespace sluice::kernels::SLUICE_ISA
