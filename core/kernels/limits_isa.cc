#include "core/kernels/isa_pieces.h"
#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {

// Enough sums to hide the latency of two units, few enough to stay in registers.
#if defined(SLUICE_ISA_AVX512)
constexpr int kSums = 12;
#elif defined(SLUICE_ISA_AVX2)
constexpr int kSums = 5;
#else
constexpr int kSums = 2;
#endif

int64_t MultiplyLimitIsa(int64_t rounds) {
  Lanes sum[kSums];
  for (Lanes& s : sum) s = Splat(1.0f);
  const Lanes a = Splat(0.5f), b = Splat(1e-6f);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s) sum[s] = Fma(a, b, sum[s]);
  }
  float out[kLanes];
  for (int s = 1; s < kSums; ++s) sum[0] = Add(sum[0], sum[s]);
  Store(out, sum[0]);
  asm volatile("" ::"m"(out));
  return rounds * kSums * kLanes * 2;
}

void ReadLimitIsa(const void* memory, int64_t bytes) {
  const float* p = static_cast<const float*>(memory);
  const int64_t n = bytes / static_cast<int64_t>(sizeof(float));
  Lanes most[4] = {Splat(0.0f), Splat(0.0f), Splat(0.0f), Splat(0.0f)};
  for (int64_t i = 0; i < n; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s) most[s] = Max(Load(p + i + s * kLanes), most[s]);
  }
  float out[kLanes];
  Store(out, Max(Max(most[0], most[1]), Max(most[2], most[3])));
  asm volatile("" ::"m"(out));
}

}  // namespace sluice::kernels::SLUICE_ISA
