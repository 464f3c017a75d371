// When a process that died is started again: at once when it lived, with exponential backoff while it dies
// quickly. Pure; not thread-safe.
#pragma once

#include "absl/time/time.h"

namespace sluice::cli {

struct RestartLimits {
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration longest_delay = absl::Seconds(10);
  absl::Duration quick = absl::Seconds(10);  // a life shorter than this is a quick death
  int alarm_after = 5;                       // quick deaths in a row
};

class RestartPolicy {
 public:
  struct Decision {
    absl::Time start_at;
    bool alarm = false;  // it died quickly for the alarm_after-th time in a row, or a multiple of that
  };

  explicit RestartPolicy(const RestartLimits& limits = {}) : limits_(limits) {}
  void Started(absl::Time now) { started_ = now; }
  Decision Died(absl::Time now);
  int quick_deaths() const { return quick_deaths_; }

 private:
  RestartLimits limits_;
  absl::Time started_ = absl::InfinitePast();
  int quick_deaths_ = 0;
};

}  // namespace sluice::cli
