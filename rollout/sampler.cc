#include "rollout/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/kernels/kernels.h"

namespace sluice {
namespace {

// Greatest logit, lowest id among equals; -1 when a logit is NaN or infinite.
int32_t Argmax(absl::Span<const float> logits) {
  int32_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) return -1;
    if (logits[i] > logits[static_cast<size_t>(best)]) best = static_cast<int32_t>(i);
  }
  return best;
}

// Unnormalised probabilities at a temperature: exp((logit - greatest) / temperature).
class Weights {
 public:
  Weights(absl::Span<const float> logits, float greatest, float temperature)
      : logits_(logits), greatest_(greatest), temperature_(temperature) {}
  double operator()(int32_t id) const {
    return std::exp((static_cast<double>(logits_[static_cast<size_t>(id)]) - greatest_) / temperature_);
  }

 private:
  const absl::Span<const float> logits_;
  const double greatest_, temperature_;
};

// Ids that top-k and top-p leave, rising.
std::vector<int32_t> KeptIds(absl::Span<const float> logits, const SamplingParams& params,
                             const Weights& weight) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  if (params.top_k > 0 && static_cast<size_t>(params.top_k) < ids.size()) {
    std::nth_element(ids.begin(), ids.begin() + params.top_k, ids.end(), before);
    ids.resize(static_cast<size_t>(params.top_k));
  }
  if (params.top_p < 1) {
    std::sort(ids.begin(), ids.end());  // the order of the sum below is part of the result
    double total = 0;
    for (int32_t id : ids) total += weight(id);
    const double wanted = static_cast<double>(params.top_p) * total;
    // A heap: usually few ids are taken.
    const auto after = [&](int32_t a, int32_t b) { return before(b, a); };
    std::make_heap(ids.begin(), ids.end(), after);
    auto end = ids.end();
    double sum = 0;
    while (end != ids.begin() && sum < wanted) {
      std::pop_heap(ids.begin(), end, after);
      --end;
      sum += weight(*end);
    }
    ids.erase(ids.begin(), end);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// Index of the first weight whose cumulative sum exceeds uniform x total.
size_t Invert(const std::vector<double>& weights, double total, double uniform) {
  const double target = uniform * total;
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    last = i;
    sum += weights[i];
    if (sum > target) break;
  }
  return last;
}

}  // namespace

absl::StatusOr<SampledToken> SampleToken(absl::Span<const float> logits, const SamplingParams& params,
                                         float uniform) {
  const int64_t vocab = static_cast<int64_t>(logits.size());
  const int32_t greatest = vocab > 0 ? Argmax(logits) : -1;
  if (greatest < 0)
    return absl::InternalError("the logits are not finite: the policy's weights are not usable");
  SampledToken out;
  if (params.temperature == 0) {
    out.token = greatest;
    out.raw_logprob = kernels::LogSoftmaxAt(logits.data(), vocab, out.token, 1.0f, nullptr);
    return out;
  }
  const Weights weight(logits, logits[static_cast<size_t>(greatest)], params.temperature);
  const bool filtered = (params.top_k > 0 && params.top_k < vocab) || params.top_p < 1;
  std::vector<int32_t> ids;
  if (filtered) ids = KeptIds(logits, params, weight);
  std::vector<double> weights(filtered ? ids.size() : logits.size());
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = weight(filtered ? ids[i] : static_cast<int32_t>(i));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const size_t chosen = Invert(weights, total, uniform);
  out.token = filtered ? ids[chosen] : static_cast<int32_t>(chosen);
  out.raw_logprob = kernels::LogSoftmaxAt(logits.data(), vocab, out.token, 1.0f, nullptr);
  out.processed_logprob =
      filtered ? static_cast<float>(std::log(weights[chosen]) - std::log(total))
               : kernels::LogSoftmaxAt(logits.data(), vocab, out.token, params.temperature, nullptr);
  return out;
}

}  // namespace sluice
