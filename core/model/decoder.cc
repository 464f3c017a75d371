// One forward. The sequence of operations is the numbered list of README.md; the numbers stand below.
// learner/policy.h makes the same calls under autograd and must keep in step with any change here.
#include "core/model/decoder.h"

#include <algorithm>
#include <utility>

#include "core/model/decoder_weights.h"
#include "core/model/expert_batch.h"

namespace sluice {

struct Decoder::Workspace {
  std::vector<float> x, h, q, q_a, kv, absorbed, latent, heads, y, cos, sin;
  std::vector<int32_t> positions;
  std::vector<kernels::AttentionRow> attention;
  ExpertBatch experts;
};

namespace {

// As many floats as asked for, kept from call to call.
float* Room(std::vector<float>* buffer, int64_t floats) {
  if (static_cast<int64_t>(buffer->size()) < floats) buffer->resize(floats);
  return buffer->data();
}
const float* OrNull(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

// Heads are independent pieces when there are enough rows to pay for a thread.
template <typename Body>
void ForEachHead(int64_t heads, int64_t work, ThreadPool* pool, const Body& body) {
  constexpr int64_t kWorthThreads = 4'000'000;  // multiply-adds
  if (pool != nullptr && work >= kWorthThreads) {
    pool->ParallelFor(heads, body);
  } else {
    for (int64_t h = 0; h < heads; ++h) body(h);
  }
}

}  // namespace

Decoder::Decoder(ModelConfig config, ThreadPool* pool)
    : config_(std::move(config)), pool_(pool), workspace_(std::make_shared<Workspace>()) {}

namespace {

// What the steps of one layer share.
struct LayerPass {
  const ModelConfig& config;
  const DecoderWeights& weights;
  const LayerWeights& layer;
  absl::Span<const DecoderRow> rows;
  int64_t index;
  ThreadPool* pool;
  float *x, *h, *q, *q_a, *kv, *absorbed, *latent, *heads, *y;
  const float *cos, *sin;
  std::vector<kernels::AttentionRow>* attention;
};

// 2 and 3: q [rows, H, dn+dr] with its last dr rotated.
void Queries(const LayerPass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.rows.size(), head = c.qk_nope_dim + c.qk_rope_dim, width = c.heads * head;
  if (c.q_lora_rank == 0) {
    kernels::Linear(p.h, n, c.hidden, p.layer.q, nullptr, p.q, width, p.pool);
  } else {
    kernels::Linear(p.h, n, c.hidden, p.layer.q_a, OrNull(p.layer.q_a_bias), p.q_a, c.q_lora_rank, p.pool);
    kernels::RmsNorm(p.q_a, n, c.q_lora_rank, c.q_lora_rank, p.layer.q_a_norm.data(),
                     p.weights.latent_norm_epsilon, p.q_a, c.q_lora_rank);
    kernels::Linear(p.q_a, n, c.q_lora_rank, p.layer.q_b, nullptr, p.q, width, p.pool);
  }
  kernels::ApplyRope(p.q + c.qk_nope_dim, n, width, c.heads, head, c.qk_rope_dim, p.cos, p.sin,
                     c.rope_interleaved);
}

// 4 and 5: [latent ; k_pe] of each row into its cache.
void ExtendCaches(const LayerPass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.rows.size(), width = c.kv_lora_rank + c.qk_rope_dim, half = c.qk_rope_dim / 2;
  kernels::Linear(p.h, n, c.hidden, p.layer.kv_a, OrNull(p.layer.kv_a_bias), p.kv, width, p.pool);
  for (int64_t r = 0; r < n; ++r) {
    const int64_t position = p.rows[r].position;
    float* entry = p.rows[r].caches[p.index][position / kernels::kBlockTokens] +
                   position % kernels::kBlockTokens * width;
    const float* kv = p.kv + r * width;
    kernels::RmsNorm(kv, 1, c.kv_lora_rank, width, p.layer.kv_a_norm.data(), p.weights.latent_norm_epsilon,
                     entry, width);
    std::copy(kv + c.kv_lora_rank, kv + width, entry + c.kv_lora_rank);
    kernels::ApplyRope(entry + c.kv_lora_rank, 1, width, 1, width, c.qk_rope_dim, p.cos + r * half,
                       p.sin + r * half, c.rope_interleaved);
  }
}

// 6 to 8: attention over the caches; p.y [rows, hidden] is the output of o_proj.
void Attend(const LayerPass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.rows.size(), dn = c.qk_nope_dim, dr = c.qk_rope_dim, dv = c.v_dim,
                rank = c.kv_lora_rank;
  const int64_t head = dn + dr, width = rank + dr;
  ForEachHead(c.heads, n * c.heads * dn * rank, p.pool, [&](int64_t h) {
    kernels::Linear(p.q + h * head, n, c.heads * head, p.layer.w_uk[h], nullptr, p.absorbed + h * width,
                    c.heads * width, nullptr);
    for (int64_t r = 0; r < n; ++r) {
      const float* rotated = p.q + (r * c.heads + h) * head + dn;
      std::copy(rotated, rotated + dr, p.absorbed + (r * c.heads + h) * width + rank);
    }
  });
  p.attention->clear();
  for (const DecoderRow& row : p.rows) p.attention->push_back({row.caches[p.index], row.position + 1});
  kernels::MlaAttention(p.absorbed, *p.attention, c.heads, rank, dr, p.weights.softmax_scale, p.latent,
                        nullptr, p.pool);
  ForEachHead(c.heads, n * c.heads * dv * rank, p.pool, [&](int64_t h) {
    kernels::Linear(p.latent + h * rank, n, c.heads * rank, p.layer.w_uv[h], nullptr, p.heads + h * dv,
                    c.heads * dv, nullptr);
  });
  kernels::Linear(p.heads, n, c.heads * dv, p.layer.o, OrNull(p.layer.o_bias), p.y, c.hidden, p.pool);
}

}  // namespace

void Decoder::Forward(const DecoderWeights& weights, absl::Span<const DecoderRow> rows, float* hidden) {
  const ModelConfig& c = config_;
  Workspace& w = *workspace_;
  const int64_t n = rows.size(), half = c.qk_rope_dim / 2;
  if (n == 0) return;
  w.positions.clear();
  for (const DecoderRow& row : rows) w.positions.push_back(row.position);
  float* x = Room(&w.x, n * c.hidden);
  float* h = Room(&w.h, n * c.hidden);
  // 0
  for (int64_t r = 0; r < n; ++r) weights.Embed(rows[r].token, x + r * c.hidden);
  kernels::RopeCosSin(w.positions, weights.inverse_frequencies, weights.rope_amplitude,
                      Room(&w.cos, n * half), Room(&w.sin, n * half));
  for (int64_t l = 0; l < c.layers; ++l) {
    const LayerWeights& layer = weights.layers[l];
    const LayerPass pass = {c,
                            weights,
                            layer,
                            rows,
                            l,
                            pool_,
                            x,
                            h,
                            Room(&w.q, n * c.heads * (c.qk_nope_dim + c.qk_rope_dim)),
                            Room(&w.q_a, n * c.q_lora_rank),
                            Room(&w.kv, n * cache_width()),
                            Room(&w.absorbed, n * c.heads * cache_width()),
                            Room(&w.latent, n * c.heads * c.kv_lora_rank),
                            Room(&w.heads, n * c.heads * c.v_dim),
                            Room(&w.y, n * c.hidden),
                            w.cos.data(),
                            w.sin.data(),
                            &w.attention};
    // 1
    kernels::RmsNorm(x, n, c.hidden, c.hidden, layer.input_norm.data(), weights.norm_epsilon, h, c.hidden);
    Queries(pass);
    ExtendCaches(pass);
    Attend(pass);
    kernels::Add(pass.y, n * c.hidden, x);
    // 9 to 11
    kernels::RmsNorm(x, n, c.hidden, c.hidden, layer.post_attention_norm.data(), weights.norm_epsilon, h,
                     c.hidden);
    if (layer.is_moe) {
      w.experts.Forward(layer.moe, RouterParamsOf(c, OrNull(layer.moe.correction_bias)), h, n, pass.y, pool_);
    } else {
      w.experts.Mlp(layer.mlp, h, n, pass.y, pool_);
    }
    kernels::Add(pass.y, n * c.hidden, x);
  }
  // 12
  kernels::RmsNorm(x, n, c.hidden, c.hidden, weights.final_norm.data(), weights.norm_epsilon, hidden,
                   c.hidden);
}

void Decoder::Logits(const DecoderWeights& weights, const float* hidden, int64_t rows, float* logits) {
  kernels::Linear(hidden, rows, config_.hidden, weights.head, nullptr, logits, config_.vocab, pool_);
}

}  // namespace sluice
