#include "core/model/expert_batch.h"

#include <algorithm>

namespace sluice {
namespace {

float* Room(std::vector<float>* buffer, int64_t floats) {
  if (static_cast<int64_t>(buffer->size()) < floats) buffer->resize(floats);
  return buffer->data();
}

// gate and up are scratch of rows * intermediate floats.
void RunMlp(const MlpWeights& mlp, const float* h, int64_t rows, float* gate, float* up, float* y,
            ThreadPool* pool) {
  const int64_t hidden = mlp.gate.in(), width = mlp.gate.out();
  kernels::Linear(h, rows, hidden, mlp.gate, nullptr, gate, width, pool);
  kernels::Linear(h, rows, hidden, mlp.up, nullptr, up, width, pool);
  kernels::SwiGlu(gate, up, rows * width, gate);
  kernels::Linear(gate, rows, width, mlp.down, nullptr, y, hidden, pool);
}

}  // namespace

void ExpertBatch::Mlp(const MlpWeights& mlp, const float* h, int64_t rows, float* y, ThreadPool* pool) {
  const int64_t floats = rows * mlp.gate.out();
  RunMlp(mlp, h, rows, Room(&gate_, floats), Room(&up_, floats), y, pool);
}

// Counting sort of (row, slot) by expert; rows stay in rising order.
void ExpertBatch::Gather(int64_t rows, int32_t k, int32_t experts) {
  first_.assign(experts + 1, 0);
  for (const int32_t id : ids_) ++first_[id + 1];
  for (int32_t e = 0; e < experts; ++e) first_[e + 1] += first_[e];
  std::vector<int64_t> next(first_.begin(), first_.end() - 1);
  place_.resize(rows * k);
  for (int64_t i = 0; i < rows * k; ++i) place_[i] = next[ids_[i]]++;
}

void ExpertBatch::Forward(const MoeWeights& moe, const kernels::RouterParams& router, const float* h,
                          int64_t rows, float* y, ThreadPool* pool) {
  const int64_t hidden = moe.router.in(), width = moe.experts[0].gate.out();
  const int32_t k = router.k;
  float* logits = Room(&logits_, rows * router.experts);
  kernels::Linear(h, rows, hidden, moe.router, nullptr, logits, router.experts, pool);
  ids_.resize(rows * k);
  float* weights = Room(&weights_, rows * k);
  for (int64_t r = 0; r < rows; ++r) {
    kernels::Route(logits + r * router.experts, router, ids_.data() + r * k, weights + r * k);
  }
  if (moe.has_shared) {
    Mlp(moe.shared, h, rows, y, pool);
  } else {
    std::fill(y, y + rows * hidden, 0.0f);
  }
  Gather(rows, k, router.experts);
  float* inputs = Room(&inputs_, rows * k * hidden);
  float* outputs = Room(&outputs_, rows * k * hidden);
  for (int64_t i = 0; i < rows * k; ++i) {
    std::copy(h + i / k * hidden, h + (i / k + 1) * hidden, inputs + place_[i] * hidden);
  }
  float* gate = Room(&gate_, rows * k * width);
  float* up = Room(&up_, rows * k * width);
  const auto run = [&](int64_t e, ThreadPool* inner) {
    const int64_t first = first_[e], count = first_[e + 1] - first;
    if (count == 0) return;
    RunMlp(moe.experts[e], inputs + first * hidden, count, gate + first * width, up + first * width,
           outputs + first * hidden, inner);
  };
  // Experts are the pieces when each is small; a few big ones are divided inside.
  constexpr int64_t kWorthThreads = 4'000'000;  // multiply-adds
  if (pool != nullptr && rows * k >= 4 * pool->threads() && rows * k * hidden * width * 3 >= kWorthThreads) {
    pool->ParallelFor(router.experts, [&](int64_t e) { run(e, nullptr); });
  } else {
    for (int64_t e = 0; e < router.experts; ++e) run(e, pool);
  }
  for (int64_t i = 0; i < rows * k; ++i) {
    kernels::AddScaled(outputs + place_[i] * hidden, weights[i], hidden, y + i / k * hidden);
  }
}

}  // namespace sluice
