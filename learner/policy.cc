#include "learner/policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice::learner {
namespace {

constexpr int64_t kLogitFloats = int64_t{8} << 20;  // of logits held at once

float* Data(at::Tensor& t) { return t.mutable_data_ptr<float>(); }
const float* Data(const at::Tensor& t) { return t.const_data_ptr<float>(); }

at::Tensor GatherRows(const at::Tensor& x, const std::vector<int64_t>& rows) {
  const int64_t width = x.size(1);
  at::Tensor out = at::empty({static_cast<int64_t>(rows.size()), width});
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(Data(x) + rows[i] * width, width, Data(out) + static_cast<int64_t>(i) * width);
  }
  return out;
}

at::Tensor ScatterRows(const at::Tensor& x, const std::vector<int64_t>& rows, int64_t count) {
  const int64_t width = x.size(1);
  at::Tensor out = at::zeros({count, width});
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(Data(x) + static_cast<int64_t>(i) * width, width, Data(out) + rows[i] * width);
  }
  return out;
}

TargetScore ScoreTarget(const float* logits, int64_t vocab, int32_t token, float temperature) {
  TargetScore score;
  score.logprob = kernels::LogSoftmaxAt(logits, vocab, token, temperature, &score.entropy);
  score.raw_logprob =
      temperature == 1.0f ? score.logprob : kernels::LogSoftmaxAt(logits, vocab, token, 1.0f, nullptr);
  return score;
}

// One row of logits with the gradients of its targets' log-probabilities and entropies.
struct RowGradient {
  double sum_logprob = 0, entropy_weight = 0, entropy = 0;
  bool any() const { return sum_logprob != 0 || entropy_weight != 0; }
};

// d logits of a row, in place of its probabilities p: (onehot - p) per target, and -p (log p + H) for the
// entropy.
void RowBackward(const RowGradient& g, float inverse_temperature, int64_t vocab, float* p) {
  for (int64_t j = 0; j < vocab; ++j) {
    double d = -g.sum_logprob * p[j];
    if (g.entropy_weight != 0 && p[j] > 0) d -= g.entropy_weight * p[j] * (std::log(p[j]) + g.entropy);
    p[j] = static_cast<float>(d * inverse_temperature);
  }
}

}  // namespace

Policy::Policy(const ModelConfig& config, DType dtype, std::vector<float> frozen, ThreadPool* pool)
    : config_(config),
      dtype_(dtype),
      layout_(config),
      frozen_(std::move(frozen)),
      pool_(pool),
      values_(at::zeros({layout_.trained_size()})) {
  ZeroGradient(layout_.trained_size());
}

absl::Status Policy::SetPublished(absl::Span<const float> values) {
  const absl::Span<const float> trained = values.subspan(0, layout_.trained_size());
  std::copy(trained.begin(), trained.end(), Data(values_));
  tensors_ = layout_.Unflatten(layout_.trained(), trained, dtype_);
  tensors_.merge(layout_.Unflatten(layout_.frozen(), frozen_, dtype_));
  SLUICE_ASSIGN_OR_RETURN(packed_, PackDecoderWeights(config_, tensors_, dtype_));
  return absl::OkStatus();
}

void Policy::ZeroGradient(int64_t padded_size) {
  if (!gradient_.defined() || gradient_.numel() != padded_size) {
    gradient_ = at::zeros({padded_size});
    BindParameters();
  } else {
    gradient_.zero_();
  }
}

absl::Span<const float> Policy::gradient() const {
  return {Data(gradient_), static_cast<size_t>(gradient_.numel())};
}

Weight Policy::Bind(const std::string& name) const {
  const ParameterSlot* slot = layout_.FindTrained(name);
  if (slot == nullptr) return {};
  return {values_.narrow(0, slot->offset, slot->size).view(slot->shape),
          gradient_.narrow(0, slot->offset, slot->size).view(slot->shape)};
}

MlpParameters Policy::BindMlp(const std::string& prefix) const {
  return {Bind(prefix + "gate_proj.weight"), Bind(prefix + "up_proj.weight"),
          Bind(prefix + "down_proj.weight")};
}

Policy::LayerParameters Policy::BindLayer(int64_t layer) const {
  auto bind = [&](const std::string& part) { return Bind(LayerTensor(layer, part)); };
  LayerParameters p;
  p.input_norm = bind("input_layernorm.weight");
  p.post_attention_norm = bind("post_attention_layernorm.weight");
  p.q = bind("self_attn.q_proj.weight");
  p.q_a = bind("self_attn.q_a_proj.weight");
  p.q_a_bias = bind("self_attn.q_a_proj.bias");
  p.q_a_norm = bind("self_attn.q_a_layernorm.weight");
  p.q_b = bind("self_attn.q_b_proj.weight");
  p.kv_a = bind("self_attn.kv_a_proj_with_mqa.weight");
  p.kv_a_bias = bind("self_attn.kv_a_proj_with_mqa.bias");
  p.attention.kv_a_norm = bind("self_attn.kv_a_layernorm.weight");
  p.attention.kv_b = bind("self_attn.kv_b_proj.weight");
  p.o = bind("self_attn.o_proj.weight");
  p.o_bias = bind("self_attn.o_proj.bias");
  if (!config_.moe_layer[layer]) {
    p.mlp = BindMlp(LayerTensor(layer, "mlp."));
    return p;
  }
  p.moe.router = bind("mlp.gate.weight");
  p.moe.shared = BindMlp(LayerTensor(layer, "mlp.shared_experts."));
  for (int32_t e = 0; e < config_.moe.experts; ++e) {
    p.moe.experts.push_back(BindMlp(LayerTensor(layer, absl::StrCat("mlp.experts.", e, "."))));
  }
  return p;
}

void Policy::BindParameters() {
  layers_.clear();
  for (int64_t l = 0; l < config_.layers; ++l) layers_.push_back(BindLayer(l));
  embedding_ = Bind("model.embed_tokens.weight");
  final_norm_ = Bind("model.norm.weight");
  head_ = config_.tied_embeddings ? embedding_ : Bind("lm_head.weight");
}

at::Tensor Policy::Embed(const PackedBatch& batch, const DecoderWeights& weights) const {
  at::Tensor x = at::empty({batch.rows(), config_.hidden});
  for (int64_t r = 0; r < batch.rows(); ++r) weights.Embed(batch.tokens[r], Data(x) + r * config_.hidden);
  return x;
}

at::Tensor Policy::Layer(at::Tensor x, const DecoderWeights& weights, int64_t layer,
                         const std::shared_ptr<const PackedBatch>& batch) const {
  const LayerWeights& w = weights.layers[layer];
  const LayerParameters& p = layers_[layer];
  at::Tensor h = RmsNorm(x, w.input_norm, p.input_norm, weights.norm_epsilon);
  at::Tensor q;
  if (config_.q_lora_rank == 0) {
    q = Linear(h, w.q, p.q, {}, {}, pool_);
  } else {
    q = Linear(h, w.q_a, p.q_a, w.q_a_bias, p.q_a_bias, pool_);
    q = RmsNorm(q, w.q_a_norm, p.q_a_norm, weights.latent_norm_epsilon);
    q = Linear(q, w.q_b, p.q_b, {}, {}, pool_);
  }
  const at::Tensor kv = Linear(h, w.kv_a, p.kv_a, w.kv_a_bias, p.kv_a_bias, pool_);
  const at::Tensor o = LatentAttention(q, kv, weights, w, p.attention, batch, pool_);
  x = x + Linear(o, w.o, p.o, w.o_bias, p.o_bias, pool_);
  h = RmsNorm(x, w.post_attention_norm, p.post_attention_norm, weights.norm_epsilon);
  return x + (w.is_moe ? Moe(h, weights, w.moe, p.moe, pool_) : Mlp(h, w.mlp, p.mlp, pool_));
}

at::Tensor Policy::Body(const at::Tensor& x, const DecoderWeights& weights,
                        const std::shared_ptr<const PackedBatch>& batch) const {
  at::Tensor h = x;
  for (int64_t l = 0; l < config_.layers; ++l) h = Layer(h, weights, l, batch);
  return RmsNorm(h, weights.final_norm, final_norm_, weights.norm_epsilon);
}

at::Tensor Policy::Head(const at::Tensor& hidden, const PackedBatch& batch, const DecoderWeights& weights,
                        float temperature, const TargetLoss& loss, bool backward) {
  const int64_t rows = hidden.size(0), width = hidden.size(1), vocab = config_.vocab;
  const int64_t piece = std::max<int64_t>(1, kLogitFloats / vocab);
  at::Tensor d_hidden = backward ? at::zeros({rows, width}) : at::Tensor();
  size_t target = 0;
  for (int64_t from = 0; from < rows; from += piece) {
    const int64_t count = std::min(piece, rows - from);
    at::Tensor logits = at::empty({count, vocab});
    kernels::Linear(Data(hidden) + from * width, count, width, weights.head, nullptr, Data(logits), vocab,
                    pool_);
    const size_t first = target;
    std::vector<RowGradient> gradients(count);
    std::vector<double> d_logprob;
    for (; target < batch.targets.size() && batch.targets[target].head < from + count; ++target) {
      const PackTarget& t = batch.targets[target];
      const TargetScore score =
          ScoreTarget(Data(logits) + (t.head - from) * vocab, vocab, t.token, temperature);
      const TargetGradient d = loss(target, score);
      RowGradient& g = gradients[t.head - from];
      g.sum_logprob += d.d_logprob;
      g.entropy_weight += d.d_entropy;
      g.entropy = score.entropy;
      d_logprob.push_back(d.d_logprob);
    }
    const bool any =
        std::any_of(d_logprob.begin(), d_logprob.end(), [](double d) { return d != 0; }) ||
        std::any_of(gradients.begin(), gradients.end(), [](const RowGradient& g) { return g.any(); });
    if (!backward || !any) continue;
    const float inverse = 1 / temperature;
    at::Tensor d_logits = at::softmax(temperature == 1.0f ? logits : logits * inverse, -1);
    for (int64_t r = 0; r < count; ++r) RowBackward(gradients[r], inverse, vocab, Data(d_logits) + r * vocab);
    for (size_t i = first; i < target; ++i) {
      const PackTarget& t = batch.targets[i];
      Data(d_logits)[(t.head - from) * vocab + t.token] += static_cast<float>(d_logprob[i - first] * inverse);
    }
    at::Tensor grad = head_.grad;
    grad.addmm_(d_logits.t(), hidden.narrow(0, from, count));
    at::Tensor into = d_hidden.narrow(0, from, count);
    at::mm_out(into, d_logits, head_.value);
  }
  return d_hidden;
}

void Policy::Score(std::shared_ptr<const PackedBatch> batch, const DecoderWeights* weights, float temperature,
                   const std::function<void(size_t, const TargetScore&)>& on_score) {
  if (batch->rows() == 0) return;
  at::NoGradGuard no_grad;
  const DecoderWeights& w = weights == nullptr ? *packed_ : *weights;
  const at::Tensor hidden = Body(Embed(*batch, w), w, batch);
  Head(
      GatherRows(hidden, batch->head_rows), *batch, w, temperature,
      [&](size_t target, const TargetScore& score) {
        on_score(target, score);
        return TargetGradient{};
      },
      false);
}

void Policy::Accumulate(std::shared_ptr<const PackedBatch> batch, float temperature, const TargetLoss& loss) {
  if (batch->rows() == 0) return;
  at::AutoGradMode with_grad(true);
  at::Tensor x = Embed(*batch, *packed_);
  x.set_requires_grad(true);
  const at::Tensor hidden = Body(x, *packed_, batch);
  at::Tensor d_hidden;
  {
    at::NoGradGuard no_grad;
    const at::Tensor d_heads =
        Head(GatherRows(hidden.detach(), batch->head_rows), *batch, *packed_, temperature, loss, true);
    if (!d_heads.any().item<bool>()) return;  // nothing to learn here, for example only tied groups
    d_hidden = ScatterRows(d_heads, batch->head_rows, batch->rows());
  }
  hidden.backward(d_hidden);
  at::NoGradGuard no_grad;
  at::Tensor grad = embedding_.grad;
  const at::Tensor dx = x.grad();
  for (int64_t r = 0; r < batch->rows(); ++r) {
    kernels::Add(Data(dx) + r * config_.hidden, config_.hidden,
                 Data(grad) + batch->tokens[r] * config_.hidden);
  }
}

}  // namespace sluice::learner
