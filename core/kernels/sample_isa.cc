// Passes over a row of logits, block by block.
#include "core/kernels/isa_pieces.h"
#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

constexpr int64_t kBlock = 256;

inline Lanes LoadOr(const float* p, int64_t n, float fill) {
  return n >= kLanes ? Load(p) : LoadFirst(p, n, fill);
}

inline float MaximumOfBlock(const float* x, int64_t n) {
  const float lowest = -__builtin_inff();
  Lanes best[4] = {Splat(lowest), Splat(lowest), Splat(lowest), Splat(lowest)};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int j = 0; j < 4; ++j) best[j] = Max(Load(x + i + j * kLanes), best[j]);
  }
  for (; i < n; i += kLanes) best[0] = Max(LoadOr(x + i, n - i, lowest), best[0]);
  return MaxOf(Max(Max(best[0], best[1]), Max(best[2], best[3])));
}

}  // namespace

float LogitMaximaIsa(const float* logits, int64_t n, float* block_maxima) {
  float greatest = -__builtin_inff();
  for (int64_t i = 0; i < n; i += kBlock) {
    const float best = MaximumOfBlock(logits + i, n - i < kBlock ? n - i : kBlock);
    block_maxima[i / kBlock] = best;
    if (best > greatest) greatest = best;
  }
  return greatest;
}

void LogitWeightsIsa(const LogitWeightsPiece& p) {
  const float lowest = -__builtin_inff();
  const Lanes scale = Splat(p.inverse_temperature), max = Splat(p.max);
  for (int64_t b = 0; b * kBlock < p.n; ++b) {
    const int64_t end = p.n < (b + 1) * kBlock ? p.n : (b + 1) * kBlock;
    Lanes total = Splat(0.0f), weighted = Splat(0.0f);
    for (int64_t i = b * kBlock; i < end; i += kLanes) {
      const Lanes logit = LoadOr(p.logits + i, end - i, lowest);
      // Below -104 the exponential is 0, and 0 times minus infinity must be 0.
      const Lanes z = Max(Splat(-104.0f), Sub(Mul(logit, scale), max));
      const Lanes e = Exp(z);
      total = Add(total, e);
      if (p.block_weighted != nullptr) weighted = Fma(e, z, weighted);
      if (p.weights == nullptr) continue;
      if (end - i >= kLanes) {
        Store(p.weights + i, e);
      } else {
        StoreFirst(p.weights + i, end - i, e);
      }
    }
    p.block_sums[b] = Sum(total);
    if (p.block_weighted != nullptr) p.block_weighted[b] = Sum(weighted);
  }
}

int64_t SelectAtLeastIsa(const float* x, int64_t n, float least, int32_t first_id, int32_t* ids) {
  int64_t count = 0, i = 0;
#if defined(SLUICE_ISA_AVX512)
  __m512i id = _mm512_add_epi32(_mm512_set1_epi32(first_id),
                                _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  const __m512 bound = _mm512_set1_ps(least);
  for (; i + kLanes <= n; i += kLanes) {
    const __mmask16 kept = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), bound, _CMP_GE_OQ);
    if (kept != 0) {
      _mm512_mask_compressstoreu_epi32(ids + count, kept, id);
      count += __builtin_popcount(kept);
    }
    id = _mm512_add_epi32(id, _mm512_set1_epi32(16));
  }
#endif
  for (; i < n; ++i) {
    if (x[i] >= least) ids[count++] = first_id + static_cast<int32_t>(i);
  }
  return count;
}

}  // namespace sluice::kernels::SLUICE_ISA
