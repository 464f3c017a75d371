// Linear with vdpbf16ps: activations rounded to bfloat16, pairs of products added to float32 accumulators.
#include "core/kernels/bf16_rows.h"
#include "core/kernels/pair_linear.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

struct DottedPairs {
  using Input = uint32_t;  // a pair
  static constexpr int64_t kValueBytes = sizeof(uint16_t);
  static Activations<uint32_t> Prepare(const LinearPiece& p, int64_t row, int64_t rows, int64_t k,
                                       int64_t count) {
    RoundRows(p, row, rows, k, count, static_cast<uint16_t*>(p.scratch));
    return {static_cast<const uint32_t*>(p.scratch), RoundedStride(count) / 2};
  }
  static constexpr int64_t kPairBytes = sizeof(uint32_t);
  template <int R, int P>
  static inline __attribute__((always_inline)) void AddPair(Lanes (&sum)[R][P],
                                                            const RowCursor<R, uint32_t>& x,
                                                            const uint16_t* w, int64_t stride) {
    __m512bh weight[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) weight[p] = (__m512bh)_mm512_loadu_si512(w + p * stride);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m512bh value = (__m512bh)_mm512_set1_epi32(static_cast<int32_t>(*x.Row(r)));
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum[r][p].v = _mm512_dpbf16_ps(sum[r][p].v, value, weight[p]);
    }
  }
  // The odd half is zero on both sides.
  template <int R, int P>
  static inline __attribute__((always_inline)) void AddHalf(Lanes (&sum)[R][P],
                                                            const RowCursor<R, uint32_t>& x,
                                                            const uint16_t* w, int64_t stride) {
    AddPair(sum, x, w, stride);
  }
};

}  // namespace

void LinearDottedIsa(const LinearPiece& p) { LinearOfPairs<DottedPairs>(p); }

int64_t MultiplyDottedLimitIsa(int64_t rounds) {
  constexpr int kSums = 12;
  Lanes sum[kSums];
  for (Lanes& s : sum) s = Splat(0.0f);
  const __m512bh a = (__m512bh)_mm512_set1_epi16(0x3F80), b = (__m512bh)_mm512_set1_epi16(0x3F00);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s) sum[s].v = _mm512_dpbf16_ps(sum[s].v, a, b);
  }
  float out[kLanes];
  for (int s = 1; s < kSums; ++s) sum[0] = Add(sum[0], sum[s]);
  Store(out, sum[0]);
  asm volatile("" ::"m"(out));
  return rounds * kSums * kLanes * 4;
}

}  // namespace sluice::kernels::SLUICE_ISA
