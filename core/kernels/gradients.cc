#include "core/kernels/gradients.h"

#include <algorithm>
#include <vector>

#include "core/kernels/kernel_table.h"

namespace sluice::kernels {

void RmsNormBackward(const RmsNormGradient& g, int64_t rows, int64_t dim, const float* weight,
                     float epsilon) {
  ActiveKernels().gradients.rms_norm(
      {g.dy, g.x, weight, rows, dim, g.dy_stride, g.x_stride, g.dx_stride, epsilon, g.dx, g.d_weight});
}

void SwiGluBackward(const float* d_act, const float* gate, const float* up, int64_t n, float* act,
                    float* d_gate, float* d_up) {
  ActiveKernels().gradients.swiglu(d_act, gate, up, n, act, d_gate, d_up);
}

void RopeBackward(float* d, int64_t rows, int64_t row_stride, int64_t heads, int64_t head_stride, int64_t dim,
                  const float* cos, const float* sin, bool interleaved) {
  const int64_t half = dim / 2;
  std::vector<float> turned(dim);
  for (int64_t r = 0; r < rows; ++r) {
    const float* c = cos + r * half;
    const float* s = sin + r * half;
    for (int64_t h = 0; h < heads; ++h) {
      float* v = d + r * row_stride + h * head_stride;
      for (int64_t i = 0; i < half; ++i) {
        turned[interleaved ? 2 * i : i] = v[i] * c[i] + v[half + i] * s[i];
        turned[interleaved ? 2 * i + 1 : half + i] = v[half + i] * c[i] - v[i] * s[i];
      }
      std::copy(turned.begin(), turned.end(), v);
    }
  }
}

void LogSoftmaxBackward(const LogitGradient& g, int64_t vocab, float* logits) {
  ActiveKernels().gradients.logits(
      {logits, vocab, g.inverse_temperature, g.log_total, g.logprob_sum, g.entropy_weight, g.entropy});
}

}  // namespace sluice::kernels
