#include "learner/moe_node.h"

#include <algorithm>
#include <utility>

#include "core/kernels/kernels.h"
#include "core/model/row_ranges.h"
#include "learner/kernel_node.h"
#include "learner/routing.h"

namespace sluice::learner {
namespace {

using kernels::LinearJob;

at::Tensor GatherRows(const at::Tensor& x, const std::vector<int64_t>& rows, ThreadPool* pool) {
  const int64_t width = x.size(1), count = static_cast<int64_t>(rows.size());
  at::Tensor out = at::empty({count, width});
  const float* from = Data(x);
  float* to = Data(out);
  ForRowRanges(pool, count, 2 * width, [&](int64_t first, int64_t some) {
    for (int64_t i = first; i < first + some; ++i) {
      std::copy_n(from + rows[i] * width, width, to + i * width);
    }
  });
  return out;
}

// Activations of a feed-forward part.
struct Activations {
  at::Tensor x, gate, up;  // [rows, hidden], [rows, width]
};

class MoeNode {
 public:
  MoeNode(const MoeWeights& packed, const MoeParameters& parameters, int64_t moe_layer,
          std::shared_ptr<const ForwardPass> pass)
      : packed_(packed), parameters_(parameters), moe_layer_(moe_layer), pass_(std::move(pass)) {}

  at::Tensor Forward(const at::Tensor& x) {
    const kernels::RouterParams params = RouterParamsOf(
        pass_->weights->config, packed_.correction_bias.empty() ? nullptr : packed_.correction_bias.data());
    x_ = x;
    logits_ = at::empty({rows(), params.experts});
    kernels::Linear(Data(std::as_const(x_)), rows(), hidden(), packed_.router, nullptr, Data(logits_),
                    params.experts, pool());
    routing_ = RouteRows(Data(std::as_const(logits_)), params, moe_layer_, *pass_);
    at::Tensor y = RunExperts();
    AddRouted(&y);
    return y;
  }

  at::Tensor Backward(const at::Tensor& dy) {
    at::Tensor d_scaled = GatherRows(dy, routing_.row, pool());  // [assignments, hidden]
    std::vector<float> d_weights(routing_.weights.size());
    ScaleByWeights(&d_scaled, &d_weights);
    at::Tensor d_logits = at::empty_like(logits_);
    const bool sigmoid = moe().score == RouterScore::kSigmoid;
    const at::Tensor scores = sigmoid ? at::sigmoid(logits_) : at::softmax(logits_, -1);
    RouterBackward(moe(), routing_, Data(scores), d_weights.data(), Data(d_logits));

    at::Tensor dx = at::empty_like(x_), d_gathered = at::empty_like(routed_.x);
    const at::Tensor shared_act = HiddenBackward(dy, d_scaled);
    std::vector<Product> products = {WeightGradient(parameters_.router, d_logits, x_)};
    Product into_x = {dx, false, {InputGradient(d_logits, parameters_.router)}};
    if (packed_.has_shared) {
      const MlpParameters& p = parameters_.shared;
      products.push_back(WeightGradient(p.down, dy, shared_act));
      products.push_back(WeightGradient(p.gate, shared_.gate, x_));
      products.push_back(WeightGradient(p.up, shared_.up, x_));
      into_x.terms.push_back(InputGradient(shared_.gate, p.gate));
      into_x.terms.push_back(InputGradient(shared_.up, p.up));
    }
    products.push_back(std::move(into_x));
    ForExperts([&](size_t e, const auto& part) {
      const MlpParameters& p = parameters_.experts[e];
      products.push_back(WeightGradient(p.down, part(d_scaled), part(act_)));
      products.push_back(WeightGradient(p.gate, part(routed_.gate), part(routed_.x)));
      products.push_back(WeightGradient(p.up, part(routed_.up), part(routed_.x)));
      products.push_back(
          {part(d_gathered),
           false,
           {InputGradient(part(routed_.gate), p.gate), InputGradient(part(routed_.up), p.up)}});
    });
    RunProducts(products, pool());
    AddGathered(d_gathered, &dx);
    return dx;
  }

 private:
  const MoeConfig& moe() const { return pass_->weights->config.moe; }
  ThreadPool* pool() const { return pass_->pool; }
  int64_t rows() const { return x_.size(0); }
  int64_t hidden() const { return x_.size(1); }

  // body(expert, part) for each expert in use; part(t) are its rows of a tensor by assignment.
  template <typename Body>
  void ForExperts(const Body& body) const {
    for (size_t e = 0; e < packed_.experts.size(); ++e) {
      const int64_t first = routing_.first[e], count = routing_.first[e + 1] - first;
      if (count > 0) body(e, [=](const at::Tensor& t) { return t.narrow(0, first, count); });
    }
  }

  static void AddJobs(const MlpWeights& w, const Activations& a, std::vector<LinearJob>* jobs) {
    const int64_t rows = a.x.size(0), hidden = a.x.size(1), width = w.gate.out();
    at::Tensor gate = a.gate, up = a.up;
    jobs->push_back({Data(a.x), rows, hidden, &w.gate, nullptr, Data(gate), width});
    jobs->push_back({Data(a.x), rows, hidden, &w.up, nullptr, Data(up), width});
  }

  // The shared experts' result, or 0; routed ones leave theirs in outputs_.
  at::Tensor RunExperts() {
    const int64_t count = routing_.assignments(), width = packed_.experts[0].gate.out();
    routed_ = {GatherRows(x_, routing_.row, pool()), at::empty({count, width}), at::empty({count, width})};
    outputs_ = at::empty({count, hidden()});
    std::vector<LinearJob> jobs;
    ForExperts([&](size_t e, const auto& part) {
      AddJobs(packed_.experts[e], {part(routed_.x), part(routed_.gate), part(routed_.up)}, &jobs);
    });
    if (packed_.has_shared) {
      const int64_t shared_width = packed_.shared.gate.out();
      shared_ = {x_, at::empty({rows(), shared_width}), at::empty({rows(), shared_width})};
      AddJobs(packed_.shared, shared_, &jobs);
    }
    kernels::LinearBatch(jobs, pool());
    const at::Tensor act = Activate(routed_.gate, routed_.up, pool());
    at::Tensor y = packed_.has_shared ? at::empty({rows(), hidden()}) : at::zeros({rows(), hidden()});
    jobs.clear();
    ForExperts([&](size_t e, const auto& part) {
      const at::Tensor in = part(act);
      at::Tensor out = part(outputs_);
      jobs.push_back({Data(in), out.size(0), width, &packed_.experts[e].down, nullptr, Data(out), hidden()});
    });
    at::Tensor shared_act;
    if (packed_.has_shared) {
      shared_act = Activate(shared_.gate, shared_.up, pool());
      jobs.push_back({Data(std::as_const(shared_act)), rows(), shared_act.size(1), &packed_.shared.down,
                      nullptr, Data(y), hidden()});
    }
    kernels::LinearBatch(jobs, pool());
    return y;
  }

  // A row's slots in order.
  void AddRouted(at::Tensor* y) const {
    const int64_t k = moe().experts_per_token, width = hidden();
    const float* from = Data(outputs_);
    float* to = Data(*y);
    ForRowRanges(pool(), rows(), 2 * k * width, [&](int64_t first, int64_t count) {
      for (int64_t i = first * k; i < (first + count) * k; ++i) {
        kernels::AddScaled(from + routing_.place[i] * width, routing_.weights[i], width, to + i / k * width);
      }
    });
  }

  // d [assignments, hidden] holds the gradient of each assignment's row: gives the routing weights' gradients
  // and becomes the experts'.
  void ScaleByWeights(at::Tensor* d, std::vector<float>* d_weights) const {
    const at::Tensor dots = (*d * outputs_).sum(-1);
    const float* dot = Data(dots);
    const int64_t width = hidden();
    float* values = Data(*d);
    ForRowRanges(pool(), routing_.assignments(), 2 * width, [&](int64_t first, int64_t count) {
      for (int64_t i = first; i < first + count; ++i) {
        const int64_t slot = routing_.slot_index[i];
        (*d_weights)[slot] = dot[i];
        for (int64_t j = 0; j < width; ++j) values[i * width + j] *= routing_.weights[slot];
      }
    });
  }

  // Makes gate and up of all experts their gradients, act_ the routed experts' activations, and returns the
  // shared ones'.
  at::Tensor HiddenBackward(const at::Tensor& dy, const at::Tensor& d_outputs) {
    act_ = at::empty_like(routed_.gate);
    std::vector<Product> products;
    ForExperts([&](size_t e, const auto& part) {
      products.push_back({part(act_), false, {InputGradient(part(d_outputs), parameters_.experts[e].down)}});
    });
    at::Tensor shared_act;
    if (packed_.has_shared) {
      shared_act = at::empty_like(shared_.gate);
      products.push_back({shared_act, false, {InputGradient(dy, parameters_.shared.down)}});
    }
    RunProducts(products, pool());
    ActivateBackward(act_, routed_.gate, routed_.up, pool());
    if (packed_.has_shared) ActivateBackward(shared_act, shared_.gate, shared_.up, pool());
    return shared_act;
  }

  // By row, in the order of its slots.
  void AddGathered(const at::Tensor& d_gathered, at::Tensor* dx) const {
    const int64_t k = moe().experts_per_token, width = hidden();
    const float* from = Data(d_gathered);
    float* to = Data(*dx);
    ForRowRanges(pool(), rows(), 2 * k * width, [&](int64_t first, int64_t count) {
      for (int64_t i = first * k; i < (first + count) * k; ++i) {
        kernels::Add(from + routing_.place[i] * width, width, to + i / k * width);
      }
    });
  }

  const MoeWeights& packed_;
  const MoeParameters& parameters_;
  const int64_t moe_layer_;
  const std::shared_ptr<const ForwardPass> pass_;
  at::Tensor x_, logits_;  // [rows, hidden], [rows, experts]
  Routing routing_;
  Activations routed_, shared_;  // of all assignments; of all rows
  at::Tensor outputs_, act_;     // [assignments, hidden]; [assignments, width], in the backward only
};

}  // namespace

at::Tensor Moe(const at::Tensor& x, const MoeWeights& packed, const MoeParameters& parameters,
               int64_t moe_layer, std::shared_ptr<const ForwardPass> pass) {
  auto node = std::make_shared<MoeNode>(packed, parameters, moe_layer, std::move(pass));
  const auto forward = [&]() -> std::vector<at::Tensor> { return {node->Forward(x.detach())}; };
  const auto backward = [node](const std::vector<at::Tensor>& d_out) -> std::vector<at::Tensor> {
    return {node->Backward(d_out[0])};
  };
  return RunKernel({x}, forward, backward)[0];
}

}  // namespace sluice::learner
