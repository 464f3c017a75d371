// Gradients of the row-wise operations of kernels.h, for the learner. Plain row-major float32. A row's
// gradient does not depend on the other rows of the call. Thread-safe; nothing here divides its work.
#pragma once

#include <cstdint>

namespace sluice::kernels {

// Of RmsNorm: x [rows, dim] as it was given, dy of its result. dx is overwritten (it may be dy), d_weight
// [dim] is added to, row after row.
struct RmsNormGradient {
  const float* dy = nullptr;
  int64_t dy_stride = 0;
  const float* x = nullptr;
  int64_t x_stride = 0;
  float* dx = nullptr;
  int64_t dx_stride = 0;
  float* d_weight = nullptr;
};
void RmsNormBackward(const RmsNormGradient& gradient, int64_t rows, int64_t dim, const float* weight,
                     float epsilon);

// Of SwiGlu over n values. d_gate and d_up are overwritten; act, when not null, receives SwiGlu's result up
// to rounding. d_gate may be gate, and d_up up.
void SwiGluBackward(const float* d_act, const float* gate, const float* up, int64_t n, float* act,
                    float* d_gate, float* d_up);

// Of ApplyRope, with the same arguments: `d` holds gradients of its result (first halves, then second
// halves) and receives those of its input.
void RopeBackward(float* d, int64_t rows, int64_t row_stride, int64_t heads, int64_t head_stride, int64_t dim,
                  const float* cos, const float* sin, bool interleaved);

// Of a loss of the log-probabilities of tokens, and of the entropy, of p = softmax(z), z = logits *
// inverse_temperature: with s the sum of dL/d log p(token), e = dL/dH and H the entropy, the row becomes
// inverse_temperature * (-s p - e p (log p + H)). The caller then adds inverse_temperature * dL/d log
// p(token) at each token. log_total is the natural log of sum exp(z).
struct LogitGradient {
  float inverse_temperature = 1, log_total = 0;
  float logprob_sum = 0;                  // s
  float entropy_weight = 0, entropy = 0;  // e, H
};
void LogSoftmaxBackward(const LogitGradient& gradient, int64_t vocab, float* logits);

}  // namespace sluice::kernels
