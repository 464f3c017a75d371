#include "learner/optimizer.h"

#include <algorithm>
#include <cmath>

#include "core/model/row_ranges.h"

namespace sluice {

int64_t SliceSize(int64_t total, int ranks) {
  constexpr int64_t kGrain = 16;
  const int64_t share = (total + ranks - 1) / ranks;
  return (share + kGrain - 1) / kGrain * kGrain;
}

void AdamwSlice::Update(const AdamwParams& params, absl::Span<const float> gradients, double scale,
                        ThreadPool* pool) {
  ++updates_;
  const float b1 = static_cast<float>(params.beta1), b2 = static_cast<float>(params.beta2);
  const double t = static_cast<double>(updates_);
  const float step = static_cast<float>(params.learning_rate / (1 - std::pow(params.beta1, t)));
  const float root = static_cast<float>(1 / std::sqrt(1 - std::pow(params.beta2, t)));
  const float keep = static_cast<float>(1 - params.learning_rate * params.weight_decay);
  const float epsilon = static_cast<float>(params.epsilon), factor = static_cast<float>(scale);
  float *masters = masters_.data(), *first = first_.data(), *second = second_.data();
  constexpr int64_t kFloats = 8;  // touched for each parameter, an estimate of its cost
  ForRowRanges(pool, static_cast<int64_t>(masters_.size()), kFloats, [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) {
      const float g = gradients[i] * factor;
      first[i] = b1 * first[i] + (1 - b1) * g;
      second[i] = b2 * second[i] + (1 - b2) * (g * g);
      masters[i] = masters[i] * keep - step * first[i] / (std::sqrt(second[i]) * root + epsilon);
    }
  });
}

void AdamwSlice::Reset() {
  std::fill(first_.begin(), first_.end(), 0.0f);
  std::fill(second_.begin(), second_.end(), 0.0f);
  updates_ = 0;
}

namespace {
constexpr double kPi = 3.14159265358979323846;

double Warmup(int64_t step, int64_t steps) {
  return step < steps ? static_cast<double>(step + 1) / static_cast<double>(steps) : 1.0;
}
// From 1 at `warmup` to `last` at `total`.
double Cosine(int64_t step, int64_t warmup, int64_t total, double last) {
  if (step < warmup) return 1;
  const double length = static_cast<double>(std::max<int64_t>(total - warmup, 1));
  const double progress = std::min(static_cast<double>(step - warmup) / length, 1.0);
  return last + (1 - last) * 0.5 * (1 + std::cos(kPi * progress));
}
}  // namespace

double LearningRate(const OptimizerSpec& spec, int64_t step, int64_t total_steps) {
  double rate = spec.learning_rate * Warmup(step, spec.warmup_steps);
  if (spec.schedule == ScheduleKind::kCosine) {
    rate *= Cosine(step, spec.warmup_steps, total_steps, spec.final_fraction);
  }
  return rate;
}

double WarmStartLearningRate(const WarmStartSpec& spec, int64_t step) {
  return spec.learning_rate * Warmup(step, spec.warmup_steps) *
         Cosine(step, spec.warmup_steps, spec.steps, 0);
}

}  // namespace sluice
