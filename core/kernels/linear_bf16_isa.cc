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
  template <int R, int P>
  static inline __attribute__((always_inline)) void AddPair(Lanes (&sum)[R][P], const uint32_t* x,
                                                            int64_t x_stride, const uint16_t* w,
                                                            int64_t panel_stride, int64_t pair) {
    __m512bh weight[P];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) {
      weight[p] = (__m512bh)_mm512_loadu_si512(w + p * panel_stride + pair * 2 * kLanes);
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const __m512bh value = (__m512bh)_mm512_set1_epi32(static_cast<int32_t>(x[r * x_stride + pair]));
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum[r][p].v = _mm512_dpbf16_ps(sum[r][p].v, value, weight[p]);
    }
  }
  // The odd half is zero on both sides.
  template <int R, int P>
  static void AddHalf(Lanes (&sum)[R][P], const uint32_t* x, int64_t x_stride, const uint16_t* w,
                      int64_t panel_stride, int64_t pair) {
    AddPair(sum, x, x_stride, w, panel_stride, pair);
  }
};

}  // namespace

void LinearDottedIsa(const LinearPiece& p) { LinearOfPairs<DottedPairs>(p); }

}  // namespace sluice::kernels::SLUICE_ISA
