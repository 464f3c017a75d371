// What is still to come of one RolloutRequest, and whether what comes was asked for. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>

#include "absl/status/status.h"
#include "core/rl/rollout_worker.h"

namespace sluice {

class SampleDelivery {
 public:
  SampleDelivery() = default;
  explicit SampleDelivery(const RolloutRequest& request);

  // INTERNAL: this completion was not asked for, came before, has fewer tokens than were reported, is
  // unfinished although no progress was asked for, or is a part although it is finished or no parts were
  // asked for.
  absl::Status Take(const Trajectory& trajectory);
  // Completions that have not come finished.
  size_t missing() const { return missing_.size(); }

 private:
  Draw draw_ = 0;
  bool progress_ = false, parts_ = false;
  std::map<uint32_t, size_t> missing_;  // index -> tokens reported so far
};

}  // namespace sluice
