#include "core/model/expert_batch.h"

#include <algorithm>

#include "core/model/row_ranges.h"
#include "core/model/workspace.h"

namespace sluice {
namespace {

using kernels::LinearJob;

// A stride for rows of `width` floats that a product reads next: rows a whole number of half pages apart fall
// into the same sets of the cache, and the product would copy them first.
constexpr int64_t SpreadStride(int64_t width) { return width % 512 == 0 ? width + 16 : width; }

// gate = silu(gate) * up of [rows, width], rows `stride` apart.
void Activate(float* gate, const float* up, int64_t rows, int64_t width, int64_t stride, ThreadPool* pool) {
  ForRowRanges(pool, rows, 8 * width, [&](int64_t first, int64_t count) {  // an exponential is worth 8 floats
    for (int64_t r = first; r < first + count; ++r)
      kernels::SwiGlu(gate + r * stride, up + r * stride, width, gate + r * stride);
  });
}

}  // namespace

void ExpertBatch::Mlp(const MlpWeights& mlp, const float* h, int64_t rows, float* y, ThreadPool* pool) {
  const int64_t hidden = mlp.gate.in(), width = mlp.gate.out();
  const int64_t stride = SpreadStride(width);
  float* gate = Room(&gate_, rows * stride);
  float* up = Room(&up_, rows * stride);
  kernels::LinearBatch({LinearJob{h, rows, hidden, &mlp.gate, nullptr, gate, stride},
                        LinearJob{h, rows, hidden, &mlp.up, nullptr, up, stride}},
                       pool);
  Activate(gate, up, rows, width, stride, pool);
  kernels::Linear(gate, rows, stride, mlp.down, nullptr, y, hidden, pool);
}

void ExpertBatch::RouteRows(const MoeWeights& moe, const kernels::RouterParams& router, const float* h,
                            int64_t rows, ThreadPool* pool) {
  const int64_t experts = router.experts, k = router.k, hidden = moe.router.in();
  float* logits = Room(&logits_, rows * experts);
  float* weights = Room(&weights_, rows * k);
  ids_.resize(rows * k);
  kernels::Linear(h, rows, hidden, moe.router, nullptr, logits, experts, pool);
  ForRowRanges(pool, rows, 16 * experts, [&](int64_t first, int64_t count) {
    for (int64_t r = first; r < first + count; ++r) {
      kernels::Route(logits + r * experts, router, ids_.data() + r * k, weights + r * k);
    }
  });
}

// Counting sort of (row, slot) by expert; rows stay in rising order.
void ExpertBatch::Sort(int64_t rows, int32_t k, int32_t experts) {
  first_.assign(experts + 1, 0);
  for (const int32_t id : ids_) ++first_[id + 1];
  for (int32_t e = 0; e < experts; ++e) first_[e + 1] += first_[e];
  next_.assign(first_.begin(), first_.end() - 1);
  place_.resize(rows * k);
  row_.resize(rows * k);
  for (int64_t i = 0; i < rows * k; ++i) {
    place_[i] = next_[ids_[i]]++;
    row_[place_[i]] = i / k;
  }
}

const float* ExpertBatch::Gather(const float* h, int64_t rows, int32_t k, int64_t hidden, ThreadPool* pool) {
  float* inputs = Room(&inputs_, rows * k * hidden);
  ForRowRanges(pool, rows * k, hidden, [&](int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      std::copy_n(h + row_[i] * hidden, hidden, inputs + i * hidden);
    }
  });
  return inputs;
}

void ExpertBatch::RunExperts(const MoeWeights& moe, const float* h, int64_t rows, int32_t k, float* y,
                             ThreadPool* pool) {
  const int64_t hidden = moe.router.in(), width = moe.experts[0].gate.out();
  const int64_t shared = moe.has_shared ? moe.shared.gate.out() : 0;
  const float* inputs = rows == 1 ? h : Gather(h, rows, k, hidden, pool);
  const int64_t stride = rows == 1 ? 0 : hidden;  // a single row is every expert's input
  float* gate = Room(&gate_, rows * (shared + k * width));
  float* up = Room(&up_, rows * (shared + k * width));
  float* outputs = Room(&outputs_, rows * k * hidden);
  const auto for_each_expert = [&](const auto& body) {  // with rows; their place, and where gate and up are
    for (size_t e = 0; e < moe.experts.size(); ++e) {
      const int64_t count = first_[e + 1] - first_[e];
      if (count > 0) body(moe.experts[e], first_[e], count, rows * shared + first_[e] * width);
    }
  };
  jobs_.clear();
  if (moe.has_shared) {
    jobs_.push_back({h, rows, hidden, &moe.shared.gate, nullptr, gate, shared});
    jobs_.push_back({h, rows, hidden, &moe.shared.up, nullptr, up, shared});
  }
  for_each_expert([&](const MlpWeights& expert, int64_t place, int64_t count, int64_t at) {
    const float* x = inputs + place * stride;
    jobs_.push_back({x, count, hidden, &expert.gate, nullptr, gate + at, width});
    jobs_.push_back({x, count, hidden, &expert.up, nullptr, up + at, width});
  });
  kernels::LinearBatch(jobs_, pool);
  Activate(gate, up, rows, shared + k * width, shared + k * width, pool);
  jobs_.clear();
  if (moe.has_shared) jobs_.push_back({gate, rows, shared, &moe.shared.down, nullptr, y, hidden});
  for_each_expert([&](const MlpWeights& expert, int64_t place, int64_t count, int64_t at) {
    jobs_.push_back({gate + at, count, width, &expert.down, nullptr, outputs + place * hidden, hidden});
  });
  kernels::LinearBatch(jobs_, pool);
}

void ExpertBatch::Forward(const MoeWeights& moe, const kernels::RouterParams& router, const float* h,
                          int64_t rows, float* y, ThreadPool* pool) {
  const int64_t hidden = moe.router.in();
  const int32_t k = router.k;
  RouteRows(moe, router, h, rows, pool);
  Sort(rows, k, router.experts);
  RunExperts(moe, h, rows, k, y, pool);
  ForRowRanges(pool, rows, (k + 2) * hidden, [&](int64_t first, int64_t count) {
    if (!moe.has_shared) std::fill_n(y + first * hidden, count * hidden, 0.0f);
    for (int64_t i = first * k; i < (first + count) * k; ++i) {
      kernels::AddScaled(outputs_.data() + place_[i] * hidden, weights_[i], hidden, y + i / k * hidden);
    }
  });
}

int64_t ExpertBatch::FloatsPerRow(const ModelConfig& config) {
  const MoeConfig& moe = config.moe;
  const int64_t dense = 2 * SpreadStride(config.intermediate);
  if (moe.experts == 0) return dense;
  const int64_t k = moe.experts_per_token;
  return std::max(dense,
                  2 * (moe.shared_experts + k) * moe.intermediate + moe.experts + k + 2 * k * config.hidden);
}

}  // namespace sluice
