// The tile registers of AMX. Written as assembly, for the compilers' intrinsics take register numbers as
// literals only, which templates cannot pass.
#include "core/kernels/amx_linear.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

struct AmxTiles {
  static void Begin() {
    const TileConfig config;
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  static void End() { asm volatile("tilerelease" ::: "memory"); }
  template <int T>
  static void Zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
  }
  template <int T>
  static void Load(const void* from, int64_t row_bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(row_bytes), "i"(T) : "memory");
  }
  template <int T>
  static void Store(void* to, int64_t row_bytes) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(row_bytes), "i"(T) : "memory");
  }
  template <int C, int A, int B>
  static void AddDots() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }
};

}  // namespace

void LinearAmxIsa(const LinearPiece& p) { LinearOnTiles<AmxTiles>(p); }
int64_t MultiplyAmxLimitIsa(int64_t rounds) { return MultiplyOnTiles<AmxTiles>(rounds); }

}  // namespace sluice::kernels::SLUICE_ISA
