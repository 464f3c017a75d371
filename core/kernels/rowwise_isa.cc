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

namespace {

// y[i] = x[2 i], y[half + i] = x[2 i + 1].
void SplitPairs(const float* __restrict x, int64_t half, float* __restrict y) {
  for (int64_t i = 0; i < half; ++i) {
    y[i] = x[2 * i];
    y[half + i] = x[2 * i + 1];
  }
}

}  // namespace

void ApplyRopeIsa(const RopePiece& p) {
  const int64_t half = p.dim / 2;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float *cos = p.cos + r * half, *sin = p.sin + r * half;
    for (int64_t h = 0; h < p.heads; ++h) {
      float* const y = p.x + r * p.row_stride + h * p.head_stride;
      const float* x = y;
      if (p.interleaved) {
        SplitPairs(y, half, p.scratch);
        x = p.scratch;
      }
      int64_t i = 0;
      for (; i + kLanes <= half; i += kLanes) {
        const Lanes a = Load(x + i), b = Load(x + half + i), c = Load(cos + i), s = Load(sin + i);
        Store(y + i, Sub(Mul(a, c), Mul(b, s)));
        Store(y + half + i, Add(Mul(b, c), Mul(a, s)));
      }
      for (; i < half; ++i) {
        const float a = x[i], b = x[half + i];
        y[i] = a * cos[i] - b * sin[i];
        y[half + i] = b * cos[i] + a * sin[i];
      }
    }
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

}  // namespace sluice::kernels::SLUICE_ISA
