#include "learner/grouped_attention.h"

#include <utility>

#include "core/kernels/gradients.h"
#include "core/kernels/kernels.h"
#include "core/model/row_ranges.h"
#include "learner/attention_blocks.h"
#include "learner/kernel_node.h"
#include "learner/rowwise_nodes.h"

namespace sluice::learner {
namespace {

// Queries or keys: `heads` vectors of `dim` in each row.
struct Heads {
  int64_t heads, dim;
  const std::vector<float>& norm;  // [dim] or empty
  int64_t width() const { return heads * dim; }
};

class GroupedNode {
 public:
  GroupedNode(const LayerWeights& packed, const GroupedAttentionParameters& parameters,
              std::shared_ptr<const ForwardPass> pass)
      : packed_(packed), parameters_(parameters), pass_(std::move(pass)), blocks_(pass_) {}

  at::Tensor Forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
    q_ = Attended(Queries(), q, &raw_q_);
    const at::Tensor keys = Attended(Keys(), k, &raw_k_);
    blocks_.Store(Data(keys), Data(v));
    const at::Tensor out = blocks_.Attend(q_, &log_sum_exp_);
    out_ = out.detach();
    return out;
  }

  std::vector<at::Tensor> Backward(const at::Tensor& d_out) const {
    AttentionBlocks::Gradients d = blocks_.Backward(q_, out_, log_sum_exp_, d_out);
    const int64_t key_width = Keys().width();
    at::Tensor d_k = d.entries.narrow(1, 0, key_width).contiguous();
    const at::Tensor d_v = d.entries.narrow(1, key_width, d.entries.size(1) - key_width).contiguous();
    AttendedBackward(Queries(), raw_q_, parameters_.q_norm, d.q);
    AttendedBackward(Keys(), raw_k_, parameters_.k_norm, d_k);
    return {d.q, d_k, d_v};
  }

 private:
  const ModelConfig& config() const { return pass_->weights->config; }
  int64_t head_dim() const { return config().qk_nope_dim + config().qk_rope_dim; }
  Heads Queries() const { return {config().heads, head_dim(), packed_.q_norm}; }
  Heads Keys() const { return {config().kv_heads, head_dim(), packed_.k_norm}; }

  // Normed and rotated, in place of what was projected unless the norm's backward needs that.
  at::Tensor Attended(const Heads& h, at::Tensor projected, at::Tensor* raw) const {
    at::Tensor x = projected;
    if (!h.norm.empty()) {
      *raw = projected;
      x = at::empty_like(projected);
    }
    const float* from = Data(std::as_const(projected));
    float* to = Data(x);
    const int64_t width = h.width(), dr = config().qk_rope_dim, half = dr / 2;
    ForRowRanges(pass_->pool, pass_->rows(), 4 * width, [&](int64_t first, int64_t count) {
      if (!h.norm.empty()) {
        kernels::RmsNorm(from + first * width, count * h.heads, h.dim, h.dim, h.norm.data(),
                         pass_->weights->norm_epsilon, to + first * width, h.dim);
      }
      kernels::ApplyRope(to + first * width + h.dim - dr, count, width, h.heads, h.dim, dr,
                         &pass_->cos[first * half], &pass_->sin[first * half], config().rope_interleaved);
    });
    return x;
  }

  // In place.
  void AttendedBackward(const Heads& h, const at::Tensor& raw, const Weight& norm, at::Tensor d) const {
    float* values = Data(d);
    const int64_t width = h.width(), dr = config().qk_rope_dim, half = dr / 2;
    ForRowRanges(pass_->pool, pass_->rows(), 2 * width, [&](int64_t first, int64_t count) {
      kernels::RopeBackward(values + first * width + h.dim - dr, count, width, h.heads, h.dim, dr,
                            &pass_->cos[first * half], &pass_->sin[first * half], config().rope_interleaved);
    });
    if (h.norm.empty()) return;
    AddNormGradient({values, h.dim, Data(raw), h.dim, values, h.dim, nullptr}, pass_->rows() * h.heads,
                    h.norm, norm, pass_->weights->norm_epsilon, pass_->pool);
  }

  const LayerWeights& packed_;
  const GroupedAttentionParameters parameters_;
  const std::shared_ptr<const ForwardPass> pass_;
  AttentionBlocks blocks_;
  at::Tensor raw_q_, raw_k_;  // as projected; undefined without norms
  at::Tensor q_;              // [rows, heads head_dim], as attended with
  at::Tensor out_;            // [rows, heads dv]
  at::Tensor log_sum_exp_;    // [rows, heads]
};

}  // namespace

at::Tensor GroupedAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const LayerWeights& packed, const GroupedAttentionParameters& parameters,
                            std::shared_ptr<const ForwardPass> pass) {
  auto node = std::make_shared<GroupedNode>(packed, parameters, std::move(pass));
  const auto forward = [&]() -> std::vector<at::Tensor> {
    return {node->Forward(q.detach(), k.detach(), v.detach())};
  };
  const auto backward = [node](const std::vector<at::Tensor>& d_out) { return node->Backward(d_out[0]); };
  return RunKernel({q, k, v}, forward, backward)[0];
}

}  // namespace sluice::learner
