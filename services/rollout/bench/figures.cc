#include "services/rollout/bench/figures.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

constexpr double kLeastShare = 0.5;

double PerSecond(double count, absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  return seconds > 0 ? count / seconds : 0;
}

}  // namespace

double DecodeWindow::rate() const { return share >= kLeastShare && seconds > 0 ? tokens / seconds : 0; }

DecodeWindow DecodeWindowOf(const LoadTimes& times, const LoadShape& shape) {
  const double prompts = static_cast<double>(shape.requests * shape.prompt_tokens);
  const double completions = static_cast<double>(shape.completions());
  const Reading* begin = nullptr;
  const Reading* end = nullptr;
  for (const Reading& reading : times.readings) {
    const bool decoding = reading.prompt_tokens >= prompts && reading.new_tokens >= completions;
    if (begin == nullptr && decoding) begin = &reading;
    if (begin != nullptr && reading.running >= completions) end = &reading;
  }
  const double all = completions * static_cast<double>(shape.new_tokens - 1);
  if (end == nullptr || all <= 0) return {};
  const double tokens = end->new_tokens - begin->new_tokens;
  return {tokens, absl::ToDoubleSeconds(end->at - begin->at), tokens / all};
}

double PrefillRate(const LoadTimes& times, const LoadShape& shape) {
  return PerSecond(static_cast<double>(shape.requests * shape.prompt_tokens), times.whole);
}

double EndToEndRate(const LoadTimes& times, const LoadShape& shape) {
  return PerSecond(static_cast<double>(shape.completions() * shape.new_tokens), times.whole);
}

double PeakBlocks(const LoadTimes& times) {
  double peak = 0;
  for (const Reading& reading : times.readings) peak = std::max(peak, reading.cache_blocks);
  return peak;
}

Latency LatencyOf(const LoadTimes& times) {
  std::vector<double> first, between;
  for (const std::vector<absl::Duration>& completion : times.token_times) {
    for (size_t i = 0; i < completion.size(); ++i) {
      const absl::Duration since = i == 0 ? absl::ZeroDuration() : completion[i - 1];
      (i == 0 ? first : between).push_back(absl::ToDoubleMilliseconds(completion[i] - since));
    }
  }
  return {Quantile(first, 0.5), Quantile(first, 1), Quantile(between, 0.5), Quantile(between, 0.95),
          Quantile(between, 0.99)};
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  return values[static_cast<size_t>(std::clamp(rank, 1.0, static_cast<double>(values.size()))) - 1];
}

Spread SpreadOf(absl::Span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  return {Quantile(sorted, 0.5), Quantile(sorted, 0), Quantile(sorted, 1)};
}

}  // namespace sluice::bench
