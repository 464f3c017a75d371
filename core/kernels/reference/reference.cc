#include "core/kernels/reference/reference.h"

namespace sluice::kernels::reference {

at::Tensor Linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  const at::Tensor y = at::matmul(x, w.t());
  return bias.defined() ? y + bias : y;
}

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return x * at::rsqrt(x.pow(2).mean(-1, /*keepdim=*/true) + epsilon) * weight;
}

at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up) { return gate * at::sigmoid(gate) * up; }

Rotation RopeCosSin(const at::Tensor& positions, const at::Tensor& inverse_frequencies, double amplitude) {
  // Angles in double, as the kernel has them.
  const at::Tensor angle = positions.to(at::kDouble).unsqueeze(1) * inverse_frequencies.to(at::kDouble);
  return {at::cos(angle).to(inverse_frequencies.scalar_type()) * amplitude,
          at::sin(angle).to(inverse_frequencies.scalar_type()) * amplitude};
}

at::Tensor ApplyRope(const at::Tensor& x, const Rotation& rotation, bool interleaved) {
  const int64_t half = x.size(-1) / 2;
  at::Tensor a, b;
  if (interleaved) {
    const at::Tensor pairs = x.unflatten(-1, {half, 2});
    a = pairs.select(-1, 0);
    b = pairs.select(-1, 1);
  } else {
    a = x.narrow(-1, 0, half);
    b = x.narrow(-1, half, half);
  }
  std::vector<int64_t> shape(x.dim(), 1);  // [rows, 1, ..., half]
  shape.front() = x.size(0);
  shape.back() = half;
  const at::Tensor cos = rotation.cos.view(shape), sin = rotation.sin.view(shape);
  return at::cat({a * cos - b * sin, b * cos + a * sin}, -1);
}

Attended Attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                   const at::Tensor& lengths, double scale) {
  const int64_t heads = q.size(1) / keys.size(1);  // that read one kv head
  const at::Tensor k = keys.repeat_interleave(heads, 1), v = values.repeat_interleave(heads, 1);
  const at::Tensor positions = at::arange(keys.size(0), lengths.options());
  const at::Tensor hidden =
      (positions.unsqueeze(0) >= lengths.unsqueeze(1)).unsqueeze(1);  // [rows, 1, tokens]
  const at::Tensor scores = at::einsum("rhw,thw->rht", {q, k}) * scale;
  const at::Tensor masked = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
  return {at::einsum("rht,thc->rhc", {masked.softmax(-1), v}), masked.logsumexp(-1)};
}

Routing Route(const at::Tensor& logits, const RouterParams& params, const at::Tensor& correction_bias) {
  const at::Tensor scores = params.sigmoid ? at::sigmoid(logits) : logits.softmax(-1);
  at::Tensor selection = correction_bias.defined() ? scores + correction_bias : scores;
  if (params.groups > 1 && params.groups_kept < params.groups) {
    const int64_t size = params.experts / params.groups;
    const at::Tensor grouped = selection.unflatten(-1, {params.groups, size});
    const at::Tensor group_scores =
        params.group_top_two_sum && size > 1 ? std::get<0>(grouped.topk(2, -1)).sum(-1) : grouped.amax(-1);
    const at::Tensor order = std::get<1>(group_scores.sort(/*stable=*/true, -1, /*descending=*/true));
    const at::Tensor kept =
        at::zeros_like(group_scores).scatter(-1, order.narrow(-1, 0, params.groups_kept), 1.0).to(at::kBool);
    selection = selection.masked_fill(kept.repeat_interleave(size, -1).logical_not(),
                                      -std::numeric_limits<double>::infinity());
  }
  at::Tensor ids =
      std::get<1>(selection.sort(/*stable=*/true, -1, /*descending=*/true)).narrow(-1, 0, params.k);
  at::Tensor weights = scores.gather(-1, ids);
  const auto [sorted, order] = weights.sort(/*stable=*/true, -1, /*descending=*/true);
  ids = ids.gather(-1, order);
  weights = params.normalize ? sorted / (sorted.sum(-1, /*keepdim=*/true) + 1e-20) : sorted;
  return {ids, weights * params.scaling};
}

TokenScores LogSoftmaxAt(const at::Tensor& logits, const at::Tensor& targets, double temperature) {
  const at::Tensor log_p = (logits / temperature).log_softmax(-1);
  return {log_p.gather(-1, targets.unsqueeze(-1)).squeeze(-1), -(log_p.exp() * log_p).sum(-1)};
}

}  // namespace sluice::kernels::reference
