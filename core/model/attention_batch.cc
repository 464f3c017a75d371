#include "core/model/attention_batch.h"

#include <algorithm>

#include "core/model/row_ranges.h"
#include "core/model/workspace.h"

namespace sluice {

// What the steps of one layer share.
struct AttentionBatch::Pass {
  const ModelConfig& config;
  const DecoderWeights& weights;
  const LayerWeights& layer;
  int64_t index;
  absl::Span<const DecoderRow> rows;
  const Rotations& rotations;
  const float* h;
  ThreadPool* pool;

  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  const kernels::AttentionShape& shape() const { return weights.attention; }
  // Rotates the last dr of each of `heads` vectors of row r in place.
  void Rotate(int64_t r, float* x, int64_t heads, int64_t width) const {
    const int64_t dr = config.qk_rope_dim, half = dr / 2;
    kernels::ApplyRope(x + width - dr, 1, heads * width, heads, width, dr, rotations.cos + r * half,
                       rotations.sin + r * half, config.rope_interleaved);
  }
  void Store(int64_t r, const float* key, const float* value) const {
    const int64_t position = rows[r].position;
    kernels::CacheStore(shape(), key, value, position % kernels::kBlockTokens,
                        rows[r].caches[index][position / kernels::kBlockTokens]);
  }
};

namespace {

// x [rows, dim] of one head after another.
void NormHeads(const std::vector<float>& weight, float epsilon, int64_t heads, float* x) {
  const int64_t dim = weight.size();
  if (dim > 0) kernels::RmsNorm(x, heads, dim, dim, weight.data(), epsilon, x, dim);
}

}  // namespace

// 2 to 6 of latent attention.
void AttentionBatch::Latent(const Pass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.count(), dn = c.qk_nope_dim, dr = c.qk_rope_dim, rank = c.kv_lora_rank;
  const int64_t head = dn + dr, width = rank + dr, lora = c.q_lora_rank;
  float* q = Room(&projected_, n * c.heads * head);
  float* kv = Room(&keys_, n * width);
  float* absorbed = Room(&queries_, n * c.heads * width);
  const kernels::LinearJob kv_job = {p.h, n, c.hidden, &p.layer.kv_a, OrNull(p.layer.kv_a_bias), kv, width};
  if (lora == 0) {
    const kernels::LinearJob q_job = {p.h, n, c.hidden, &p.layer.q, nullptr, q, c.heads * head};
    kernels::LinearBatch({q_job, kv_job}, p.pool);
  } else {
    float* q_a = Room(&compressed_, n * lora);
    const kernels::LinearJob q_job = {p.h, n, c.hidden, &p.layer.q_a, OrNull(p.layer.q_a_bias), q_a, lora};
    kernels::LinearBatch({q_job, kv_job}, p.pool);
    ForRowRanges(p.pool, n, lora, [&](int64_t first, int64_t count) {
      kernels::RmsNorm(q_a + first * lora, count, lora, lora, p.layer.q_a_norm.data(),
                       p.weights.latent_norm_epsilon, q_a + first * lora, lora);
    });
    kernels::Linear(q_a, n, lora, p.layer.q_b, nullptr, q, c.heads * head, p.pool);
  }
  ForRowRanges(p.pool, n, c.heads * 4 * dr + 2 * width, [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) {
      for (int64_t h = 0; h < c.heads; ++h) {
        std::copy_n(q + (r * c.heads + h) * head + dn, dr, absorbed + (r * c.heads + h) * width + rank);
      }
      p.Rotate(r, absorbed + r * c.heads * width, c.heads, width);
      float* entry = kv + r * width;
      kernels::RmsNorm(entry, 1, rank, width, p.layer.kv_a_norm.data(), p.weights.latent_norm_epsilon, entry,
                       width);
      p.Rotate(r, entry, 1, width);
      p.Store(r, entry, nullptr);
    }
  });
  jobs_.clear();
  for (int64_t h = 0; h < c.heads; ++h) {
    jobs_.push_back(
        {q + h * head, n, c.heads * head, &p.layer.w_uk[h], nullptr, absorbed + h * width, c.heads * width});
  }
  kernels::LinearBatch(jobs_, p.pool);
}

// 2 to 6 of grouped attention.
void AttentionBatch::Grouped(const Pass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.count(), head = c.qk_nope_dim + c.qk_rope_dim;
  const int64_t q_width = c.heads * head, k_width = c.kv_heads * head, v_width = c.kv_heads * c.v_dim;
  float* q = Room(&queries_, n * q_width);
  float* k = Room(&keys_, n * k_width);
  float* v = Room(&values_, n * v_width);
  const auto job = [&](const kernels::PackedMatrix& w, const std::vector<float>& bias, float* y) {
    return kernels::LinearJob{p.h, n, c.hidden, &w, OrNull(bias), y, w.out()};
  };
  kernels::LinearBatch({job(p.layer.q, p.layer.q_bias, q), job(p.layer.k, p.layer.k_bias, k),
                        job(p.layer.v, p.layer.v_bias, v)},
                       p.pool);
  ForRowRanges(p.pool, n, 2 * (q_width + k_width + v_width), [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) {
      NormHeads(p.layer.q_norm, p.weights.norm_epsilon, c.heads, q + r * q_width);
      NormHeads(p.layer.k_norm, p.weights.norm_epsilon, c.kv_heads, k + r * k_width);
      p.Rotate(r, q + r * q_width, c.heads, head);
      p.Rotate(r, k + r * k_width, c.kv_heads, head);
      p.Store(r, k + r * k_width, v + r * v_width);
    }
  });
}

// The attended values of each head as o_proj wants them, [rows, heads dv]: 7, and the expansion of 8.
float* AttentionBatch::Heads(const Pass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.count(), value = p.shape().value_dim, dv = c.v_dim;
  cached_.clear();
  for (const DecoderRow& row : p.rows) cached_.push_back({row.caches[p.index], row.position + 1});
  float* attended = Room(&attended_, n * c.heads * value);
  kernels::Attention(p.shape(), queries_.data(), cached_, attended, nullptr, p.pool);
  if (c.attention == AttentionKind::kGrouped) return attended;
  float* heads = Room(&heads_, n * c.heads * dv);
  jobs_.clear();
  for (int64_t h = 0; h < c.heads; ++h) {
    jobs_.push_back(
        {attended + h * value, n, c.heads * value, &p.layer.w_uv[h], nullptr, heads + h * dv, c.heads * dv});
  }
  kernels::LinearBatch(jobs_, p.pool);
  return heads;
}

void AttentionBatch::Forward(const DecoderWeights& weights, int64_t index, absl::Span<const DecoderRow> rows,
                             const Rotations& rotations, const float* h, float* y, ThreadPool* pool) {
  const ModelConfig& c = weights.config;
  const Pass pass = {c, weights, weights.layers[index], index, rows, rotations, h, pool};
  if (c.attention == AttentionKind::kLatent) {
    Latent(pass);
  } else {
    Grouped(pass);
  }
  const float* heads = Heads(pass);
  kernels::Linear(heads, pass.count(), c.heads * c.v_dim, pass.layer.o, OrNull(pass.layer.o_bias), y,
                  c.hidden, pool);
}

int64_t AttentionBatch::FloatsPerRow(const ModelConfig& config) {
  const int64_t head = config.qk_nope_dim + config.qk_rope_dim;
  if (config.attention == AttentionKind::kGrouped) {
    return (config.heads + config.kv_heads) * (head + config.v_dim);
  }
  const int64_t width = config.kv_lora_rank + config.qk_rope_dim;
  return config.q_lora_rank + width + config.heads * (head + width + config.kv_lora_rank + config.v_dim);
}

}  // namespace sluice
