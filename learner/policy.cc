#include "learner/policy.h"

#include <algorithm>
#include <utility>

#include "core/base/status.h"
#include "core/model/row_ranges.h"
#include "learner/kernel_node.h"
#include "learner/rowwise_nodes.h"

namespace sluice::learner {
namespace {

at::Tensor GatherRows(const at::Tensor& x, const std::vector<int64_t>& rows) {
  const int64_t width = x.size(1);
  at::Tensor out = at::empty({static_cast<int64_t>(rows.size()), width});
  float* to = Data(out);
  for (const int64_t row : rows) to = std::copy_n(Data(x) + row * width, width, to);
  return out;
}

at::Tensor ScatterRows(const at::Tensor& x, const std::vector<int64_t>& rows, int64_t count) {
  const int64_t width = x.size(1);
  at::Tensor out = at::zeros({count, width});
  const float* from = Data(x);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(from + static_cast<int64_t>(i) * width, width, Data(out) + rows[i] * width);
  }
  return out;
}

// The tensor's own bytes, kept alive by the view.
at::Tensor ViewOf(const HostTensor& tensor) {
  const auto bytes = tensor.bytes;
  return at::from_blob(
      const_cast<char*>(bytes->data()), tensor.shape, [bytes](void*) {},
      tensor.dtype == DType::kBF16 ? at::kBFloat16 : at::kFloat);
}

}  // namespace

Policy::Policy(const ModelConfig& config, DType dtype, std::vector<float> frozen, ThreadPool* pool)
    : config_(config), dtype_(dtype), layout_(config), frozen_(std::move(frozen)), pool_(pool) {
  ZeroGradient(layout_.trained_size());
}

absl::Status Policy::SetPublished(absl::Span<const float> values) {
  const absl::Span<const float> trained = values.subspan(0, layout_.trained_size());
  tensors_ = layout_.Unflatten(layout_.trained(), trained, dtype_);
  tensors_.merge(layout_.Unflatten(layout_.frozen(), frozen_, dtype_));
  BindParameters();
  SLUICE_ASSIGN_OR_RETURN(packed_, PackDecoderWeights(config_, tensors_, dtype_));
  return absl::OkStatus();
}

void Policy::ZeroGradient(int64_t padded_size) {
  if (!gradient_.defined() || gradient_.numel() != padded_size) {
    gradient_ = at::zeros({padded_size});
    BindParameters();
    return;
  }
  float* values = Data(gradient_);
  ForRowRanges(pool_, padded_size, 1,
               [&](int64_t first, int64_t count) { std::fill_n(values + first, count, 0.0f); });
}

absl::Span<const float> Policy::gradient() const {
  return {Data(gradient_), static_cast<size_t>(gradient_.numel())};
}

Weight Policy::Bind(const std::string& name) const {
  const ParameterSlot* slot = layout_.FindTrained(name);
  if (slot == nullptr) return {};
  Weight weight;
  const auto published = tensors_.find(name);
  if (published != tensors_.end()) weight.value = ViewOf(published->second);
  weight.grad = gradient_.narrow(0, slot->offset, slot->size).view(slot->shape);
  return weight;
}

void Policy::BindParameters() {
  layers_.clear();
  for (int64_t l = 0; l < config_.layers; ++l) {
    layers_.push_back(BindLayer(config_, l, [this](const std::string& name) { return Bind(name); }));
  }
  embedding_ = Bind("model.embed_tokens.weight");
  final_norm_ = Bind("model.norm.weight");
  head_ = config_.tied_embeddings ? embedding_ : Bind("lm_head.weight");
}

at::Tensor Policy::Embed(const ForwardPass& pass) const {
  at::Tensor x = at::empty({pass.rows(), config_.hidden});
  float* to = Data(x);
  for (const int32_t token : pass.batch->tokens) {
    pass.weights->Embed(token, to);
    to += config_.hidden;
  }
  return x;
}

void Policy::EmbedBackward(const ForwardPass& pass, const at::Tensor& dx) {
  float* grad = Data(embedding_.grad);
  const float* from = Data(dx);
  for (const int32_t token : pass.batch->tokens) {
    kernels::Add(from, config_.hidden, grad + token * config_.hidden);
    from += config_.hidden;
  }
}

at::Tensor Policy::Body(const at::Tensor& x, const std::shared_ptr<const ForwardPass>& pass) const {
  at::Tensor h = x;
  for (int64_t l = 0; l < config_.layers; ++l) h = RunLayer(h, l, layers_[l], pass);
  return RmsNorm(h, pass->weights->final_norm, final_norm_, pass->weights->norm_epsilon, pool_);
}

void Policy::Score(std::shared_ptr<const PackedBatch> batch, const ScoreOptions& options,
                   const std::function<void(size_t, const TargetScore&)>& on_score) {
  if (batch->rows() == 0) return;
  const at::NoGradGuard no_grad;
  const auto pass =
      BeginPass(batch, options.weights == nullptr ? packed_ : options.weights, options.replay, pool_);
  const at::Tensor hidden = Body(Embed(*pass), pass);
  const HeadCall head = {&pass->weights->head, nullptr, batch.get(), options.temperature, pool_};
  RunHead(head, GatherRows(hidden, batch->head_rows), [&](size_t target, const TargetScore& score) {
    on_score(target, score);
    return TargetGradient{};
  });
}

void Policy::Accumulate(std::shared_ptr<const PackedBatch> batch, float temperature, const TargetLoss& loss) {
  if (batch->rows() == 0) return;
  const at::AutoGradMode with_grad(true);
  const auto pass = BeginPass(batch, packed_, true, pool_);
  at::Tensor x = Embed(*pass);
  x.set_requires_grad(true);
  const at::Tensor hidden = Body(x, pass);
  at::Tensor d_hidden;
  {
    const at::NoGradGuard no_grad;
    const HeadCall head = {&packed_->head, &head_, batch.get(), temperature, pool_};
    const at::Tensor d_heads = RunHead(head, GatherRows(hidden.detach(), batch->head_rows), loss);
    if (!d_heads.defined()) return;  // nothing to learn here, for example only tied groups
    d_hidden = ScatterRows(d_heads, batch->head_rows, batch->rows());
  }
  hidden.backward(d_hidden);
  const at::NoGradGuard no_grad;
  EmbedBackward(*pass, x.grad());
}

}  // namespace sluice::learner
