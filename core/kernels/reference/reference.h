// The operations of core/kernels written plainly on tensors: float32 or float64, any device. They say what
// the kernels compute; the kernels' test compares the two, and core/model/reference_decoder.h is built from
// them.
//
// LibTorch throws on shapes that do not fit.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "core/kernels/kernels.h"

namespace sluice::kernels::reference {

// x [..., in], w [out, in], bias [out] or undefined.
at::Tensor Linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {});

// x [..., dim].
at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up);

// cos and sin [rows, dim/2] of `positions` (integers) in the type of `inverse_frequencies`.
struct Rotation {
  at::Tensor cos, sin;
};
Rotation RopeCosSin(const at::Tensor& positions, const at::Tensor& inverse_frequencies, double amplitude);
// x [rows, ..., dim]; the result has first halves, then second halves.
at::Tensor ApplyRope(const at::Tensor& x, const Rotation& rotation, bool interleaved);

// q [rows, heads, key_dim], keys [tokens, kv_heads, key_dim], values [tokens, kv_heads, value_dim]; head h
// reads kv head h / (heads / kv_heads), row r the first lengths[r] positions. out [rows, heads, value_dim],
// log_sum_exp [rows, heads].
struct Attended {
  at::Tensor out, log_sum_exp;
};
Attended Attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                   const at::Tensor& lengths, double scale);

// logits [rows, experts] -> ids [rows, k] (int64) by falling weight, weights [rows, k].
struct Routing {
  at::Tensor ids, weights;
};
Routing Route(const at::Tensor& logits, const RouterParams& params, const at::Tensor& correction_bias = {});

// logits [rows, vocab], targets [rows] (int64) -> [rows].
struct TokenScores {
  at::Tensor log_probability, entropy;
};
TokenScores LogSoftmaxAt(const at::Tensor& logits, const at::Tensor& targets, double temperature);

}  // namespace sluice::kernels::reference
