// The figures of a reward service, there from the start at 0. Thread-safe.
#pragma once

#include <array>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "core/rl/job_spec.h"
#include "core/rl/types.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/summary.h"

namespace sluice {

// "correct", "wrong", "graded", "undecided", "infrastructure".
const char* VerdictLabel(VerdictKind kind);

// Labels are of fixed sets: verdicts, the names of RewardComponent's oneof, the outcomes of types.proto,
// lanes.
//   sluice_reward_requests_total{verdict}           completions judged
//   sluice_reward_duration_seconds                  of one completion
//   sluice_reward_component_verdicts_total{scorer,verdict}
//   sluice_reward_component_value{scorer}           sum and count, of components with a value
//   sluice_sandbox_runs_total{outcome}              tests of programs
//   sluice_reward_queue_items{lane}                 pieces that wait to be judged
//   sluice_reward_admitted_items                    items of calls under way
//   sluice_reward_refused_calls_total               because the queue was full
class RewardMetrics {
 public:
  explicit RewardMetrics(prometheus::Registry& registry);

  void Count(const RewardSpec& spec, const Verdict& verdict);
  void CountRefusal() { refused_->Increment(); }
  void SetAdmitted(size_t items) { admitted_->Set(static_cast<double>(items)); }
  // Created at the first call with this lane; the caller names lanes from a fixed set.
  void SetWaiting(const std::string& lane, size_t pieces);

 private:
  static constexpr int kKinds = 6;
  struct Component {
    std::array<prometheus::Counter*, kKinds> verdicts{};
    prometheus::Summary* value = nullptr;
  };
  void CountComponent(const RewardComponentSpec& rule, const VerdictComponent& component);

  // All borrowed from the registry.
  std::array<prometheus::Counter*, kKinds> verdicts_{};
  prometheus::Histogram* seconds_;
  std::map<std::string, Component> components_;       // by scorer; not changed after construction
  std::map<std::string, prometheus::Counter*> runs_;  // by outcome; not changed after construction
  prometheus::Counter* refused_;
  prometheus::Gauge* admitted_;
  prometheus::Family<prometheus::Gauge>* waiting_;
};

}  // namespace sluice
