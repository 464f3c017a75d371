// Durations in buckets that grow by 2 %, so that any number of them takes a fixed memory. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sluice::bench {

class LatencyRecord {
 public:
  void Add(absl::Duration took);
  // Of all so far; zero where there are none. `share` in [0, 1].
  absl::Duration Quantile(double share) const;
  absl::Duration max() const;
  int64_t count() const;

 private:
  mutable absl::Mutex mu_;
  std::vector<int64_t> buckets_ ABSL_GUARDED_BY(mu_);
  int64_t count_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Duration max_ ABSL_GUARDED_BY(mu_) = absl::ZeroDuration();
};

}  // namespace sluice::bench
