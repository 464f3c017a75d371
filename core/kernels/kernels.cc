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
  thread_local std::vector<float> scratch;
  if (static_cast<int64_t>(scratch.size()) < dim) scratch.resize(dim);
  ActiveKernels().apply_rope(
      {x, rows, row_stride, heads, head_stride, dim, cos, sin, interleaved, scratch.data()});
}

}  // namespace sluice::kernels
