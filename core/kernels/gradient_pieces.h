// The row-wise gradients that are compiled once per instruction set (gradient_isa.cc).
#pragma once

#include <stdint.h>

namespace sluice::kernels {

// See RmsNormBackward of gradients.h.
struct RmsNormGradientPiece {
  const float *dy, *x, *weight;
  int64_t rows, dim, dy_stride, x_stride, dx_stride;
  float epsilon;
  float *dx, *d_weight;
};

struct LogitGradientPiece {
  float* logits;  // in place
  int64_t vocab;
  float inverse_temperature, log_total, logprob_sum, entropy_weight, entropy;
};

struct GradientPieces {
  void (*rms_norm)(const RmsNormGradientPiece& piece);
  void (*swiglu)(const float* d_act, const float* gate, const float* up, int64_t n, float* act, float* d_gate,
                 float* d_up);
  void (*logits)(const LogitGradientPiece& piece);
};

}  // namespace sluice::kernels
