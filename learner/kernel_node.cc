#include "learner/kernel_node.h"

#include <utility>

namespace sluice::learner {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Carries the backward from a node's forward to its backward.
struct BackwardHolder : torch::CustomClassHolder {
  explicit BackwardHolder(NodeBackward f) : run(std::move(f)) {}
  NodeBackward run;
};

struct KernelFunction : torch::autograd::Function<KernelFunction> {
  static variable_list forward(AutogradContext* context, at::TensorList inputs, const NodeForward& kernel,
                               const c10::intrusive_ptr<BackwardHolder>& backward) {
    context->saved_data["backward"] = c10::IValue::make_capsule(backward);
    return kernel();
  }
  static variable_list backward(AutogradContext* context, variable_list d_out) {
    auto holder = context->saved_data["backward"].toCapsule();
    const NodeBackward run = std::exchange(static_cast<BackwardHolder*>(holder.get())->run, nullptr);
    for (at::Tensor& d : d_out) d = d.contiguous();
    std::vector<at::Tensor> d_in = run(d_out);
    d_in.resize(d_in.size() + 2);  // the two functions have none
    return d_in;
  }
};

}  // namespace

std::vector<at::Tensor> RunKernel(at::TensorList inputs, const NodeForward& forward, NodeBackward backward) {
  // Without a graph nothing is to be kept.
  if (!at::GradMode::is_enabled()) return forward();
  return KernelFunction::apply(inputs, forward, c10::make_intrusive<BackwardHolder>(std::move(backward)));
}

}  // namespace sluice::learner
