#include "services/cli/supervisor/restart_policy.h"

#include <algorithm>

namespace sluice::cli {

RestartPolicy::Decision RestartPolicy::Died(absl::Time now) {
  const bool quick = now - started_ < limits_.quick;
  quick_deaths_ = quick ? quick_deaths_ + 1 : 0;
  if (!quick) return {now, false};
  absl::Duration delay = limits_.first_delay;
  for (int i = 1; i < quick_deaths_ && delay < limits_.longest_delay; ++i) delay *= 2;
  return {now + std::min(delay, limits_.longest_delay), quick_deaths_ % limits_.alarm_after == 0};
}

}  // namespace sluice::cli
