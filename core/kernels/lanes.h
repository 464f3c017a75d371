// Sixteen float32 lanes, in the registers of the instruction set that this file is compiled for: one AVX-512
// register, two AVX2 ones, or an array. Every operation is the same IEEE operation in each lane, so the three
// agree bit for bit.
//
// Included only by the *_isa.cc files, each compiled once per instruction set; everything lives in a
// namespace named after it, so that the linker never mixes them. They include no header with inline functions
// of its own for the same reason: the linker keeps one copy of those, and it might be the one that the
// processor cannot run.
#pragma once

#include <immintrin.h>
#include <stdint.h>

#ifndef SLUICE_ISA
#define SLUICE_ISA generic
#define SLUICE_ISA_GENERIC 1
#endif

namespace sluice::kernels::SLUICE_ISA {

constexpr int64_t kLanes = 16;

#if defined(SLUICE_ISA_AVX512)

struct Lanes {
  __m512 v;
};
inline Lanes Splat(float x) { return {_mm512_set1_ps(x)}; }
inline Lanes Load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline Lanes Load(const uint16_t* p) {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
// Of 16 pairs of bfloat16, the first and the second of each pair.
inline Lanes LoadEven(const uint16_t* p) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16))};
}
inline Lanes LoadOdd(const uint16_t* p) {
  const __m512i high = _mm512_set1_epi32(static_cast<int32_t>(0xFFFF0000u));
  return {_mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), high))};
}
inline void Store(float* p, Lanes a) { _mm512_storeu_ps(p, a.v); }
inline Lanes Add(Lanes a, Lanes b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Lanes Sub(Lanes a, Lanes b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Lanes Mul(Lanes a, Lanes b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Lanes Div(Lanes a, Lanes b) { return {_mm512_div_ps(a.v, b.v)}; }
inline Lanes Max(Lanes a, Lanes b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Lanes Min(Lanes a, Lanes b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Lanes Fma(Lanes a, Lanes b, Lanes c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
// 2^n for the integers n = bits(shifted) - bits(kRound), as two factors: each is a normal number for |n| <=
// 252.
inline void PowersOfTwo(Lanes shifted, Lanes round, Lanes* first, Lanes* second) {
  const __m512i n = _mm512_sub_epi32(_mm512_castps_si512(shifted.v), _mm512_castps_si512(round.v));
  const __m512i half = _mm512_srai_epi32(n, 1);
  const __m512i bias = _mm512_set1_epi32(127);
  first->v = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(half, bias), 23));
  second->v = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(_mm512_sub_epi32(n, half), bias), 23));
}
inline __m256 LowHalf(Lanes a) { return _mm512_castps512_ps256(a.v); }
inline __m256 HighHalf(Lanes a) { return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a.v), 1)); }

#elif defined(SLUICE_ISA_AVX2)

struct Lanes {
  __m256 lo, hi;
};
inline __m256 Expand(__m128i half) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
inline Lanes Splat(float x) {
  const __m256 v = _mm256_set1_ps(x);
  return {v, v};
}
inline Lanes Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline Lanes Load(const uint16_t* p) {
  const __m128i* q = reinterpret_cast<const __m128i*>(p);
  return {Expand(_mm_loadu_si128(q)), Expand(_mm_loadu_si128(q + 1))};
}
inline Lanes LoadEven(const uint16_t* p) {
  const __m256i* q = reinterpret_cast<const __m256i*>(p);
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256(q), 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256(q + 1), 16))};
}
inline Lanes LoadOdd(const uint16_t* p) {
  const __m256i* q = reinterpret_cast<const __m256i*>(p);
  const __m256i high = _mm256_set1_epi32(static_cast<int32_t>(0xFFFF0000u));
  return {_mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256(q), high)),
          _mm256_castsi256_ps(_mm256_and_si256(_mm256_loadu_si256(q + 1), high))};
}
inline void Store(float* p, Lanes a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
inline Lanes Add(Lanes a, Lanes b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline Lanes Sub(Lanes a, Lanes b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline Lanes Mul(Lanes a, Lanes b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline Lanes Div(Lanes a, Lanes b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
inline Lanes Max(Lanes a, Lanes b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline Lanes Min(Lanes a, Lanes b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline Lanes Fma(Lanes a, Lanes b, Lanes c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline void PowersOfTwo(__m256 shifted, __m256 round, __m256* first, __m256* second) {
  const __m256i n = _mm256_sub_epi32(_mm256_castps_si256(shifted), _mm256_castps_si256(round));
  const __m256i half = _mm256_srai_epi32(n, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  *first = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  *second = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(n, half), bias), 23));
}
inline void PowersOfTwo(Lanes shifted, Lanes round, Lanes* first, Lanes* second) {
  PowersOfTwo(shifted.lo, round.lo, &first->lo, &second->lo);
  PowersOfTwo(shifted.hi, round.hi, &first->hi, &second->hi);
}
inline __m256 LowHalf(Lanes a) { return a.lo; }
inline __m256 HighHalf(Lanes a) { return a.hi; }

#else

struct Lanes {
  float v[kLanes];
};
#define SLUICE_EACH_LANE(expression)                          \
  Lanes r;                                                    \
  for (int64_t i = 0; i < kLanes; ++i) r.v[i] = (expression); \
  return r
inline float FloatOfBits(uint32_t bits) {
  float f;
  __builtin_memcpy(&f, &bits, sizeof f);
  return f;
}
inline uint32_t BitsOfFloat(float f) {
  uint32_t bits;
  __builtin_memcpy(&bits, &f, sizeof bits);
  return bits;
}
inline Lanes Splat(float x) { SLUICE_EACH_LANE(x); }
inline Lanes Load(const float* p) { SLUICE_EACH_LANE(p[i]); }
inline Lanes Load(const uint16_t* p) { SLUICE_EACH_LANE(FloatOfBits(static_cast<uint32_t>(p[i]) << 16)); }
inline Lanes LoadEven(const uint16_t* p) {
  SLUICE_EACH_LANE(FloatOfBits(static_cast<uint32_t>(p[2 * i]) << 16));
}
inline Lanes LoadOdd(const uint16_t* p) {
  SLUICE_EACH_LANE(FloatOfBits(static_cast<uint32_t>(p[2 * i + 1]) << 16));
}
inline void Store(float* p, const Lanes& a) {
  for (int64_t i = 0; i < kLanes; ++i) p[i] = a.v[i];
}
inline Lanes Add(const Lanes& a, const Lanes& b) { SLUICE_EACH_LANE(a.v[i] + b.v[i]); }
inline Lanes Sub(const Lanes& a, const Lanes& b) { SLUICE_EACH_LANE(a.v[i] - b.v[i]); }
inline Lanes Mul(const Lanes& a, const Lanes& b) { SLUICE_EACH_LANE(a.v[i] * b.v[i]); }
inline Lanes Div(const Lanes& a, const Lanes& b) { SLUICE_EACH_LANE(a.v[i] / b.v[i]); }
inline Lanes Max(const Lanes& a, const Lanes& b) { SLUICE_EACH_LANE(a.v[i] > b.v[i] ? a.v[i] : b.v[i]); }
inline Lanes Min(const Lanes& a, const Lanes& b) { SLUICE_EACH_LANE(a.v[i] < b.v[i] ? a.v[i] : b.v[i]); }
inline Lanes Fma(const Lanes& a, const Lanes& b, const Lanes& c) {
  SLUICE_EACH_LANE(__builtin_fmaf(a.v[i], b.v[i], c.v[i]));
}
inline void PowersOfTwo(const Lanes& shifted, const Lanes& round, Lanes* first, Lanes* second) {
  for (int64_t i = 0; i < kLanes; ++i) {
    const int32_t n = static_cast<int32_t>(BitsOfFloat(shifted.v[i]) - BitsOfFloat(round.v[i]));
    const int32_t half = n >> 1;
    first->v[i] = FloatOfBits((static_cast<uint32_t>(half) + 127u) << 23);
    second->v[i] = FloatOfBits((static_cast<uint32_t>(n) - static_cast<uint32_t>(half) + 127u) << 23);
  }
}
#undef SLUICE_EACH_LANE

#endif

// The fixed tree: lane i + lane i+8, then +4, +2, +1.
#if defined(SLUICE_ISA_AVX512) || defined(SLUICE_ISA_AVX2)
inline float Sum(Lanes a) {
  const __m256 eight = _mm256_add_ps(LowHalf(a), HighHalf(a));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
}
inline float MaxOf(Lanes a) {
  const __m256 eight = _mm256_max_ps(LowHalf(a), HighHalf(a));
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
}
#else
inline float Sum(Lanes a) {
  for (int64_t width = 8; width >= 1; width /= 2)
    for (int64_t i = 0; i < width; ++i) a.v[i] = a.v[i] + a.v[i + width];
  return a.v[0];
}
inline float MaxOf(Lanes a) {
  for (int64_t width = 8; width >= 1; width /= 2)
    for (int64_t i = 0; i < width; ++i) a.v[i] = a.v[i] > a.v[i + width] ? a.v[i] : a.v[i + width];
  return a.v[0];
}
#endif

// The first n of 16 values; the other lanes hold `fill`.
__attribute__((noinline, unused)) static Lanes LoadFirst(const float* p, int64_t n, float fill) {
  float buffer[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) buffer[i] = i < n ? p[i] : fill;
  return Load(buffer);
}
__attribute__((noinline, unused)) static void StoreFirst(float* p, int64_t n, Lanes a) {
  float buffer[kLanes];
  Store(buffer, a);
  for (int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}

// The first n lanes; 0 in the others.
inline Lanes KeepFirst(Lanes a, int64_t n) {
  float buffer[kLanes];
  Store(buffer, a);
  return LoadFirst(buffer, n, 0.0f);
}

// e^x to about one unit in the last place: x = n ln 2 + r, |r| <= ln 2 / 2, and the polynomial of Cephes expf
// for e^r. Underflows through the denormals to 0, overflows to infinity, NaN stays NaN (so the operand order
// of Min and Max).
inline Lanes Exp(Lanes x) {
  const Lanes round = Splat(12582912.0f);  // 1.5 x 2^23: adding it leaves the nearest integer in the low bits
  x = Max(Splat(-104.0f), Min(Splat(89.0f), x));
  const Lanes shifted = Fma(x, Splat(1.44269504f), round);
  const Lanes n = Sub(shifted, round);
  Lanes r = Fma(n, Splat(-0.693359375f), x);
  r = Fma(n, Splat(2.12194440e-4f), r);
  Lanes p = Splat(1.9875691500e-4f);
  p = Fma(p, r, Splat(1.3981999507e-3f));
  p = Fma(p, r, Splat(8.3334519073e-3f));
  p = Fma(p, r, Splat(4.1665795894e-2f));
  p = Fma(p, r, Splat(1.6666665459e-1f));
  p = Fma(p, r, Splat(5.0000001201e-1f));
  p = Add(Fma(p, Mul(r, r), r), Splat(1.0f));
  Lanes first, second;
  PowersOfTwo(shifted, round, &first, &second);
  return Mul(Mul(p, first), second);
}

inline float ExpOne(float x) {
  float buffer[kLanes];
  Store(buffer, Exp(Splat(x)));
  return buffer[0];
}

// 1 / (1 + e^-x).
inline Lanes Sigmoid(Lanes x) { return Div(Splat(1.0f), Add(Splat(1.0f), Exp(Sub(Splat(0.0f), x)))); }

}  // namespace sluice::kernels::SLUICE_ISA
