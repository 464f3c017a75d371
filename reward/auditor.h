// Judges a share of the verdicts a second time, more strictly, and says where the two disagree: mathematics
// without leniency of notation, programs once more in a fresh box. It changes no verdict.
#pragma once

#include <deque>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "core/rl/scorer.h"
#include "core/rl/types.h"
#include "prometheus/counter.h"
#include "prometheus/registry.h"
#include "reward/scorer_registry.h"

namespace sluice {

struct AuditorOptions {
  double share = 0.01;                         // of components that say CORRECT or WRONG, 0 to 1
  size_t max_waiting = 256;                    // more are dropped and counted
  absl::Duration timeout = absl::Seconds(60);  // of one
};

// Metric: sluice_reward_audits_total{scorer,result}, scorer "math" or "code", result agree, disagree,
// undecided (the second verdict is neither CORRECT nor WRONG) or dropped. One log line for each disagreement.
// Thread-safe.
class Auditor {
 public:
  // `second` makes the second scorers; components whose scorer it does not have are left alone.
  Auditor(ScorerRegistry second, const AuditorOptions& options, prometheus::Registry& metrics);
  // Drops what waits.
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  // May choose some of the verdict's components. Does not wait.
  void Observe(const RewardSpec& spec, const ScoreItem& item, const Verdict& verdict)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Until nothing waits.
  void Drain() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Case {
    ScorerSpec scorer;
    ScoreItem item;
    VerdictComponent first;
  };
  struct Counters {
    prometheus::Counter *agree, *disagree, *undecided, *dropped;
  };
  void Run();
  void Judge(const Case& one);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !waiting_.empty(); }
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return waiting_.empty() && !busy_; }

  const ScorerRegistry second_;
  const AuditorOptions options_;
  const CancelToken cancel_;
  std::map<std::string, Counters> counters_;  // by scorer; not changed after construction
  absl::Mutex mu_;
  std::deque<Case> waiting_ ABSL_GUARDED_BY(mu_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_){
      std::random_device{}()};  // what is chosen is not to be foreseen
  bool busy_ ABSL_GUARDED_BY(mu_) = false, stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace sluice
