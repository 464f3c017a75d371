// LatentAttention of kernel_ops.h: absorbed multi-head latent attention over blocks (DeepSeek-V2,
// section 2.1.2).
#include <utility>

#include "learner/kernel_ops.h"

namespace sluice::learner {
namespace {

float* Data(at::Tensor& t) { return t.mutable_data_ptr<float>(); }
const float* Data(const at::Tensor& t) { return t.const_data_ptr<float>(); }

struct Sizes {
  int64_t rows, heads, c, dr, dn, dv;
  int64_t width() const { return c + dr; }   // of a cached position
  int64_t query() const { return dn + dr; }  // of a head's query
};

Sizes SizesOf(const ModelConfig& config, int64_t rows) {
  return {rows, config.heads, config.kv_lora_rank, config.qk_rope_dim, config.qk_nope_dim, config.v_dim};
}

// What the backward needs of the forward.
struct Kept {
  Sizes sizes;
  float scale = 1, epsilon = 0;
  bool interleaved = true;
  std::shared_ptr<const PackedBatch> batch;
  std::vector<float> cos, sin;  // [rows, dr/2]
  at::Tensor q, kv;             // q rotated; kv as projected
  at::Tensor cache;             // [rows, c+dr]
  at::Tensor absorbed;          // [rows, heads, c+dr]
  at::Tensor latent;            // [rows, heads, c]: attention's output
  at::Tensor log_sum_exp;       // [rows, heads]
};

// A buffer of blocks and the pointers of each row into it.
class Blocks {
 public:
  Blocks(const PackedBatch& batch, int64_t width)
      : layout_(batch.layout),
        width_(width),
        values_(at::zeros({layout_.blocks * kernels::kBlockTokens, width})) {
    for (const std::vector<int64_t>& table : layout_.tables) {
      pointers_.emplace_back();
      for (int64_t block : table)
        pointers_.back().push_back(Data(values_) + block * kernels::kBlockTokens * width);
    }
  }

  // Lays rows [rows, width] into their slots.
  void Fill(const at::Tensor& rows) {
    for (size_t r = 0; r < layout_.slot_of_row.size(); ++r)
      Copy(rows, static_cast<int64_t>(r), layout_.slot_of_row[r]);
    for (const auto& [row, slot] : layout_.copies) Copy(rows, row, slot);
  }
  // The reverse: the sum of a row's slots.
  at::Tensor Collect() {
    at::Tensor rows = at::empty({static_cast<int64_t>(layout_.slot_of_row.size()), width_});
    for (size_t r = 0; r < layout_.slot_of_row.size(); ++r) {
      std::copy_n(Data(values_) + layout_.slot_of_row[r] * width_, width_,
                  Data(rows) + static_cast<int64_t>(r) * width_);
    }
    for (const auto& [row, slot] : layout_.copies) {
      kernels::Add(Data(values_) + slot * width_, width_, Data(rows) + row * width_);
    }
    return rows;
  }

  float* const* OfRow(int64_t row) const { return pointers_[layout_.table_of_row[row]].data(); }

 private:
  void Copy(const at::Tensor& rows, int64_t row, int64_t slot) {
    std::copy_n(Data(rows) + row * width_, width_, Data(values_) + slot * width_);
  }
  const BlockLayout& layout_;
  const int64_t width_;
  at::Tensor values_;
  std::vector<std::vector<float*>> pointers_;
};

std::vector<kernels::AttentionRow> RowsOver(const Blocks& blocks, const PackedBatch& batch) {
  std::vector<kernels::AttentionRow> rows(batch.rows());
  for (int64_t r = 0; r < batch.rows(); ++r) {
    rows[r].blocks = blocks.OfRow(r);
    rows[r].length = batch.positions[r] + 1;
  }
  return rows;
}

// Copies the last `dr` columns of rows [rows, from] of q to the last of [rows, to].
void CopyTail(const float* from, int64_t from_width, float* to, int64_t to_width, int64_t dr, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(from + (i + 1) * from_width - dr, dr, to + (i + 1) * to_width - dr);
  }
}

// The transpose of ApplyRope: `d` holds gradients of first halves then second halves.
void RotateBack(const Kept& k, float* d, int64_t row_stride, int64_t heads, int64_t head_stride) {
  const int64_t dr = k.sizes.dr, half = dr / 2;
  std::vector<float> out(dr);
  for (int64_t r = 0; r < k.sizes.rows; ++r) {
    const float* cos = &k.cos[r * half];
    const float* sin = &k.sin[r * half];
    for (int64_t h = 0; h < heads; ++h) {
      float* v = d + r * row_stride + h * head_stride;
      for (int64_t i = 0; i < half; ++i) {
        const float a = v[i] * cos[i] + v[half + i] * sin[i];
        const float b = v[half + i] * cos[i] - v[i] * sin[i];
        out[k.interleaved ? 2 * i : i] = a;
        out[k.interleaved ? 2 * i + 1 : half + i] = b;
      }
      std::copy(out.begin(), out.end(), v);
    }
  }
}

void BuildCache(const DecoderWeights& model, const LayerWeights& packed, Kept* k) {
  const Sizes& s = k->sizes;
  k->cache = at::empty({s.rows, s.width()});
  float* cache = Data(k->cache);
  kernels::RmsNorm(Data(std::as_const(k->kv)), s.rows, s.c, s.width(), packed.kv_a_norm.data(), k->epsilon,
                   cache, s.width());
  CopyTail(Data(std::as_const(k->kv)), s.width(), cache, s.width(), s.dr, s.rows);
  kernels::ApplyRope(cache + s.c, s.rows, s.width(), 1, s.dr, s.dr, k->cos.data(), k->sin.data(),
                     k->interleaved);
}

void Absorb(const LayerWeights& packed, Kept* k, ThreadPool* pool) {
  const Sizes& s = k->sizes;
  k->absorbed = at::empty({s.rows, s.heads, s.width()});
  const float* q = Data(std::as_const(k->q));
  for (int64_t h = 0; h < s.heads; ++h) {
    kernels::Linear(q + h * s.query(), s.rows, s.heads * s.query(), packed.w_uk[h], nullptr,
                    Data(k->absorbed) + h * s.width(), s.heads * s.width(), pool);
  }
  CopyTail(q, s.query(), Data(k->absorbed), s.width(), s.dr, s.rows * s.heads);
}

at::Tensor Forward(const DecoderWeights& model, const LayerWeights& packed, Kept* k, ThreadPool* pool) {
  const Sizes& s = k->sizes;
  const int64_t half = s.dr / 2;
  k->cos.resize(s.rows * half);
  k->sin.resize(s.rows * half);
  kernels::RopeCosSin(k->batch->positions, model.inverse_frequencies, model.rope_amplitude, k->cos.data(),
                      k->sin.data());
  kernels::ApplyRope(Data(k->q) + s.dn, s.rows, s.heads * s.query(), s.heads, s.query(), s.dr, k->cos.data(),
                     k->sin.data(), k->interleaved);
  BuildCache(model, packed, k);
  Absorb(packed, k, pool);
  Blocks blocks(*k->batch, s.width());
  blocks.Fill(k->cache);
  const std::vector<kernels::AttentionRow> rows = RowsOver(blocks, *k->batch);
  k->latent = at::empty({s.rows, s.heads, s.c});
  k->log_sum_exp = at::empty({s.rows, s.heads});
  kernels::MlaAttention(Data(std::as_const(k->absorbed)), rows, s.heads, s.c, s.dr, k->scale, Data(k->latent),
                        Data(k->log_sum_exp), pool);
  at::Tensor o = at::empty({s.rows, s.heads * s.dv});
  for (int64_t h = 0; h < s.heads; ++h) {
    kernels::Linear(Data(std::as_const(k->latent)) + h * s.c, s.rows, s.heads * s.c, packed.w_uv[h], nullptr,
                    Data(o) + h * s.dv, s.heads * s.dv, pool);
  }
  return o;
}

struct AttentionGradients {
  at::Tensor absorbed, cache;
};

AttentionGradients BlocksBackward(const Kept& k, const at::Tensor& d_latent) {
  const Sizes& s = k.sizes;
  Blocks blocks(*k.batch, s.width()), d_blocks(*k.batch, s.width());
  blocks.Fill(k.cache);
  const std::vector<kernels::AttentionRow> rows = RowsOver(blocks, *k.batch);
  std::vector<float* const*> into(s.rows);
  for (int64_t r = 0; r < s.rows; ++r) into[r] = d_blocks.OfRow(r);
  at::Tensor d_absorbed = at::empty({s.rows, s.heads, s.width()});
  kernels::MlaAttentionBackward(Data(k.absorbed), rows, into, s.heads, s.c, s.dr, k.scale, Data(k.latent),
                                Data(k.log_sum_exp), Data(d_latent), Data(d_absorbed));
  return {d_absorbed, d_blocks.Collect()};
}

std::vector<at::Tensor> Backward(const Kept& k, const AttentionParameters& p, const at::Tensor& d_o) {
  const Sizes& s = k.sizes;
  // [heads, ., .] views of kv_b and its gradient
  const at::Tensor w = p.kv_b.value.view({s.heads, s.dn + s.dv, s.c});
  const at::Tensor dw = p.kv_b.grad.view({s.heads, s.dn + s.dv, s.c});
  const at::Tensor d_oh = d_o.view({s.rows, s.heads, s.dv}).transpose(0, 1);  // [heads, rows, dv]
  const at::Tensor latent_h = k.latent.transpose(0, 1);                       // [heads, rows, c]
  dw.narrow(1, s.dn, s.dv).add_(at::bmm(d_oh.transpose(1, 2), latent_h));
  const at::Tensor d_latent = at::bmm(d_oh, w.narrow(1, s.dn, s.dv)).transpose(0, 1).contiguous();
  const AttentionGradients d = BlocksBackward(k, d_latent);

  const at::Tensor d_absorbed_h = d.absorbed.narrow(2, 0, s.c).transpose(0, 1);  // [heads, rows, c]
  const at::Tensor q_nope_h = k.q.view({s.rows, s.heads, s.query()}).narrow(2, 0, s.dn).transpose(0, 1);
  dw.narrow(1, 0, s.dn).add_(at::bmm(q_nope_h.transpose(1, 2), d_absorbed_h));
  at::Tensor d_q = at::empty({s.rows, s.heads, s.query()});
  d_q.narrow(2, 0, s.dn).copy_(at::bmm(d_absorbed_h, w.narrow(1, 0, s.dn).transpose(1, 2)).transpose(0, 1));
  CopyTail(Data(d.absorbed), s.width(), Data(d_q), s.query(), s.dr, s.rows * s.heads);
  RotateBack(k, Data(d_q) + s.dn, s.heads * s.query(), s.heads, s.query());

  at::Tensor d_kv = at::empty({s.rows, s.width()});
  const at::Tensor d_normed = d.cache.narrow(1, 0, s.c);
  d_kv.narrow(1, 0, s.c).copy_(RmsNormBackward(d_normed, k.kv.narrow(1, 0, s.c), p.kv_a_norm, k.epsilon));
  CopyTail(Data(d.cache), s.width(), Data(d_kv), s.width(), s.dr, s.rows);
  RotateBack(k, Data(d_kv) + s.c, s.width(), 1, s.dr);
  return {d_q.view({s.rows, s.heads * s.query()}), d_kv};
}

}  // namespace

at::Tensor LatentAttention(const at::Tensor& q, const at::Tensor& kv, const DecoderWeights& model,
                           const LayerWeights& packed, const AttentionParameters& parameters,
                           std::shared_ptr<const PackedBatch> batch, ThreadPool* pool) {
  auto kept = std::make_shared<Kept>();
  kept->sizes = SizesOf(model.config, q.size(0));
  kept->scale = model.softmax_scale;
  kept->epsilon = model.latent_norm_epsilon;
  kept->interleaved = model.config.rope_interleaved;
  kept->batch = std::move(batch);
  kept->q = q.detach().clone();
  kept->kv = kv.detach();
  return RunKernel(
      {q, kv}, [&] { return Forward(model, packed, kept.get(), pool); },
      [kept, parameters](const at::Tensor& d_o) { return Backward(*kept, parameters, d_o); });
}

}  // namespace sluice::learner
