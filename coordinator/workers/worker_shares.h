// Who works for whom: shares the rollout workers of a fleet among the jobs that run. Pure and deterministic
// but for what it remembers of before; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"

namespace sluice {

// What a job that runs asks for. `order`: of those of one priority the lowest goes first.
struct ShareClaim {
  JobId job;
  ShareSpec share;
  uint64_t order = 0;
  bool needs = true;  // false: keeps only what nobody else can use
  friend bool operator==(const ShareClaim&, const ShareClaim&) = default;
};

// Worker -> the job that it works for; empty: none.
using Assignment = std::map<std::string, JobId>;

// How many of `workers` each job is to have. First the minimum quotas, by priority; then one by one to the
// job that has the fewest for its weight, which doubles with each step of priority (up to kMostDoublings), so
// that jobs of one priority get the same and each has one worker before any has a second. Never more than the
// maximum quota. Between equals those that have more `held` keep them.
constexpr int32_t kMostDoublings = 10;
std::map<JobId, int64_t> ShareOut(const std::vector<ShareClaim>& claims, int64_t workers,
                                  const std::map<JobId, int64_t>& held);

// The assignment that gives each job what ShareOut says and moves the fewest workers. `now`: the workers that
// are alive and whom they work for.
Assignment Assign(const std::vector<ShareClaim>& claims, const Assignment& now);

// Assign, over time: workers that work for nobody are given out at once, and so is everything when the claims
// change; where only workers came or went, a worker that has a job keeps it until the change has lasted for
// `settle`.
class WorkerShares {
 public:
  explicit WorkerShares(absl::Duration settle) : settle_(settle) {}
  Assignment Update(const std::vector<ShareClaim>& claims, const Assignment& now, absl::Time time);
  // Workers wait to be moved: Update is to be called again.
  bool Unsettled() const { return unfair_since_.has_value(); }

 private:
  const absl::Duration settle_;
  std::vector<ShareClaim> claims_;          // that the workers were last given out by
  std::optional<absl::Time> unfair_since_;  // workers should move since then
};

}  // namespace sluice
