// Completions whose verdicts are known, judged now and then by the running service: a checker that was
// broken, or fooled, shows in a metric within some hundred items and not in a policy after a week.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "core/base/cancellation.h"
#include "core/rl/job_spec.h"
#include "core/rl/scorer.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"

namespace sluice {

struct Canary {
  std::string name;  // in logs
  ScorerSpec scorer;
  ScoreItem item;
  VerdictKind expected = VerdictKind::kUnspecified;
};

// Right answers in odd clothes, wrong ones that graders are known to accept, and attempts to be paid for
// nothing.
std::vector<Canary> MathCanaries();
// Programs that pass, that fail, and that attack their tests. For services with a sandbox.
std::vector<Canary> CodeCanaries();

struct CanaryOptions {
  int64_t every_items = 500;                   // between runs; 0: only those asked for by Run
  absl::Duration timeout = absl::Seconds(60);  // of one canary
};

// Judges all canaries at the first run, then at each run all of mathematics and one program, in turn.
// Metrics:
//   sluice_reward_canary_total{result}            pass, fail, unavailable (the checker could not be asked)
//   sluice_reward_canary_failing                  canaries whose last verdict was not the known one
//   sluice_reward_canary_last_failure_seconds     Unix time; 0: never
// One log line when a canary's verdict is not what it was before. Thread-safe.
class CanaryProbe {
 public:
  using Judge = std::function<absl::StatusOr<std::vector<Verdict>>(
      const RewardSpec&, absl::Span<const ScoreItem>, absl::Time deadline, const CancelToken&)>;

  // `judge` is called on a thread of its own and outlives the probe. The first run begins at once, unless
  // every_items is 0.
  CanaryProbe(std::vector<Canary> canaries, const CanaryOptions& options, Judge judge,
              prometheus::Registry& metrics);
  // Cancels a run that is under way.
  ~CanaryProbe();
  CanaryProbe(const CanaryProbe&) = delete;
  CanaryProbe& operator=(const CanaryProbe&) = delete;

  // Items judged; every so many begin a run, if none is under way.
  void CountItem() ABSL_LOCKS_EXCLUDED(mu_);
  // A run on this thread: of all canaries.
  void Run();

 private:
  void Watch();
  void RunSome(const std::vector<size_t>& which) ABSL_LOCKS_EXCLUDED(mu_);
  std::vector<size_t> NextOnes() ABSL_LOCKS_EXCLUDED(mu_);
  void Record(const Canary& canary, const Verdict& verdict) ABSL_LOCKS_EXCLUDED(mu_);
  bool Due() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || due_; }

  const std::vector<Canary> canaries_;
  const CanaryOptions options_;
  const Judge judge_;
  const CancelToken cancel_;
  prometheus::Counter *pass_, *fail_, *unavailable_;  // borrowed from the registry, as the gauges
  prometheus::Gauge *failing_, *last_failure_;
  absl::Mutex mu_;
  int64_t items_ ABSL_GUARDED_BY(mu_) = 0;
  bool due_ ABSL_GUARDED_BY(mu_) = false, stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool first_ ABSL_GUARDED_BY(mu_) = true;
  size_t next_program_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, VerdictKind> last_ ABSL_GUARDED_BY(mu_);  // by canary
  std::thread watcher_;
};

}  // namespace sluice
