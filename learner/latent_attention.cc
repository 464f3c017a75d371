#include "learner/latent_attention.h"

#include <algorithm>
#include <utility>

#include "core/kernels/gradients.h"
#include "core/kernels/kernels.h"
#include "core/model/row_ranges.h"
#include "learner/attention_blocks.h"
#include "learner/kernel_node.h"
#include "learner/rowwise_nodes.h"

namespace sluice::learner {
namespace {

// Columns of head h of [rows, heads width].
at::Tensor HeadOf(const at::Tensor& x, int64_t h, int64_t width) { return x.narrow(1, h * width, width); }

class LatentNode {
 public:
  LatentNode(const LayerWeights& packed, const LatentAttentionParameters& parameters,
             std::shared_ptr<const ForwardPass> pass)
      : packed_(packed), parameters_(parameters), pass_(std::move(pass)), blocks_(pass_) {}

  at::Tensor Forward(const at::Tensor& q, const at::Tensor& kv) {
    q_ = q;
    kv_ = kv;
    absorbed_ = at::empty({rows(), heads() * width()});
    Store();
    AbsorbQueries();
    latent_ = blocks_.Attend(absorbed_, &log_sum_exp_);
    at::Tensor out = at::empty({rows(), heads() * dv()});
    std::vector<kernels::LinearJob> jobs;
    for (int64_t h = 0; h < heads(); ++h) {
      jobs.push_back({Data(std::as_const(latent_)) + h * c(), rows(), heads() * c(), &packed_.w_uv[h],
                      nullptr, Data(out) + h * dv(), heads() * dv()});
    }
    kernels::LinearBatch(jobs, pass_->pool);
    return out;
  }

  std::vector<at::Tensor> Backward(const at::Tensor& d_out) const {
    const AttentionBlocks::Gradients d =
        blocks_.Backward(absorbed_, latent_, log_sum_exp_, ExpandBackward(d_out));
    return {AbsorbBackward(d.q), EntriesBackward(d.entries)};
  }

 private:
  const ModelConfig& config() const { return pass_->weights->config; }
  int64_t rows() const { return pass_->rows(); }
  int64_t heads() const { return config().heads; }
  int64_t c() const { return config().kv_lora_rank; }
  int64_t dr() const { return config().qk_rope_dim; }
  int64_t dn() const { return config().qk_nope_dim; }
  int64_t dv() const { return config().v_dim; }
  int64_t width() const { return c() + dr(); }   // of a cached position
  int64_t query() const { return dn() + dr(); }  // of a head's query

  // Rows of kv_b, or of its gradient: of head h, the keys' or the values'.
  at::Tensor KeyRows(const at::Tensor& kv_b, int64_t h) const {
    return kv_b.narrow(0, KeyRowOf(config(), h), dn());
  }
  at::Tensor ValueRows(const at::Tensor& kv_b, int64_t h) const {
    return kv_b.narrow(0, ValueRowOf(config(), h), dv());
  }

  void Rotate(float* x, int64_t row, int64_t count, int64_t count_heads, int64_t head_stride) const {
    const int64_t half = dr() / 2;
    kernels::ApplyRope(x, count, count_heads * head_stride, count_heads, head_stride, dr(),
                       &pass_->cos[row * half], &pass_->sin[row * half], config().rope_interleaved);
  }
  void RotateBack(float* d, int64_t row, int64_t count, int64_t count_heads, int64_t head_stride) const {
    const int64_t half = dr() / 2;
    kernels::RopeBackward(d, count, count_heads * head_stride, count_heads, head_stride, dr(),
                          &pass_->cos[row * half], &pass_->sin[row * half], config().rope_interleaved);
  }
  // The last dr of `from_width` columns to the last of `to_width`, in `count` vectors.
  void CopyTails(const float* from, int64_t from_width, float* to, int64_t to_width, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(from + (i + 1) * from_width - dr(), dr(), to + (i + 1) * to_width - dr());
    }
  }

  // The cache's entries, and the queries' rotated parts.
  void Store() {
    at::Tensor entries = at::empty_like(kv_);
    const float *q = Data(std::as_const(q_)), *kv = Data(std::as_const(kv_));
    float *to = Data(entries), *absorbed = Data(absorbed_);
    ForRowRanges(pass_->pool, rows(), 4 * width() + heads() * 4 * dr(), [&](int64_t first, int64_t count) {
      float* entry = to + first * width();
      kernels::RmsNorm(kv + first * width(), count, c(), width(), packed_.kv_a_norm.data(),
                       pass_->weights->latent_norm_epsilon, entry, width());
      CopyTails(kv + first * width(), width(), entry, width(), count);
      Rotate(entry + c(), first, count, 1, width());
      float* head = absorbed + first * heads() * width();
      CopyTails(q + first * heads() * query(), query(), head, width(), count * heads());
      Rotate(head + c(), first, count, heads(), width());
    });
    blocks_.Store(to, nullptr);
  }

  void AbsorbQueries() {
    std::vector<kernels::LinearJob> jobs;
    for (int64_t h = 0; h < heads(); ++h) {
      jobs.push_back({Data(std::as_const(q_)) + h * query(), rows(), heads() * query(), &packed_.w_uk[h],
                      nullptr, Data(absorbed_) + h * width(), heads() * width()});
    }
    kernels::LinearBatch(jobs, pass_->pool);
  }

  // d_out [rows, heads dv] -> [rows, heads c].
  at::Tensor ExpandBackward(const at::Tensor& d_out) const {
    at::Tensor d_latent = at::empty_like(latent_);
    std::vector<Product> products;
    for (int64_t h = 0; h < heads(); ++h) {
      const Weight w = {ValueRows(parameters_.kv_b.value, h), ValueRows(parameters_.kv_b.grad, h)};
      const at::Tensor d = HeadOf(d_out, h, dv());
      products.push_back({HeadOf(d_latent, h, c()), false, {InputGradient(d, w)}});
      products.push_back(WeightGradient(w, d, HeadOf(latent_, h, c())));
    }
    RunProducts(products, pass_->pool);
    return d_latent;
  }

  // d_absorbed [rows, heads (c+dr)] -> [rows, heads (dn+dr)]. absorbed = q W with W_UK [dn, c].
  at::Tensor AbsorbBackward(const at::Tensor& d_absorbed) const {
    at::Tensor d_q = at::empty_like(q_);
    std::vector<Product> products;
    for (int64_t h = 0; h < heads(); ++h) {
      const at::Tensor d = HeadOf(d_absorbed, h, width()).narrow(1, 0, c());
      const at::Tensor w = KeyRows(parameters_.kv_b.value, h);
      products.push_back({HeadOf(d_q, h, query()).narrow(1, 0, dn()), false, {{d, w.t()}}});
      products.push_back(
          {KeyRows(parameters_.kv_b.grad, h), true, {{HeadOf(q_, h, query()).narrow(1, 0, dn()).t(), d}}});
    }
    RunProducts(products, pass_->pool);
    const float* from = Data(d_absorbed);
    float* to = Data(d_q);
    ForRowRanges(pass_->pool, rows(), heads() * 4 * dr(), [&](int64_t first, int64_t count) {
      float* head = to + first * heads() * query();
      CopyTails(from + first * heads() * width(), width(), head, query(), count * heads());
      RotateBack(head + dn(), first, count, heads(), query());
    });
    return d_q;
  }

  // In place: entries [rows, c+dr] -> kv.
  at::Tensor EntriesBackward(at::Tensor d) const {
    float* values = Data(d);
    ForRowRanges(pass_->pool, rows(), 2 * width(), [&](int64_t first, int64_t count) {
      RotateBack(values + first * width() + c(), first, count, 1, width());
    });
    AddNormGradient({values, width(), Data(kv_), width(), values, width(), nullptr}, rows(),
                    packed_.kv_a_norm, parameters_.kv_a_norm, pass_->weights->latent_norm_epsilon,
                    pass_->pool);
    return d;
  }

  const LayerWeights& packed_;
  const LatentAttentionParameters parameters_;
  const std::shared_ptr<const ForwardPass> pass_;
  AttentionBlocks blocks_;
  at::Tensor q_, kv_;       // as projected
  at::Tensor absorbed_;     // [rows, heads (c+dr)]: queries as attended with
  at::Tensor latent_;       // [rows, heads c]: attention's output
  at::Tensor log_sum_exp_;  // [rows, heads]
};

}  // namespace

at::Tensor LatentAttention(const at::Tensor& q, const at::Tensor& kv, const LayerWeights& packed,
                           const LatentAttentionParameters& parameters,
                           std::shared_ptr<const ForwardPass> pass) {
  auto node = std::make_shared<LatentNode>(packed, parameters, std::move(pass));
  const auto forward = [&]() -> std::vector<at::Tensor> { return {node->Forward(q.detach(), kv.detach())}; };
  const auto backward = [node](const std::vector<at::Tensor>& d_out) { return node->Backward(d_out[0]); };
  return RunKernel({q, kv}, forward, backward)[0];
}

}  // namespace sluice::learner
