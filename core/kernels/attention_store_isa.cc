// Writing one position into one head's part of a block.
#include "core/kernels/attention_block.h"
#include "core/kernels/isa_pieces.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

constexpr int64_t kChunk = 64;  // values rounded at once, an even number

// Nearest even; NaN stays NaN.
inline void Round(const float* x, int64_t n, uint16_t* half) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, x + i, sizeof bits);
    const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t nan = (bits >> 16) | 0x40u;
    half[i] = static_cast<uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
  }
}

// Calls put(i, half, n) for n rounded values from the i-th on; an odd last one is followed by 0.
template <class Put>
inline void RoundAll(const float* x, int64_t n, const Put& put) {
  uint16_t half[kChunk];
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t count = n - i < kChunk ? n - i : kChunk;
    Round(x + i, count, half);
    if (count % 2 != 0) half[count] = 0;
    put(i, half, count + count % 2);
  }
}

// to[2 i] = half[i]: what lies between is another thread's.
inline void PutEverySecond(const uint16_t* half, int64_t n, uint16_t* to) {
  int64_t i = 0;
#if defined(SLUICE_ISA_AVX512)
  for (; i + kLanes <= n; i += kLanes) {
    const __m256i values = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(half + i));
    _mm512_mask_storeu_epi16(to + 2 * i, 0x55555555u, _mm512_cvtepu16_epi32(values));
  }
#endif
  for (; i < n; ++i) to[2 * i] = half[i];
}

void StoreBF16(const CacheHead& cache, std::byte* part, int64_t slot, const float* key, const float* value) {
  uint16_t* rows = reinterpret_cast<uint16_t*>(part + cache.rows_at) + slot / 2 * cache.stride * 2 + slot % 2;
  const auto put_row = [&](int64_t i, const uint16_t* half, int64_t n) {
    PutEverySecond(half, n < cache.stride - i ? n : cache.stride - i, rows + 2 * i);
  };
  if (cache.value_in_key) return RoundAll(key, cache.key_dim, put_row);
  uint32_t* keys = reinterpret_cast<uint32_t*>(part) + slot;
  RoundAll(key, cache.key_dim, [&](int64_t i, const uint16_t* half, int64_t n) {
    for (int64_t j = 0; j < n; j += 2) __builtin_memcpy(keys + (i + j) / 2 * kTokens, half + j, 4);
  });
  RoundAll(value, cache.value_dim, put_row);
}

void StoreFloat(const CacheHead& cache, std::byte* part, int64_t slot, const float* key, const float* value) {
  float* row = reinterpret_cast<float*>(part + cache.rows_at) + slot * cache.stride;
  if (cache.value_in_key) {
    __builtin_memcpy(row, key, cache.key_dim * sizeof(float));
    return;
  }
  float* keys = reinterpret_cast<float*>(part) + slot;
  for (int64_t i = 0; i < cache.key_dim; ++i) keys[i * kTokens] = key[i];
  __builtin_memcpy(row, value, cache.value_dim * sizeof(float));
}

}  // namespace

void CacheStoreIsa(const CacheHead& cache, std::byte* part, int64_t slot, const float* key,
                   const float* value) {
  if (cache.bf16) {
    StoreBF16(cache, part, slot, key, value);
  } else {
    StoreFloat(cache, part, slot, key, value);
  }
}

}  // namespace sluice::kernels::SLUICE_ISA
