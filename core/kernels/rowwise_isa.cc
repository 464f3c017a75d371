#include "core/kernels/isa_pieces.h"
#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

// y[i] = f(a[i], b[i]) in each lane, with the last values in a padded load.
template <typename F>
inline void Map(const float* a, const float* b, int64_t n, float* y, F f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, f(Load(a + i), Load(b + i)));
  if (i < n) StoreFirst(y + i, n - i, f(LoadFirst(a + i, n - i, 0.0f), LoadFirst(b + i, n - i, 0.0f)));
}

float MaximumOf(const float* x, int64_t n) {
  const float lowest = -__builtin_inff();
  Lanes best = Splat(lowest);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) best = Max(Load(x + i), best);
  if (i < n) best = Max(LoadFirst(x + i, n - i, lowest), best);
  return MaxOf(best);
}

}  // namespace

float DotIsa(const float* a, const float* b, int64_t n) {
  Lanes sum = Splat(0.0f);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum = Fma(Load(a + i), Load(b + i), sum);
  if (i < n) sum = Fma(LoadFirst(a + i, n - i, 0.0f), LoadFirst(b + i, n - i, 0.0f), sum);
  return Sum(sum);
}

void RmsNormIsa(const float* x, int64_t rows, int64_t dim, int64_t x_stride, const float* weight,
                float epsilon, float* y, int64_t y_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * x_stride;
    const float mean = DotIsa(row, row, dim) / static_cast<float>(dim);
    const Lanes inverse = Splat(1.0f / __builtin_sqrtf(mean + epsilon));
    Map(row, weight, dim, y + r * y_stride,
        [&](const Lanes& a, const Lanes& b) { return Mul(Mul(a, inverse), b); });
  }
}

void SwiGluIsa(const float* gate, const float* up, int64_t n, float* y) {
  Map(gate, up, n, y, [](const Lanes& g, const Lanes& u) {
    return Mul(Div(g, Add(Splat(1.0f), Exp(Sub(Splat(0.0f), g)))), u);
  });
}

void AddIsa(const float* x, int64_t n, float* y) {
  Map(x, y, n, y, [](const Lanes& a, const Lanes& b) { return Add(b, a); });
}

void AddScaledIsa(const float* x, float scale, int64_t n, float* y) {
  const Lanes s = Splat(scale);
  Map(x, y, n, y, [&](const Lanes& a, const Lanes& b) { return Fma(s, a, b); });
}

void SigmoidIsa(float* x, int64_t n) {
  Map(x, x, n, x, [](const Lanes& a, const Lanes&) { return Sigmoid(a); });
}

void SoftmaxIsa(float* x, int64_t n) {
  const Lanes m = Splat(MaximumOf(x, n));
  Lanes sum = Splat(0.0f);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes e = Exp(Sub(Load(x + i), m));
    Store(x + i, e);
    sum = Add(sum, e);
  }
  if (i < n) {
    const Lanes e = Exp(Sub(LoadFirst(x + i, n - i, -__builtin_inff()), m));
    StoreFirst(x + i, n - i, e);
    sum = Add(sum, LoadFirst(x + i, n - i, 0.0f));
  }
  const Lanes total = Splat(Sum(sum));
  Map(x, x, n, x, [&](const Lanes& a, const Lanes&) { return Div(a, total); });
}

void LogSoftmaxSumsIsa(const float* logits, int64_t vocab, float inverse_temperature, float* max, float* sum,
                       float* weighted) {
  const float lowest = -__builtin_inff();
  const Lanes scale = Splat(inverse_temperature);
  // The maximum of the scaled values is the scaled maximum: rounding is monotone and the scale positive.
  *max = MaximumOf(logits, vocab) * inverse_temperature;
  const Lanes m = Splat(*max);
  Lanes total = Splat(0.0f), weighted_total = Splat(0.0f);
  for (int64_t i = 0; i < vocab; i += kLanes) {
    const int64_t n = vocab - i;
    const Lanes logit = n >= kLanes ? Load(logits + i) : LoadFirst(logits + i, n, lowest);
    // Below -104 the exponential is 0, and 0 times minus infinity must be 0.
    const Lanes z = Max(Splat(-104.0f), Sub(Mul(logit, scale), m));
    const Lanes e = Exp(z);
    total = Add(total, e);
    weighted_total = Fma(e, z, weighted_total);
  }
  *sum = Sum(total);
  *weighted = Sum(weighted_total);
}

}  // namespace sluice::kernels::SLUICE_ISA
