// The trial of a new version on one worker, before the others load it.
#include "coordinator/scheduler/canary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {
namespace {

// A canary that has failed for longer gives way to another worker.
constexpr absl::Duration kPatience = absl::Seconds(1);

bool Rests(const WorkerState& worker) { return worker.not_before != absl::InfinitePast(); }

const CanaryRecord* BestOf(const std::vector<CanaryRecord>& records) {
  const CanaryRecord* best = nullptr;
  for (const CanaryRecord& record : records) {
    const bool better = best == nullptr || !(record.score <= best->score);
    const bool taken = record.verdict == CanaryVerdict::kTaken;
    if (std::isfinite(record.score) && (taken || better)) best = &record;
  }
  return best;
}

}  // namespace

const char* CanaryVerdictName(CanaryVerdict verdict) {
  switch (verdict) {
    case CanaryVerdict::kPassed:
      return "passed";
    case CanaryVerdict::kRefused:
      return "refused";
    case CanaryVerdict::kTaken:
      return "taken";
  }
  return "?";
}

std::optional<CanaryVerdict> CanaryVerdictOf(absl::string_view name) {
  for (auto verdict : {CanaryVerdict::kPassed, CanaryVerdict::kRefused, CanaryVerdict::kTaken}) {
    if (name == CanaryVerdictName(verdict)) return verdict;
  }
  return std::nullopt;
}

std::string WhyRefused(const CanarySpec& canary, const std::vector<CanaryRecord>& before,
                       PolicyVersion version, double score) {
  if (version == 0) return "";
  if (!std::isfinite(score)) return "no sample has a reward";
  if (canary.min_score && score < *canary.min_score) {
    return absl::StrCat("the score ", score, " is below evaluation.canary.min_score ", *canary.min_score);
  }
  const CanaryRecord* best = BestOf(before);
  if (best == nullptr || score >= best->score - canary.max_drop) return "";
  return absl::StrCat("the score ", score, " is more than evaluation.canary.max_drop ", canary.max_drop,
                      " below ", best->score, " of version ", best->version);
}

void RestoreCanary(const std::vector<CanaryRecord>& records, const std::vector<Fork>& forks,
                   SchedulerState& state) {
  state.canary = {};
  if (state.fork.version > 0) state.canary.settled = state.fork.version;
  for (const CanaryRecord& record : records) {
    if (IsLeftBehind(record.version, forks)) continue;
    state.canary.records.push_back(record);
    if (record.verdict == CanaryVerdict::kRefused) continue;
    state.canary.settled = std::max(state.canary.settled, record.version);
  }
}

bool OnTrial(const SchedulerState& s) {
  return s.plan.canary.on() && s.version >= 0 && s.canary.settled < s.version;
}

bool IsRefused(const SchedulerState& s) {
  return OnTrial(s) && !s.canary.records.empty() && s.canary.records.back().version == s.version;
}

PolicyVersion TrustedVersion(const SchedulerState& s) {
  return OnTrial(s) ? std::max<PolicyVersion>(0, s.version - 1) : s.version;
}

bool SchedulerStep::trying() const {
  return OnTrial(s_) && !IsRefused(s_) && !s_.rollback && !s_.canary.awaits_score;
}

// It has a place for one more group of the trial.
const std::string* SchedulerStep::FreeCanary() const {
  const auto it = s_.rollout.find(s_.canary.worker);
  if (it == s_.rollout.end()) return nullptr;
  const WorkerState& worker = it->second;
  const bool may_call = !worker.called || s_.index.rollout.called() < s_.plan.groups_in_flight;
  const bool room = static_cast<int32_t>(worker.calls.size()) < worker.slots;
  const bool free = worker.alive && worker.version == s_.version && !Rests(worker) && room && may_call;
  return free ? &it->first : nullptr;
}

// The first that can work, rather one that is not loading already. It stays until it is gone or fails again
// and again, as long as another can.
void SchedulerStep::ChooseCanary() {
  const auto current = s_.rollout.find(s_.canary.worker);
  const bool alive = current != s_.rollout.end() && current->second.alive;
  if (alive && (!Rests(current->second) || current->second.backoff <= kPatience)) return;
  const auto find = [this](bool loading) {
    return std::find_if(s_.rollout.begin(), s_.rollout.end(), [loading](const auto& w) {
      return w.second.alive && !Rests(w.second) && (loading || w.second.loading == kNoPolicyVersion);
    });
  };
  auto next = find(false);
  if (next == s_.rollout.end()) next = find(true);
  if (alive && next == s_.rollout.end()) return;
  RetireCanary();
  if (next == s_.rollout.end()) return;
  s_.canary.worker = next->first;
  next->second.canary = true;
  Place(s_.rollout, next->first);
  Do(Note{absl::StrCat("version ", s_.version, " is on trial on ", next->first)});
}

void SchedulerStep::RetireCanary() {
  const std::string name = std::exchange(s_.canary.worker, "");
  const auto worker = s_.rollout.find(name);
  if (worker == s_.rollout.end()) return;
  worker->second.canary = false;
  Place(s_.rollout, name);
}

void SchedulerStep::LoadCanary() {
  ChooseCanary();
  const auto it = s_.rollout.find(s_.canary.worker);
  if (it == s_.rollout.end()) return;
  const WorkerState& worker = it->second;
  const bool idle = worker.loading == kNoPolicyVersion && !Rests(worker);
  if (idle && worker.version < s_.version) LoadFromSomeone(it->first, s_.version);
}

void SchedulerStep::On(const CanaryScored& e) {
  if (ended() || e.version != s_.version || !std::exchange(s_.canary.awaits_score, false)) return;
  CanaryRecord record{.version = e.version, .score = e.score, .worker = s_.canary.worker};
  record.why = WhyRefused(s_.plan.canary, s_.canary.records, e.version, e.score);
  if (!record.why.empty()) record.verdict = CanaryVerdict::kRefused;
  RetireCanary();
  s_.canary.records.push_back(record);
  Do(RecordCanary{record});
  const std::string what = absl::StrCat("canary of version ", e.version, " on ", record.worker, ": ");
  if (!record.why.empty()) return Breached({e.version, what + record.why});
  s_.canary.settled = e.version;
  Do(Note{absl::StrCat(what, "passed with the score ", e.score)});
}

// By a person, who has resumed the job, perhaps while it waited for its turn.
void SchedulerStep::TakeRefused() {
  CanaryRecord& record = s_.canary.records.back();
  record.verdict = CanaryVerdict::kTaken;
  s_.canary.settled = record.version;
  Do(RecordCanary{record});
  Do(Note{absl::StrCat("version ", record.version, " is taken though its canary refused it")});
}

// The rollback's version has the weights of one that all workers had.
void SchedulerStep::CanaryRolledBack() {
  s_.canary.settled = s_.fork.version;
  std::erase_if(s_.canary.records, [&](const auto& record) { return record.version > s_.fork.parent; });
}

}  // namespace sluice
