// Attention over bfloat16 caches with dot products of pairs (VDPBF16PS), summed in float32: queries and
// probabilities are rounded to bfloat16.
#include "core/kernels/attention_forward.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

struct DottedMath {
  static constexpr int64_t kPair = 2, kPerPair = 1;
  using Input = uint32_t;
  using Value = uint16_t;
  struct Factor {
    __m512i pairs;
  };
  static const uint32_t* Prepare(const float* x, int64_t rows, int64_t dim, uint32_t* to) {
    const int64_t stride = (dim + 1) / 2;
    for (int64_t r = 0; r < rows; ++r) {
      uint16_t* half = reinterpret_cast<uint16_t*>(to + r * stride);
      if (dim % 2 != 0) half[dim] = 0;
      for (int64_t i = 0; i < dim; i += kLanes) {
        const __mmask16 mask = static_cast<__mmask16>(dim - i >= kLanes ? 0xFFFF : (1 << (dim - i)) - 1);
        const __m512 values = _mm512_maskz_loadu_ps(mask, x + r * dim + i);
        _mm256_mask_storeu_epi16(half + i, mask, (__m256i)_mm512_cvtneps_pbh(values));
      }
    }
    return to;
  }
  static Factor Read(const uint16_t* w) { return {_mm512_loadu_si512(w)}; }
  static Factor ReadFirst(const uint16_t* w) {
    return {_mm512_and_si512(_mm512_loadu_si512(w), _mm512_set1_epi32(0xFFFF))};
  }
  static Lanes Add(Lanes sum, const uint32_t* x, const Factor& f) {
    const __m512i pair = _mm512_set1_epi32(static_cast<int32_t>(*x));
    return {_mm512_dpbf16_ps(sum.v, (__m512bh)pair, (__m512bh)f.pairs)};
  }
};

}  // namespace

void AttentionDottedIsa(const AttentionGroup& g, float* out, float* log_sum_exp, float* memory) {
  Attend<DottedMath>(g, out, log_sum_exp, memory);
}

}  // namespace sluice::kernels::SLUICE_ISA
