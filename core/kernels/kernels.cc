// The row-wise kernels.
#include "core/kernels/kernels.h"

#include <cmath>

#include "core/kernels/kernel_table.h"

namespace sluice::kernels {
void RmsNorm(const float* x, int64_t rows, int64_t dim, int64_t x_stride, const float* weight, float epsilon,
             float* y, int64_t y_stride) {
  ActiveKernels().rms_norm(x, rows, dim, x_stride, weight, epsilon, y, y_stride);
}

void SwiGlu(const float* gate, const float* up, int64_t n, float* y) {
  ActiveKernels().swiglu(gate, up, n, y);
}

void Add(const float* x, int64_t n, float* y) { ActiveKernels().add(x, n, y); }

void AddScaled(const float* x, float scale, int64_t n, float* y) {
  ActiveKernels().add_scaled(x, scale, n, y);
}

// Angles in double: at position 10^5 a float32 angle would be wrong by 0.004 radians.
void RopeCosSin(absl::Span<const int32_t> positions, absl::Span<const float> inverse_frequencies,
                float amplitude, float* cos, float* sin) {
  for (const int32_t position : positions) {
    for (const float frequency : inverse_frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      *cos++ = static_cast<float>(std::cos(angle)) * amplitude;
      *sin++ = static_cast<float>(std::sin(angle)) * amplitude;
    }
  }
}

void ApplyRope(float* x, int64_t rows, int64_t row_stride, int64_t heads, int64_t head_stride, int64_t dim,
               const float* cos, const float* sin, bool interleaved) {
  const int64_t half = dim / 2;
  std::vector<float> turned(dim);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t h = 0; h < heads; ++h) {
      float* v = x + r * row_stride + h * head_stride;
      for (int64_t i = 0; i < half; ++i) {
        const float a = interleaved ? v[2 * i] : v[i], b = interleaved ? v[2 * i + 1] : v[half + i];
        const float c = cos[r * half + i], s = sin[r * half + i];
        turned[i] = a * c - b * s;
        turned[half + i] = b * c + a * s;
      }
      std::copy(turned.begin(), turned.end(), v);
    }
  }
}

float LogSoftmaxAt(const float* logits, int64_t vocab, int32_t target, float temperature, float* entropy) {
  const float inverse = 1.0f / temperature;
  float max, sum, weighted;
  ActiveKernels().log_softmax_sums(logits, vocab, inverse, &max, &sum, &weighted);
  const float log_sum = static_cast<float>(std::log(static_cast<double>(sum)));
  if (entropy != nullptr) *entropy = log_sum - weighted / sum;
  return (logits[target] * inverse - max) - log_sum;
}

}  // namespace sluice::kernels
