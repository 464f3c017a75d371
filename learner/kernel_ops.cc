#include "learner/kernel_ops.h"

#include <cmath>
#include <utility>

namespace sluice::learner {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Backward = std::function<std::vector<at::Tensor>(const at::Tensor&)>;

// Carries the backward from a node's forward to its backward.
struct BackwardHolder : torch::CustomClassHolder {
  explicit BackwardHolder(Backward f) : run(std::move(f)) {}
  Backward run;
};

struct KernelFunction : torch::autograd::Function<KernelFunction> {
  static at::Tensor forward(AutogradContext* context, at::TensorList inputs,
                            const std::function<at::Tensor()>& kernel, const Backward& backward) {
    context->saved_data["backward"] =
        c10::IValue::make_capsule(c10::make_intrusive<BackwardHolder>(backward));
    return kernel();
  }
  static variable_list backward(AutogradContext* context, variable_list d_out) {
    auto holder = context->saved_data["backward"].toCapsule();
    std::vector<at::Tensor> d_in = static_cast<BackwardHolder*>(holder.get())->run(d_out[0].contiguous());
    d_in.resize(d_in.size() + 2);  // the two functions have none
    return d_in;
  }
};

float* Data(at::Tensor& t) { return t.mutable_data_ptr<float>(); }
const float* Data(const at::Tensor& t) { return t.const_data_ptr<float>(); }

// grad += dy^T x
void AddWeightGradient(const Weight& weight, const at::Tensor& dy, const at::Tensor& x) {
  at::Tensor grad = weight.grad;
  grad.addmm_(dy.t(), x);
}

// Activations of an MLP, kept for its backward.
struct MlpActivations {
  at::Tensor x, gate, up, act;  // [rows, hidden], then [rows, intermediate]
};

at::Tensor MlpForward(const MlpWeights& packed, MlpActivations* kept, ThreadPool* pool) {
  const int64_t rows = kept->x.size(0), hidden = kept->x.size(1), width = packed.gate.out();
  kept->gate = at::empty({rows, width});
  kept->up = at::empty({rows, width});
  kept->act = at::empty({rows, width});
  at::Tensor y = at::empty({rows, packed.down.out()});
  const at::Tensor& x = kept->x;
  kernels::Linear(Data(x), rows, hidden, packed.gate, nullptr, Data(kept->gate), width, pool);
  kernels::Linear(Data(x), rows, hidden, packed.up, nullptr, Data(kept->up), width, pool);
  kernels::SwiGlu(Data(std::as_const(kept->gate)), Data(std::as_const(kept->up)), rows * width,
                  Data(kept->act));
  kernels::Linear(Data(std::as_const(kept->act)), rows, width, packed.down, nullptr, Data(y),
                  packed.down.out(), pool);
  return y;
}

struct SwiGluGradients {
  at::Tensor gate, up;
};
// silu'(g) = s (1 + g (1 - s)), s = sigmoid(g).
SwiGluGradients SwiGluBackward(const at::Tensor& d_act, const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor s = at::sigmoid(gate);
  const at::Tensor d_up = d_act * gate * s;
  const at::Tensor d_gate = d_act * up * s * (1 + gate * (1 - s));
  return {d_gate, d_up};
}

at::Tensor MlpBackward(const at::Tensor& dy, const MlpActivations& kept, const MlpParameters& p) {
  AddWeightGradient(p.down, dy, kept.act);
  const SwiGluGradients d = SwiGluBackward(at::mm(dy, p.down.value), kept.gate, kept.up);
  AddWeightGradient(p.gate, d.gate, kept.x);
  AddWeightGradient(p.up, d.up, kept.x);
  return at::mm(d.gate, p.gate.value).addmm_(d.up, p.up.value);
}

}  // namespace

at::Tensor RunKernel(at::TensorList inputs, const std::function<at::Tensor()>& forward,
                     const Backward& backward) {
  return KernelFunction::apply(inputs, forward, backward);
}

at::Tensor Linear(const at::Tensor& x, const kernels::PackedMatrix& packed, const Weight& weight,
                  const std::vector<float>& packed_bias, const Weight& bias, ThreadPool* pool) {
  const at::Tensor input = x.detach();
  auto forward = [&] {
    at::Tensor y = at::empty({input.size(0), packed.out()});
    kernels::Linear(Data(input), input.size(0), packed.in(), packed,
                    packed_bias.empty() ? nullptr : packed_bias.data(), Data(y), packed.out(), pool);
    return y;
  };
  return RunKernel({x}, forward, [input, weight, bias](const at::Tensor& dy) -> std::vector<at::Tensor> {
    AddWeightGradient(weight, dy, input);
    if (bias.grad.defined()) at::Tensor(bias.grad).add_(dy.sum(0));
    return {at::mm(dy, weight.value)};
  });
}

at::Tensor RmsNormBackward(const at::Tensor& dy, const at::Tensor& x, const Weight& weight, float epsilon) {
  const at::Tensor inverse = at::rsqrt(x.square().mean({-1}, true) + epsilon);
  const at::Tensor unit = x * inverse;
  at::Tensor(weight.grad).add_((dy * unit).sum(0));
  const at::Tensor g = dy * weight.value;
  return inverse * (g - unit * (g * unit).mean({-1}, true));
}

at::Tensor RmsNorm(const at::Tensor& x, const std::vector<float>& packed, const Weight& weight,
                   float epsilon) {
  const at::Tensor input = x.detach();
  auto forward = [&] {
    const int64_t dim = input.size(1);
    at::Tensor y = at::empty_like(input);
    kernels::RmsNorm(Data(input), input.size(0), dim, dim, packed.data(), epsilon, Data(y), dim);
    return y;
  };
  return RunKernel({x}, forward, [input, weight, epsilon](const at::Tensor& dy) -> std::vector<at::Tensor> {
    return {RmsNormBackward(dy, input, weight, epsilon)};
  });
}

at::Tensor Mlp(const at::Tensor& x, const MlpWeights& packed, const MlpParameters& parameters,
               ThreadPool* pool) {
  auto kept = std::make_shared<MlpActivations>();
  kept->x = x.detach();
  return RunKernel(
      {x}, [&] { return MlpForward(packed, kept.get(), pool); },
      [kept, parameters](const at::Tensor& dy) -> std::vector<at::Tensor> {
        return {MlpBackward(dy, *kept, parameters)};
      });
}

namespace {

// Which rows each expert computes: assignments sorted by expert, then by row.
struct Assignments {
  std::vector<int32_t> ids;              // [rows, k] by falling weight
  std::vector<float> weights;            // [rows, k]
  std::vector<int64_t> first;            // [experts + 1] of each expert's assignments
  std::vector<int64_t> row, slot_index;  // by assignment: its row, and its place in `weights`
  std::vector<int64_t> place;            // [rows, k] -> assignment
};

Assignments Assign(const at::Tensor& logits, const kernels::RouterParams& params) {
  const int64_t rows = logits.size(0), experts = params.experts, k = params.k;
  Assignments a;
  a.ids.resize(rows * k);
  a.weights.resize(rows * k);
  a.first.assign(experts + 1, 0);
  for (int64_t r = 0; r < rows; ++r) {
    kernels::Route(Data(logits) + r * experts, params, &a.ids[r * k], &a.weights[r * k]);
  }
  for (int32_t id : a.ids) ++a.first[id + 1];
  for (int64_t e = 0; e < experts; ++e) a.first[e + 1] += a.first[e];
  std::vector<int64_t> next(a.first.begin(), a.first.end() - 1);
  a.row.resize(rows * k);
  a.slot_index.resize(rows * k);
  a.place.resize(rows * k);
  for (int64_t i = 0; i < rows * k; ++i) {
    const int64_t at = next[a.ids[i]]++;
    a.row[at] = i / k;
    a.slot_index[at] = i;
    a.place[i] = at;
  }
  return a;
}

struct MoeActivations {
  at::Tensor x, logits;
  Assignments assignments;
  MlpActivations routed;  // of all assignments
  at::Tensor outputs;     // [assignments, hidden]
  MlpActivations shared;
};

at::Tensor GatherRows(const at::Tensor& x, const std::vector<int64_t>& rows) {
  const int64_t width = x.size(1);
  at::Tensor out = at::empty({static_cast<int64_t>(rows.size()), width});
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(Data(x) + rows[i] * width, width, Data(out) + static_cast<int64_t>(i) * width);
  }
  return out;
}

void RunExperts(const MoeWeights& packed, MoeActivations* kept, ThreadPool* pool) {
  const Assignments& a = kept->assignments;
  MlpActivations& m = kept->routed;
  m.x = GatherRows(kept->x, a.row);
  const int64_t n = m.x.size(0), hidden = m.x.size(1), width = packed.experts[0].gate.out();
  m.gate = at::empty({n, width});
  m.up = at::empty({n, width});
  m.act = at::empty({n, width});
  kept->outputs = at::empty({n, hidden});
  for (size_t e = 0; e < packed.experts.size(); ++e) {
    const int64_t from = a.first[e], rows = a.first[e + 1] - from;
    if (rows == 0) continue;
    const MlpWeights& w = packed.experts[e];
    const float* x = Data(m.x) + from * hidden;
    float* gate = Data(m.gate) + from * width;
    float* up = Data(m.up) + from * width;
    float* act = Data(m.act) + from * width;
    kernels::Linear(x, rows, hidden, w.gate, nullptr, gate, width, pool);
    kernels::Linear(x, rows, hidden, w.up, nullptr, up, width, pool);
    kernels::SwiGlu(gate, up, rows * width, act);
    kernels::Linear(act, rows, width, w.down, nullptr, Data(kept->outputs) + from * hidden, hidden, pool);
  }
}

at::Tensor MoeForward(const DecoderWeights& model, const MoeWeights& packed, MoeActivations* kept,
                      ThreadPool* pool) {
  const int64_t rows = kept->x.size(0), hidden = kept->x.size(1);
  const float* bias = packed.correction_bias.empty() ? nullptr : packed.correction_bias.data();
  const kernels::RouterParams params = RouterParamsOf(model.config, bias);
  kept->logits = at::empty({rows, params.experts});
  kernels::Linear(Data(std::as_const(kept->x)), rows, hidden, packed.router, nullptr, Data(kept->logits),
                  params.experts, pool);
  kept->assignments = Assign(kept->logits, params);
  RunExperts(packed, kept, pool);
  at::Tensor y;
  if (packed.has_shared) {
    kept->shared.x = kept->x;
    y = MlpForward(packed.shared, &kept->shared, pool);
  } else {
    y = at::zeros({rows, hidden});
  }
  const Assignments& a = kept->assignments;
  for (int64_t i = 0; i < rows * params.k; ++i) {  // slots of a row in order
    kernels::AddScaled(Data(std::as_const(kept->outputs)) + a.place[i] * hidden, a.weights[i], hidden,
                       Data(y) + i / params.k * hidden);
  }
  return y;
}

// d_weights [rows, k] -> d_logits [rows, experts]. With s = softmax or sigmoid of the logits, weight_i =
// scaling s_i, or scaling s_i / (sum_j s_j + 1e-20) over the chosen experts (DeepSeek-V3, eq. 13).
at::Tensor RouterBackward(const ModelConfig& config, const at::Tensor& logits, const Assignments& a,
                          const std::vector<float>& d_weights) {
  const MoeConfig& moe = config.moe;
  const bool sigmoid = moe.score == RouterScore::kSigmoid;
  const at::Tensor scores = sigmoid ? at::sigmoid(logits) : at::softmax(logits, -1);
  at::Tensor d_scores = at::zeros_like(scores);
  const int64_t rows = logits.size(0), experts = moe.experts, k = moe.experts_per_token;
  for (int64_t r = 0; r < rows; ++r) {
    const float* s = Data(scores) + r * experts;
    float* ds = Data(d_scores) + r * experts;
    double sum = 1e-20, inner = 0;
    for (int64_t i = r * k; i < (r + 1) * k; ++i) {
      sum += s[a.ids[i]];
      inner += static_cast<double>(d_weights[i]) * s[a.ids[i]];
    }
    for (int64_t i = r * k; i < (r + 1) * k; ++i) {
      const double d = moe.normalize_weights ? (d_weights[i] - inner / sum) / sum : d_weights[i];
      ds[a.ids[i]] = static_cast<float>(moe.scaling * d);
    }
  }
  if (sigmoid) return d_scores * scores * (1 - scores);
  return scores * (d_scores - (d_scores * scores).sum({-1}, true));
}

// Gradients through the routed experts; fills d_weights [rows, k].
at::Tensor ExpertsBackward(const at::Tensor& dy, const MoeActivations& kept, const MoeParameters& p,
                           std::vector<float>* d_weights) {
  const Assignments& a = kept.assignments;
  const int64_t n = static_cast<int64_t>(a.row.size());
  const at::Tensor dy_rows = GatherRows(dy, a.row);  // [assignments, hidden]
  const at::Tensor dots = (dy_rows * kept.outputs).sum(-1);
  at::Tensor scale = at::empty({n, 1});
  d_weights->resize(n);
  for (int64_t i = 0; i < n; ++i) {
    (*d_weights)[a.slot_index[i]] = Data(dots)[i];
    Data(scale)[i] = a.weights[a.slot_index[i]];
  }
  const at::Tensor d_out = dy_rows * scale;
  const MlpActivations& m = kept.routed;
  at::Tensor d_act = at::empty_like(m.act);
  auto piece = [&](const at::Tensor& t, size_t e) {
    return t.narrow(0, a.first[e], a.first[e + 1] - a.first[e]);
  };
  auto used = [&](size_t e) { return a.first[e + 1] > a.first[e]; };
  for (size_t e = 0; e < p.experts.size(); ++e) {
    if (!used(e)) continue;
    at::Tensor into = piece(d_act, e);
    at::mm_out(into, piece(d_out, e), p.experts[e].down.value);
    AddWeightGradient(p.experts[e].down, piece(d_out, e), piece(m.act, e));
  }
  const SwiGluGradients d = SwiGluBackward(d_act, m.gate, m.up);
  at::Tensor d_x = at::empty_like(m.x);
  for (size_t e = 0; e < p.experts.size(); ++e) {
    if (!used(e)) continue;
    AddWeightGradient(p.experts[e].gate, piece(d.gate, e), piece(m.x, e));
    AddWeightGradient(p.experts[e].up, piece(d.up, e), piece(m.x, e));
    at::Tensor into = piece(d_x, e);
    at::mm_out(into, piece(d.gate, e), p.experts[e].gate.value);
    into.addmm_(piece(d.up, e), p.experts[e].up.value);
  }
  return d_x;
}

at::Tensor MoeBackward(const at::Tensor& dy, const ModelConfig& config, const MoeActivations& kept,
                       const MoeParameters& p) {
  std::vector<float> d_weights;
  const at::Tensor d_gathered = ExpertsBackward(dy, kept, p, &d_weights);
  const at::Tensor d_logits = RouterBackward(config, kept.logits, kept.assignments, d_weights);
  AddWeightGradient(p.router, d_logits, kept.x);
  at::Tensor dx = at::mm(d_logits, p.router.value);
  if (p.shared.gate.value.defined()) dx.add_(MlpBackward(dy, kept.shared, p.shared));
  const int64_t hidden = dx.size(1);
  for (size_t i = 0; i < kept.assignments.row.size(); ++i) {
    kernels::Add(Data(d_gathered) + static_cast<int64_t>(i) * hidden, hidden,
                 Data(dx) + kept.assignments.row[i] * hidden);
  }
  return dx;
}

}  // namespace

at::Tensor Moe(const at::Tensor& x, const DecoderWeights& model, const MoeWeights& packed,
               const MoeParameters& parameters, ThreadPool* pool) {
  auto kept = std::make_shared<MoeActivations>();
  kept->x = x.detach();
  return RunKernel(
      {x}, [&] { return MoeForward(model, packed, kept.get(), pool); },
      [kept, parameters, config = model.config](const at::Tensor& dy) -> std::vector<at::Tensor> {
        return {MoeBackward(dy, config, *kept, parameters)};
      });
}

}  // namespace sluice::learner
