// What a job does by its own signals: it pauses, goes back to an older version, promotes one.
#include "coordinator/scheduler/guard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "coordinator/scheduler/step.h"

namespace sluice {
namespace {

// One limit of a step: which metric breaks it, and in how many steps in a row.
struct StepLimit {
  const char* field;
  const char* metric;
  const char* side;
  std::optional<double> limit;
  int64_t steps;
};

std::vector<StepLimit> StepLimitsOf(const GuardSpec& limits) {
  std::optional<double> skipped;
  if (limits.max_skipped_nonfinite) skipped = 0;
  return {{"max_kl", "kl", "above", limits.max_kl, limits.steps},
          {"min_entropy", "entropy", "below", limits.min_entropy, limits.steps},
          {"max_entropy", "entropy", "above", limits.max_entropy, limits.steps},
          {"max_skipped_nonfinite", "skipped_nonfinite", "above", skipped,
           limits.max_skipped_nonfinite.value_or(0) + 1}};
}

// What is not a number is within no limit.
bool Holds(const StepLimit& limit, double value) {
  return limit.side[0] == 'a' ? value <= *limit.limit : value >= *limit.limit;
}

std::string Describe(const StepLimit& limit, double value, int64_t steps) {
  if (absl::string_view(limit.metric) == "skipped_nonfinite") {
    return absl::StrCat(steps, " steps in a row were skipped as not finite, more than guard.", limit.field,
                        " ", limit.steps - 1);
  }
  return absl::StrCat(limit.metric, " is ", value, ", ", limit.side, " guard.", limit.field, " ",
                      *limit.limit, steps > 1 ? absl::StrCat(", for ", steps, " steps in a row") : "");
}

// Null: none of them is a number.
const HeldOutScore* BestOf(const std::vector<HeldOutScore>& scores) {
  const HeldOutScore* best = nullptr;
  for (const HeldOutScore& score : scores) {
    if (std::isfinite(score.score) && (best == nullptr || score.score > best->score)) best = &score;
  }
  return best;
}

// Version 0 has no training reward to compare with: a score below its own is enough.
bool RewardRose(const HeldOutScore& score, const HeldOutScore& best) {
  if (!best.train_reward) return true;
  return score.train_reward && *score.train_reward > *best.train_reward;
}

}  // namespace

std::optional<Breach> JudgeMetrics(const GuardSpec& limits, PolicyVersion version,
                                   const std::map<std::string, double>& metrics, GuardState& state) {
  std::optional<Breach> breach;
  for (const StepLimit& limit : StepLimitsOf(limits)) {
    const auto value = metrics.find(limit.metric);
    if (!limit.limit || value == metrics.end()) continue;
    if (Holds(limit, value->second)) {
      state.broken.erase(limit.field);
      continue;
    }
    const int64_t steps = ++state.broken[limit.field];
    if (steps % limit.steps != 0 || breach) continue;
    breach = Breach{version - steps + 1,
                    absl::StrCat("step ", version, ": ", Describe(limit, value->second, steps))};
  }
  return breach;
}

std::optional<Breach> JudgeScore(const GuardSpec& limits, const HeldOutScore& score, PolicyVersion fork,
                                 GuardState& state) {
  std::optional<Breach> breach;
  const HeldOutScore* best = BestOf(state.held_out);
  const bool judged = limits.held_out_drop && best != nullptr && (fork == 0 || score.version > fork);
  if (judged && score.score < best->score - *limits.held_out_drop && RewardRose(score, *best)) {
    breach =
        Breach{std::max(state.held_out.back().version, fork) + 1,
               absl::StrCat("evaluation of version ", score.version, ": the score is ", score.score,
                            ", more than guard.held_out_drop ", *limits.held_out_drop, " below ", best->score,
                            " of version ", best->version, ", and the training reward rose")};
  }
  state.held_out.push_back(score);
  return breach;
}

GateDecision JudgeGate(const GateSpec& gate, const GuardState& state, PolicyVersion promoted) {
  if (!gate.on || state.held_out.empty()) return {false, "there is no gate, or no evaluation"};
  const HeldOutScore& last = state.held_out.back();
  if (!std::isfinite(last.score)) return {false, "no sample of its evaluation has a reward"};
  if (!state.broken.empty()) {
    return {false, absl::StrCat("the steps before it break guard.", state.broken.begin()->first)};
  }
  if (gate.min_score && !(last.score >= *gate.min_score)) {
    return {false,
            absl::StrCat("its score ", last.score, " is below evaluation.gate.min_score ", *gate.min_score)};
  }
  const auto before = std::find_if(state.held_out.begin(), state.held_out.end(),
                                   [&](const HeldOutScore& s) { return s.version == promoted; });
  if (before != state.held_out.end() && !(last.score >= before->score - gate.max_drop)) {
    return {false, absl::StrCat("its score ", last.score, " is more than evaluation.gate.max_drop ",
                                gate.max_drop, " below ", before->score, " of version ", promoted)};
  }
  return {true, ""};
}

PolicyVersion FirstJudged(const SchedulerState& state) {
  const GuardSpec& limits = state.plan.guard;
  const int64_t in_a_row = std::max<int64_t>(limits.steps, limits.max_skipped_nonfinite.value_or(0));
  if (!HasLimits(limits)) return state.version + 1;
  return std::max(state.fork.version, state.version - in_a_row) + 1;
}

bool IsLeftBehind(PolicyVersion version, const std::vector<Fork>& forks) {
  return std::any_of(forks.begin(), forks.end(),
                     [&](const Fork& fork) { return version > fork.parent && version < fork.version; });
}

void RestoreGuard(const GuardHistory& history, SchedulerState& state) {
  bool breached = false;  // by the last score
  for (const HeldOutScore& score : history.scores) {
    if (IsLeftBehind(score.version, history.forks)) continue;
    breached = JudgeScore(state.plan.guard, score, state.fork.version, state.guard).has_value();
  }
  for (const auto& [version, metrics] : history.steps) {
    (void)JudgeMetrics(state.plan.guard, version, metrics, state.guard);  // was acted on
  }
  const bool last = !state.guard.held_out.empty() && state.guard.held_out.back().version == state.version;
  if (!last || breached || state.rollback || state.promoted >= state.version) return;
  if (JudgeGate(state.plan.gate, state.guard, state.promoted).holds) state.promoting = state.version;
}

void SchedulerStep::JudgeStep(PolicyVersion version, const std::map<std::string, double>& metrics) {
  if (const auto breach = JudgeMetrics(s_.plan.guard, version, metrics, s_.guard)) Breached(*breach);
}

void SchedulerStep::On(const EvaluationScored& e) {
  if (ended() || s_.unjudged != e.score.version) return;
  s_.unjudged = kNoPolicyVersion;
  if (const auto breach = JudgeScore(s_.plan.guard, e.score, s_.fork.version, s_.guard)) {
    Breached(*breach);
    return;
  }
  if (!s_.plan.gate.on) return;
  const GateDecision decision = JudgeGate(s_.plan.gate, s_.guard, s_.promoted);
  if (decision.holds) {
    s_.promoting = e.score.version;
  } else {
    Do(Note{absl::StrCat("version ", e.score.version, " is not promoted: ", decision.why)});
  }
}

void SchedulerStep::Breached(const Breach& breach) {
  if (s_.plan.guard.action == GuardAction::kPause) return PauseByGuard(breach.what);
  if (s_.rollbacks >= s_.plan.guard.max_rollbacks) {
    return PauseByGuard(
        absl::StrCat(breach.what, "; guard.max_rollbacks ", s_.plan.guard.max_rollbacks, " are used up"));
  }
  BeginRollBack(breach);
}

void SchedulerStep::PauseByGuard(const std::string& why) {
  const bool refused = IsRefused(s_) && !s_.rollback;
  PauseFor(absl::StrCat("paused by the guard: ", why, "; `sluice resume` goes on",
                        refused ? absl::StrCat(" and takes version ", s_.version, " all the same") : ""));
}

void SchedulerStep::PauseFor(std::string why) {
  if (s_.paused && s_.error == why) return;
  s_.paused = true;
  s_.error = std::move(why);
  Do(SaveState{});
  Do(Note{s_.error});
}

// Recorded together with what becomes of the samples, so that after a restart either all of it is decided or
// none.
void SchedulerStep::BeginRollBack(const Breach& breach) {
  PolicyVersion parent =
      std::max(s_.fork.version, RegularCheckpointBefore(s_.plan.checkpoint, breach.first_bad));
  if (s_.promoted >= s_.fork.version && s_.promoted < breach.first_bad) parent = s_.promoted;
  GoBack(parent, breach.what, /*by_guard=*/true);
}

void SchedulerStep::GoBack(PolicyVersion parent, const std::string& why, bool by_guard) {
  Fork fork{.version = s_.version + 1, .parent = parent, .reason = why, .by_guard = by_guard};
  const std::string reason = absl::StrCat("version ", fork.version, " goes back to version ", fork.parent);
  Do(Note{absl::StrCat(why, "; ", reason)});
  GiveUpEvaluation();
  if (s_.plan.deterministic) {
    RollBackFixedDraws(reason);
  } else {
    RollBackGroups(reason);
  }
  fork.first_draw = s_.next_draw;
  s_.blocked_since = absl::InfiniteFuture();
  s_.batch.clear();
  ForgetAdded();
  s_.rollbacks += by_guard ? 1 : 0;
  s_.rollback = fork;
  Do(RecordRollBack{std::move(fork)});
}

// Of a version that is left before it was judged.
void SchedulerStep::GiveUpEvaluation() {
  for (const GroupKey& key : GroupKeys()) {
    if (!key.evaluation) continue;
    CancelAttempts(s_.groups.at(key));
    EraseGroup(key);
  }
  s_.evaluation.reset();
  s_.promoting = kNoPolicyVersion;
  RetireCanary();
}

std::vector<GroupKey> SchedulerStep::GroupKeys() const {
  std::vector<GroupKey> keys;
  for (const auto& [key, group] : s_.groups) keys.push_back(key);
  return keys;
}

void SchedulerStep::RollBackGroups(const std::string& reason) {
  for (const GroupKey& key : GroupKeys()) Drop(key, LedgerColumn::kRolledBack, reason);
}

// All draws that may have been issued by now, whether they were or not, and whatever became of them.
void SchedulerStep::RollBackFixedDraws(const std::string& reason) {
  const Draw first = FirstDrawOf(s_, s_.version);
  const Draw end = FirstDrawOf(s_, std::min(s_.version + s_.plan.max_versions + 1, s_.plan.stop_steps));
  while (s_.next_draw < end) {
    const Draw draw = s_.next_draw++;
    Do(IssueGroup{draw, BatchOf(s_, draw), s_.plan.group_size});
  }
  for (const GroupKey& key : GroupKeys()) {
    CancelAttempts(s_.groups.at(key));
    EraseGroup(key);
  }
  s_.to_score.clear();
  Do(RollBackDraws{first, reason});
}

void SchedulerStep::CallRollBack(const Fork& fork) {
  Call(LearnerOp::kRollBack, fork.version);
  std::get<StartLearner>(actions_.back()).parent = fork.parent;
}

void SchedulerStep::RolledBack(const PolicyRef& policy) {
  if (!s_.rollback) {  // again, after the learner's restart
    if (policy.version == s_.version) s_.policy = policy;
    return Do(Note{absl::StrCat("the learner went back to version ", s_.fork.parent, " again, as version ",
                                policy.version)});
  }
  s_.fork = *std::exchange(s_.rollback, std::nullopt);
  Do(CommitRollBack{policy, s_.fork});
  Advanced(policy);
  s_.checkpointed = policy.version;
  CanaryRolledBack();
  s_.guard.broken.clear();
  std::erase_if(s_.guard.held_out, [&](const auto& score) { return score.version > s_.fork.parent; });
  Do(Note{absl::StrCat("version ", policy.version, " is version ", s_.fork.parent, " again")});
}

}  // namespace sluice
