#include "learner/routing.h"

#include <algorithm>

#include "core/model/row_ranges.h"

namespace sluice::learner {
namespace {

void SortByExpert(int64_t experts, int64_t k, Routing* r) {
  r->first.assign(experts + 1, 0);
  for (const int32_t id : r->ids) ++r->first[id + 1];
  for (int64_t e = 0; e < experts; ++e) r->first[e + 1] += r->first[e];
  std::vector<int64_t> next(r->first.begin(), r->first.end() - 1);
  const int64_t count = static_cast<int64_t>(r->ids.size());
  r->row.resize(count);
  r->slot_index.resize(count);
  r->place.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = next[r->ids[i]]++;
    r->row[at] = i / k;
    r->slot_index[at] = i;
    r->place[i] = at;
  }
}

// Of one row, with its routing weights' gradients.
void RowBackward(const MoeConfig& moe, const int32_t* ids, const float* s, const float* d_weights, float* d) {
  double sum = 1e-20, inner = 0;
  for (int32_t i = 0; i < moe.experts_per_token; ++i) {
    sum += s[ids[i]];
    inner += static_cast<double>(d_weights[i]) * s[ids[i]];
  }
  std::fill_n(d, moe.experts, 0.0f);
  double along = 0;  // sum of d_score * score, for the softmax
  for (int32_t i = 0; i < moe.experts_per_token; ++i) {
    const double own = moe.normalize_weights ? (d_weights[i] - inner / sum) / sum : d_weights[i];
    d[ids[i]] = static_cast<float>(moe.scaling * own);
    along += moe.scaling * own * s[ids[i]];
  }
  const bool sigmoid = moe.score == RouterScore::kSigmoid;
  for (int32_t e = 0; e < moe.experts; ++e) {
    d[e] = sigmoid ? d[e] * s[e] * (1 - s[e]) : s[e] * (d[e] - static_cast<float>(along));
  }
}

}  // namespace

Routing RouteRows(const float* logits, const kernels::RouterParams& params, int64_t moe_layer,
                  const ForwardPass& pass) {
  const int64_t rows = pass.rows(), k = params.k;
  const std::vector<const uint16_t*>& recorded = pass.batch->experts;
  Routing r;
  r.ids.resize(rows * k);
  r.weights.resize(rows * k);
  ForRowRanges(pass.pool, rows, 16 * params.experts, [&](int64_t first, int64_t count) {
    for (int64_t row = first; row < first + count; ++row) {
      const float* own = logits + row * params.experts;
      if (!pass.replay || recorded.empty() || recorded[row] == nullptr) {
        kernels::Route(own, params, &r.ids[row * k], &r.weights[row * k]);
        continue;
      }
      std::copy_n(recorded[row] + moe_layer * k, k, &r.ids[row * k]);
      kernels::RouteTo(own, params, &r.ids[row * k], &r.weights[row * k]);
    }
  });
  SortByExpert(params.experts, k, &r);
  return r;
}

void RouterBackward(const MoeConfig& moe, const Routing& routing, const float* scores, const float* d_weights,
                    float* d_logits) {
  const int64_t k = moe.experts_per_token, rows = static_cast<int64_t>(routing.ids.size()) / k;
  for (int64_t r = 0; r < rows; ++r) {
    RowBackward(moe, &routing.ids[r * k], scores + r * moe.experts, d_weights + r * k,
                d_logits + r * moe.experts);
  }
}

}  // namespace sluice::learner
