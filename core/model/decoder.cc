// One forward. The sequence of operations is the numbered list of README.md; the numbers stand below and in
// attention_batch.cc. learner/layer.h makes the same calls under autograd and must keep in step with any
// change here.
#include "core/model/decoder.h"

#include <algorithm>
#include <utility>

#include "core/model/attention_batch.h"
#include "core/model/decoder_weights.h"
#include "core/model/expert_batch.h"
#include "core/model/row_ranges.h"
#include "core/model/workspace.h"

namespace sluice {

struct Decoder::Workspace {
  std::vector<float> x, h, y, cos, sin;  // [rows, hidden], [rows, dr/2]
  std::vector<int32_t> positions;
  AttentionBatch attention;
  ExpertBatch experts;
};

namespace {

// Rows that are computed at once: as many as fit a workspace of 64 MiB, but enough for full speed.
int64_t MostRows(const ModelConfig& c) {
  constexpr int64_t kWorkspaceFloats = 16 << 20, kLeastRows = 64;
  const int64_t floats =
      3 * c.hidden + c.qk_rope_dim + AttentionBatch::FloatsPerRow(c) + ExpertBatch::FloatsPerRow(c);
  return std::max(kLeastRows, kWorkspaceFloats / floats);
}

// x += y unless y is null, then out = RmsNorm(x): the end of one part of a layer and the start of the next.
void AddAndNorm(const ModelConfig& c, const DecoderWeights& weights, const std::vector<float>& norm,
                int64_t rows, const float* y, float* x, float* out, ThreadPool* pool) {
  const int64_t hidden = c.hidden;
  ForRowRanges(pool, rows, 4 * hidden, [&](int64_t first, int64_t count) {
    const int64_t at = first * hidden;
    if (y != nullptr) kernels::Add(y + at, count * hidden, x + at);
    kernels::RmsNorm(x + at, count, hidden, hidden, norm.data(), weights.norm_epsilon, out + at, hidden);
  });
}

void RecordExperts(const std::vector<int32_t>& ids, int64_t moe_layer, absl::Span<const DecoderRow> rows) {
  const int64_t k = static_cast<int64_t>(ids.size() / rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].experts == nullptr) continue;
    for (int64_t i = 0; i < k; ++i) {
      rows[r].experts[moe_layer * k + i] = static_cast<uint16_t>(ids[r * k + i]);
    }
  }
}

}  // namespace

Decoder::Decoder(ModelConfig config, ThreadPool* pool)
    : config_(std::move(config)), pool_(pool), workspace_(std::make_unique<Workspace>()) {}
Decoder::~Decoder() = default;

void Decoder::Forward(const DecoderWeights& weights, absl::Span<const DecoderRow> rows, float* hidden) {
  const size_t most = static_cast<size_t>(MostRows(config_));
  for (size_t first = 0; first < rows.size(); first += most) {
    ForwardSome(weights, rows.subspan(first, most), hidden + first * config_.hidden);
  }
}

void Decoder::ForwardSome(const DecoderWeights& weights, absl::Span<const DecoderRow> rows, float* hidden) {
  const ModelConfig& c = config_;
  Workspace& w = *workspace_;
  const int64_t n = rows.size(), half = c.qk_rope_dim / 2;
  float* x = Room(&w.x, n * c.hidden);
  float* h = Room(&w.h, n * c.hidden);
  float* y = Room(&w.y, n * c.hidden);
  float* cos = Room(&w.cos, n * half);
  float* sin = Room(&w.sin, n * half);
  // 0
  w.positions.clear();
  for (const DecoderRow& row : rows) w.positions.push_back(row.position);
  kernels::RopeCosSin(w.positions, weights.inverse_frequencies, weights.rope_amplitude, cos, sin);
  ForRowRanges(pool_, n, 4 * c.hidden, [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) weights.Embed(rows[r].token, x + r * c.hidden);
  });
  int64_t moe_layer = 0;
  for (int64_t l = 0; l < c.layers; ++l) {
    const LayerWeights& layer = weights.layers[l];
    AddAndNorm(c, weights, layer.input_norm, n, l == 0 ? nullptr : y, x, h, pool_);  // 1
    w.attention.Forward(weights, l, rows, {cos, sin}, h, y, pool_);                  // 2 to 8
    AddAndNorm(c, weights, layer.post_attention_norm, n, y, x, h, pool_);            // 9
    if (layer.is_moe) {                                                              // 11
      w.experts.Forward(layer.moe, RouterParamsOf(c, OrNull(layer.moe.correction_bias)), h, n, y, pool_);
      RecordExperts(w.experts.ids(), moe_layer++, rows);
    } else {  // 10
      w.experts.Mlp(layer.mlp, h, n, y, pool_);
    }
  }
  AddAndNorm(c, weights, weights.final_norm, n, y, x, hidden, pool_);  // 12
}

void Decoder::Logits(const DecoderWeights& weights, const float* hidden, int64_t rows, float* logits) {
  kernels::Linear(hidden, rows, config_.hidden, weights.head, nullptr, logits, config_.vocab, pool_);
}

}  // namespace sluice
