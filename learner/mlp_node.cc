#include "learner/mlp_node.h"

#include <memory>

#include "core/kernels/gradients.h"
#include "core/model/row_ranges.h"
#include "learner/kernel_node.h"

namespace sluice::learner {
namespace {

constexpr int64_t kActivationCost = 12;  // an exponential, in floats touched

struct Kept {
  at::Tensor x, gate, up;  // [rows, hidden], [rows, width]
};

at::Tensor Forward(const MlpWeights& packed, Kept* k, ThreadPool* pool) {
  const int64_t rows = k->x.size(0), hidden = k->x.size(1), width = packed.gate.out();
  k->gate = at::empty({rows, width});
  k->up = at::empty({rows, width});
  const float* x = Data(std::as_const(k->x));
  kernels::LinearBatch({kernels::LinearJob{x, rows, hidden, &packed.gate, nullptr, Data(k->gate), width},
                        kernels::LinearJob{x, rows, hidden, &packed.up, nullptr, Data(k->up), width}},
                       pool);
  const at::Tensor act = Activate(k->gate, k->up, pool);
  at::Tensor y = at::empty({rows, packed.down.out()});
  kernels::Linear(Data(act), rows, width, packed.down, nullptr, Data(y), packed.down.out(), pool);
  return y;
}

at::Tensor Backward(const at::Tensor& dy, const Kept& k, const MlpParameters& p, ThreadPool* pool) {
  at::Tensor act = at::empty_like(k.gate);  // first its gradient
  RunProducts({{act, false, {InputGradient(dy, p.down)}}}, pool);
  ActivateBackward(act, k.gate, k.up, pool);
  const at::Tensor &d_gate = k.gate, &d_up = k.up;
  at::Tensor dx = at::empty_like(k.x);
  RunProducts({WeightGradient(p.down, dy, act),
               WeightGradient(p.gate, d_gate, k.x),
               WeightGradient(p.up, d_up, k.x),
               {dx, false, {InputGradient(d_gate, p.gate), InputGradient(d_up, p.up)}}},
              pool);
  return dx;
}

}  // namespace

at::Tensor Activate(const at::Tensor& gate, const at::Tensor& up, ThreadPool* pool) {
  const int64_t width = gate.size(1);
  at::Tensor act = at::empty_like(gate);
  const float *g = Data(gate), *u = Data(up);
  float* to = Data(act);
  ForRowRanges(pool, gate.size(0), kActivationCost * width, [&](int64_t first, int64_t count) {
    kernels::SwiGlu(g + first * width, u + first * width, count * width, to + first * width);
  });
  return act;
}

void ActivateBackward(at::Tensor d_act, at::Tensor gate, at::Tensor up, ThreadPool* pool) {
  const int64_t width = gate.size(1);
  float *d = Data(d_act), *g = Data(gate), *u = Data(up);
  ForRowRanges(pool, gate.size(0), kActivationCost * width, [&](int64_t first, int64_t count) {
    const int64_t at = first * width;
    kernels::SwiGluBackward(d + at, g + at, u + at, count * width, d + at, g + at, u + at);
  });
}

at::Tensor Mlp(const at::Tensor& x, const MlpWeights& packed, const MlpParameters& parameters,
               ThreadPool* pool) {
  auto kept = std::make_shared<Kept>();
  kept->x = x.detach();
  const auto forward = [&]() -> std::vector<at::Tensor> { return {Forward(packed, kept.get(), pool)}; };
  const auto backward = [=](const std::vector<at::Tensor>& d_out) -> std::vector<at::Tensor> {
    return {Backward(d_out[0], *kept, parameters, pool)};
  };
  return RunKernel({x}, forward, backward)[0];
}

}  // namespace sluice::learner
