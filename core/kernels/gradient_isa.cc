#include "core/kernels/isa_pieces.h"
#include "core/kernels/lanes.h"

namespace sluice::kernels::SLUICE_ISA {
namespace {

// body(first, n, load, store) over pieces of 16 values, the last one padded with zeros.
template <typename Body>
inline void ForLanes(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, kLanes);
  if (i < n) body(i, n - i);
}
inline Lanes LoadSome(const float* p, int64_t n) { return n >= kLanes ? Load(p) : LoadFirst(p, n, 0.0f); }
inline void StoreSome(float* p, int64_t n, Lanes a) {
  if (n >= kLanes) {
    Store(p, a);
  } else {
    StoreFirst(p, n, a);
  }
}

}  // namespace

// With u = x / rms and g = dy * weight: dx = (g - u mean(g u)) / rms, d_weight += dy u.
void RmsNormBackwardIsa(const RmsNormGradientPiece& p) {
  const float dim = static_cast<float>(p.dim);
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* dy = p.dy + r * p.dy_stride;
    const float* x = p.x + r * p.x_stride;
    float* dx = p.dx + r * p.dx_stride;
    Lanes squares = Splat(0.0f), products = Splat(0.0f);
    ForLanes(p.dim, [&](int64_t i, int64_t n) {
      const Lanes v = LoadSome(x + i, n);
      squares = Fma(v, v, squares);
      products = Fma(Mul(LoadSome(dy + i, n), LoadSome(p.weight + i, n)), v, products);
    });
    const float inverse = 1.0f / __builtin_sqrtf(Sum(squares) / dim + p.epsilon);
    const Lanes scale = Splat(inverse);
    const Lanes along = Splat(Sum(products) / dim * inverse * inverse * inverse);
    ForLanes(p.dim, [&](int64_t i, int64_t n) {
      const Lanes v = LoadSome(x + i, n), d = LoadSome(dy + i, n);
      const Lanes g = Mul(Mul(d, LoadSome(p.weight + i, n)), scale);
      StoreSome(p.d_weight + i, n, Fma(Mul(d, scale), v, LoadSome(p.d_weight + i, n)));
      StoreSome(dx + i, n, Sub(g, Mul(v, along)));
    });
  }
}

// silu'(g) = s (1 + g (1 - s)), s = sigmoid(g).
void SwiGluBackwardIsa(const float* d_act, const float* gate, const float* up, int64_t n, float* act,
                       float* d_gate, float* d_up) {
  const Lanes one = Splat(1.0f);
  ForLanes(n, [&](int64_t i, int64_t count) {
    const Lanes g = LoadSome(gate + i, count), u = LoadSome(up + i, count), d = LoadSome(d_act + i, count);
    const Lanes s = Sigmoid(g), silu = Mul(g, s);
    if (act != nullptr) StoreSome(act + i, count, Mul(silu, u));
    StoreSome(d_up + i, count, Mul(d, silu));
    StoreSome(d_gate + i, count, Mul(Mul(d, u), Mul(s, Fma(g, Sub(one, s), one))));
  });
}

void LogitGradientIsa(const LogitGradientPiece& p) {
  const Lanes inverse = Splat(p.inverse_temperature), log_total = Splat(p.log_total);
  const Lanes sum = Splat(p.logprob_sum), weight = Splat(p.entropy_weight), entropy = Splat(p.entropy);
  const Lanes zero = Splat(0.0f), lowest = Splat(-200.0f);
  ForLanes(p.vocab, [&](int64_t i, int64_t n) {
    // A log-probability of -infinity has probability 0; bounded, 0 times it is 0.
    const Lanes logprob = Max(Sub(Mul(LoadSome(p.logits + i, n), inverse), log_total), lowest);
    const Lanes factor = Fma(weight, Add(logprob, entropy), sum);
    StoreSome(p.logits + i, n, Sub(zero, Mul(Mul(Exp(logprob), factor), inverse)));
  });
}

}  // namespace sluice::kernels::SLUICE_ISA
