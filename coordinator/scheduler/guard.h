// Whether a job's own signals are within the limits of its spec, and whether a version's score lets it be
// promoted. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/scheduler/scheduler.h"

namespace sluice {

// A limit that was broken for as long as it takes.
struct Breach {
  PolicyVersion first_bad = 0;  // the first version that broke it
  std::string what;             // the signal, its value and the limit, for people
};

// Takes in the metrics of the step that made `version`; a metric that is not there breaks nothing. A
// limit that stays broken is reported again after as many steps more.
std::optional<Breach> JudgeMetrics(const GuardSpec& limits, PolicyVersion version,
                                   const std::map<std::string, double>& metrics, GuardState& state);

// Takes in the score of an evaluation. That of a rollback's version, `fork`, is not judged: it is its
// parent's.
std::optional<Breach> JudgeScore(const GuardSpec& limits, const HeldOutScore& score, PolicyVersion fork,
                                 GuardState& state);

// Whether the last score of `state` lets its version be promoted over `promoted` (kNoPolicyVersion: none);
// else why not.
struct GateDecision {
  bool holds = false;
  std::string why;
};
GateDecision JudgeGate(const GateSpec& gate, const GuardState& state, PolicyVersion promoted);

// What a restart needs to know again what the guard knew, and whether a promotion was decided and not done.
struct GuardHistory {
  std::map<PolicyVersion, std::map<std::string, double>> steps;  // metrics, from FirstJudged on
  std::vector<HeldOutScore> scores;                              // all
  std::vector<Fork> forks;                                       // all that are committed
};
PolicyVersion FirstJudged(const SchedulerState& state);
// `state` is restored otherwise.
void RestoreGuard(const GuardHistory& history, SchedulerState& state);

}  // namespace sluice
