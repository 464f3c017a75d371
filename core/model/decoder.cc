// One forward. The sequence of operations is the numbered list of README.md; the numbers stand below.
// learner/policy.h makes the same calls under autograd and must keep in step with any change here.
#include "core/model/decoder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/model/decoder_weights.h"
#include "core/model/expert_batch.h"

namespace sluice {

// Rows that one thread takes through a layer.
struct RowPart {
  int64_t first = 0, rows = 0;
  std::vector<kernels::AttentionRow> attention;
  ExpertBatch experts;
};

struct Decoder::Workspace {
  std::vector<float> x, h, q, q_a, kv, absorbed, latent, heads, y, cos, sin;
  std::vector<int32_t> positions;
  std::vector<RowPart> parts;
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
  float *x, *h, *q, *q_a, *kv, *absorbed, *latent, *heads, *y;  // of the part's first row
  const float *cos, *sin;
  RowPart* part;
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

// 6: [q_nope absorbed ; q_pe] of each head.
void Absorb(const LayerPass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.rows.size(), dn = c.qk_nope_dim, dr = c.qk_rope_dim, rank = c.kv_lora_rank;
  const int64_t head = dn + dr, width = rank + dr;
  ForEachHead(c.heads, n * c.heads * dn * rank, p.pool, [&](int64_t h) {
    kernels::Linear(p.q + h * head, n, c.heads * head, p.layer.w_uk[h], nullptr, p.absorbed + h * width,
                    c.heads * width, nullptr);
    for (int64_t r = 0; r < n; ++r) {
      const float* rotated = p.q + (r * c.heads + h) * head + dn;
      std::copy(rotated, rotated + dr, p.absorbed + (r * c.heads + h) * width + rank);
    }
  });
}

// 7 and 8: attention over the caches and o_proj, added to x.
void Attend(const LayerPass& p) {
  const ModelConfig& c = p.config;
  const int64_t n = p.rows.size(), dr = c.qk_rope_dim, dv = c.v_dim, rank = c.kv_lora_rank;
  std::vector<kernels::AttentionRow>& attention = p.part->attention;
  attention.clear();
  for (const DecoderRow& row : p.rows) attention.push_back({row.caches[p.index], row.position + 1});
  kernels::MlaAttention(p.absorbed, attention, c.heads, rank, dr, p.weights.softmax_scale, p.latent, nullptr,
                        p.pool);
  ForEachHead(c.heads, n * c.heads * dv * rank, p.pool, [&](int64_t h) {
    kernels::Linear(p.latent + h * rank, n, c.heads * rank, p.layer.w_uv[h], nullptr, p.heads + h * dv,
                    c.heads * dv, nullptr);
  });
  kernels::Linear(p.heads, n, c.heads * dv, p.layer.o, OrNull(p.layer.o_bias), p.y, c.hidden, p.pool);
  kernels::Add(p.y, n * c.hidden, p.x);
}

void Norm(const LayerPass& p, const std::vector<float>& weight) {  // 1 and 9
  const int64_t hidden = p.config.hidden;
  kernels::RmsNorm(p.x, p.rows.size(), hidden, hidden, weight.data(), p.weights.norm_epsilon, p.h, hidden);
}

// 10 or 11, added to x.
void FeedForward(const LayerPass& p) {
  const int64_t n = p.rows.size();
  ExpertBatch& experts = p.part->experts;
  if (p.layer.is_moe) {
    const MoeWeights& moe = p.layer.moe;
    experts.Forward(moe, RouterParamsOf(p.config, OrNull(moe.correction_bias)), p.h, n, p.y, p.pool);
  } else {
    experts.Mlp(p.layer.mlp, p.h, n, p.y, p.pool);
  }
  kernels::Add(p.y, n * p.config.hidden, p.x);
}

// Where layers are so small that waking threads for one product does not pay, threads take rows through whole
// layers. Otherwise there is one part, and each product is divided.
void Divide(int64_t rows, bool small_layers, ThreadPool* pool, std::vector<RowPart>* parts) {
  constexpr int64_t kLeastRows = 16;
  int64_t count = 1;
  if (small_layers && pool != nullptr && pool->threads() > 1) {
    count = std::clamp<int64_t>(rows / kLeastRows, 1, 2 * pool->threads());
  }
  parts->resize(count);
  for (int64_t i = 0; i < count; ++i) {
    (*parts)[i].first = rows * i / count;
    (*parts)[i].rows = rows * (i + 1) / count - rows * i / count;
  }
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
  // 0
  for (int64_t r = 0; r < n; ++r) weights.Embed(rows[r].token, x + r * c.hidden);
  kernels::RopeCosSin(w.positions, weights.inverse_frequencies, weights.rope_amplitude,
                      Room(&w.cos, n * half), Room(&w.sin, n * half));
  Room(&w.h, n * c.hidden);
  Room(&w.y, n * c.hidden);
  Room(&w.q, n * c.heads * (c.qk_nope_dim + c.qk_rope_dim));
  Room(&w.q_a, n * c.q_lora_rank);
  Room(&w.kv, n * cache_width());
  Room(&w.absorbed, n * c.heads * cache_width());
  Room(&w.latent, n * c.heads * c.kv_lora_rank);
  Room(&w.heads, n * c.heads * c.v_dim);
  Divide(n, weights.small_layers, pool_, &w.parts);
  const bool divided = w.parts.size() > 1;
  const auto pass_of = [&](int64_t layer, int64_t i) -> LayerPass {
    RowPart& part = w.parts[i];
    const int64_t r = part.first;
    return {c,
            weights,
            weights.layers[layer],
            rows.subspan(r, part.rows),
            layer,
            divided ? nullptr : pool_,
            x + r * c.hidden,
            w.h.data() + r * c.hidden,
            w.q.data() + r * c.heads * (c.qk_nope_dim + c.qk_rope_dim),
            w.q_a.data() + r * c.q_lora_rank,
            w.kv.data() + r * cache_width(),
            w.absorbed.data() + r * c.heads * cache_width(),
            w.latent.data() + r * c.heads * c.kv_lora_rank,
            w.heads.data() + r * c.heads * c.v_dim,
            w.y.data() + r * c.hidden,
            w.cos.data() + r * half,
            w.sin.data() + r * half,
            &part};
  };
  const auto for_each_part = [&](const std::function<void(int64_t)>& body) {
    if (divided) {
      pool_->ParallelFor(w.parts.size(), body);
    } else {
      body(0);
    }
  };
  for (int64_t l = 0; l < c.layers; ++l) {
    // All rows are in the caches before any row attends.
    for_each_part([&](int64_t i) {
      const LayerPass pass = pass_of(l, i);
      Norm(pass, pass.layer.input_norm);
      Queries(pass);
      ExtendCaches(pass);
      Absorb(pass);
    });
    for_each_part([&](int64_t i) {
      const LayerPass pass = pass_of(l, i);
      Attend(pass);
      Norm(pass, pass.layer.post_attention_norm);
      FeedForward(pass);
    });
  }
  // 12
  kernels::RmsNorm(x, n, c.hidden, c.hidden, weights.final_norm.data(), weights.norm_epsilon, hidden,
                   c.hidden);
}

void Decoder::Logits(const DecoderWeights& weights, const float* hidden, int64_t rows, float* logits) {
  kernels::Linear(hidden, rows, config_.hidden, weights.head, nullptr, logits, config_.vocab, pool_);
}

}  // namespace sluice
