// The policies that a receiver took over, kept on its disk: what it fetched last is the base of what it
// fetches next, is there again after a restart, and can be given on to others. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/rl/types.h"
#include "core/rl/weight_channel.h"
#include "core/weights/fetch_policy.h"
#include "core/weights/policy_store.h"

namespace sluice {

class PolicyCache {
 public:
  // Versions kept of a job: those who are a version behind can still be given a patch.
  static constexpr size_t kVersions = 2;

  static absl::StatusOr<std::unique_ptr<PolicyCache>> Open(const std::string& root,
                                                           Clock& clock = Clock::Real());

  // The policy, checked as FetchPolicy does: from the cache when it is there whole; else through `source`,
  // with the newest older version kept as the base.
  absl::StatusOr<FetchedPolicy> Fetch(WeightChannel& source, const PolicyRef& policy, absl::Time deadline,
                                      const FetchLimits& limits = FetchLimits());
  // Keeps what was fetched, and of its job only the newest versions; of other jobs nothing.
  absl::Status Keep(const FetchedPolicy& policy);

  // What is kept, for others.
  WeightChannel& channel() { return *store_; }

 private:
  PolicyCache(std::string root, Clock& clock, std::unique_ptr<PolicyStore> store)
      : root_(std::move(root)), clock_(clock), store_(std::move(store)) {}
  absl::Status RemoveOtherJobs(const JobId& job);

  const std::string root_;
  Clock& clock_;
  const std::unique_ptr<PolicyStore> store_;
};

}  // namespace sluice
