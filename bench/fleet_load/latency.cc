#include "bench/fleet_load/latency.h"

#include <algorithm>
#include <cmath>

namespace sluice::bench {
namespace {

constexpr double kLeast = 1e-6, kGrowth = 1.02;  // seconds
constexpr size_t kBuckets = 1200;                // up to about 20,000 s

}  // namespace

void LatencyRecord::Add(absl::Duration took) {
  const double seconds = std::max(absl::ToDoubleSeconds(took), kLeast);
  const auto bucket = static_cast<size_t>(std::log(seconds / kLeast) / std::log(kGrowth));
  absl::MutexLock lock(&mu_);
  buckets_.resize(kBuckets);
  ++buckets_[std::min(bucket, kBuckets - 1)];
  ++count_;
  max_ = std::max(max_, took);
}

absl::Duration LatencyRecord::Quantile(double share) const {
  absl::MutexLock lock(&mu_);
  const auto wanted = static_cast<int64_t>(std::ceil(share * static_cast<double>(count_)));
  int64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (count_ > 0 && seen >= wanted)
      return std::min(max_, absl::Seconds(kLeast * std::pow(kGrowth, static_cast<double>(i + 1))));
  }
  return absl::ZeroDuration();
}

absl::Duration LatencyRecord::max() const {
  absl::MutexLock lock(&mu_);
  return max_;
}

int64_t LatencyRecord::count() const {
  absl::MutexLock lock(&mu_);
  return count_;
}

}  // namespace sluice::bench
