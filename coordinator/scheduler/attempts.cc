// Attempts: which worker tries which samples, and how that ends.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {
namespace {

// A worker that died under a sample more often than this, per allowed attempt, is likely killed by it.
constexpr int32_t kLossesPerAttempt = 4;
constexpr size_t kMaxErrorBytes = 200;

bool IsTransport(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsFailedPrecondition(status) || absl::IsCancelled(status) || absl::IsAborted(status);
}

AttemptOutcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return AttemptOutcome::kDone;
  if (absl::IsUnavailable(status)) return AttemptOutcome::kLost;
  return absl::IsCancelled(status) ? AttemptOutcome::kCancelled : AttemptOutcome::kFailed;
}

// What a worker says, as one short line.
std::string Brief(absl::string_view message) {
  std::string out(message.substr(0, kMaxErrorBytes));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, ' ');
  return out;
}

}  // namespace

VersionRange AllowedVersions(const SchedulerState& s, const GroupKey& key) {
  if (key.evaluation) return {s.evaluation->version, s.evaluation->version};
  if (s.plan.deterministic) return {SampledAt(s, key.draw), SampledAt(s, key.draw)};
  return {s.groups.at(key).train_by - s.plan.max_versions, s.version};
}

const std::string* SchedulerStep::PickRollout(const VersionRange& versions, const std::string& except) const {
  const WorkerIndex& index = s_.index.rollout;
  return index.LeastLoaded(std::max<PolicyVersion>(0, versions.min), versions.max,
                           index.called() < s_.plan.groups_in_flight, except);
}

// Who may take the group now; null: nobody. Not at a version that is on trial, but for the trial itself.
const std::string* SchedulerStep::PickFor(const GroupKey& key, const std::string& except) const {
  if (key.evaluation && s_.evaluation->canary) return s_.canary.worker == except ? nullptr : FreeCanary();
  VersionRange versions = AllowedVersions(s_, key);
  versions.max = std::min(versions.max, TrustedVersion(s_));
  return PickRollout(versions, except);
}

// False: no worker may take it now.
bool SchedulerStep::StartAttempt(const GroupKey& key) {
  if (s_.plan.replay && !BeginReplayed(key)) return true;
  const std::string* picked = PickFor(key);
  if (picked == nullptr) return false;
  GroupState& group = s_.groups.at(key);
  std::set<uint32_t> pending;
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    if (group.samples[i].status == SampleStatus::kPending) pending.insert(i);
  }
  StartAttempt(key, group, *picked, std::move(pending));
  return true;
}

void SchedulerStep::StartAttempt(const GroupKey& key, GroupState& group, const std::string& worker,
                                 std::set<uint32_t> indices) {
  StartGenerate start;
  start.attempt = s_.next_id++;
  start.worker = worker;
  start.group = key;
  start.indices.assign(indices.begin(), indices.end());
  start.number = group.attempts++;
  start.deadline = now_ + s_.plan.generate_timeout;
  for (uint32_t index : indices) group.samples[index].status = SampleStatus::kGenerating;
  s_.attempts[start.attempt] = AttemptState{.group = key,
                                            .indices = std::move(indices),
                                            .worker = start.worker,
                                            .started = now_,
                                            .deadline = start.deadline,
                                            .hedge = !group.running.empty()};
  group.running.push_back(start.attempt);
  Place(key, group);
  BeginCall(s_.rollout, start.worker, start.attempt);
  Do(std::move(start));
}

// The attempt is under way. What becomes of its samples is up to the caller.
AttemptState SchedulerStep::RemoveAttempt(uint64_t id, AttemptOutcome outcome) {
  AttemptState attempt = std::move(s_.attempts.extract(id).mapped());
  EndCall(s_.rollout, attempt.worker, id);
  std::erase(s_.groups.at(attempt.group).running, id);
  Do(AttemptOver{id, outcome});
  return attempt;
}

void SchedulerStep::CancelAttempts(const GroupState& group) {
  for (uint64_t id : std::vector<uint64_t>(group.running)) {
    Do(CancelGenerate{id});
    RemoveAttempt(id, AttemptOutcome::kCancelled);
  }
}

void SchedulerStep::EndAttempt(uint64_t id, AttemptOutcome outcome, TryFailure failure,
                               const std::string& error) {
  const AttemptState attempt = RemoveAttempt(id, outcome);
  GroupState& group = s_.groups.at(attempt.group);
  for (uint32_t index : attempt.indices) {
    if (!ComesFromAnother(group, index)) Retry({attempt.group, index}, group.samples[index], failure, error);
  }
  SampleChanged(attempt.group);
}

void SchedulerStep::Retry(const SampleRef& ref, SampleSlot& slot, TryFailure failure,
                          const std::string& error) {
  const auto tried_enough = [&] {
    return slot.failures >= s_.plan.max_attempts || slot.losses >= s_.plan.max_attempts * kLossesPerAttempt;
  };
  const bool before = tried_enough();
  slot.failures += failure == TryFailure::kError;
  slot.losses += failure == TryFailure::kLost;
  if (tried_enough() && !s_.plan.deterministic)
    return Lose(ref, LedgerColumn::kQuarantined, WithDetail("could not be generated", error),
                slot.failures + slot.losses);
  slot.status = SampleStatus::kPending;
  if (tried_enough() && !before) NoteRetried(ref, error);
}

void SchedulerStep::On(const SampleArrived& e) {
  auto it = s_.attempts.find(e.attempt);
  if (it == s_.attempts.end() || it->second.indices.count(e.index) == 0) return;  // late or sent twice
  const GroupKey key = it->second.group;
  GroupState& group = s_.groups.at(key);
  // Sampled at an older version than the worker said, it would break the bound: the sample stays to come.
  const VersionRange allowed = AllowedVersions(s_, key);
  if (e.oldest < allowed.min || std::max(e.oldest, e.newest) > allowed.max) return;
  it->second.indices.erase(e.index);
  TakeFromOthers(key, group, e.attempt, e.index);
  group.oldest = group.oldest == kNoPolicyVersion ? e.oldest : std::min(group.oldest, e.oldest);
  group.samples[e.index].status = SampleStatus::kGenerated;
  if (auto worker = s_.rollout.find(it->second.worker); worker != s_.rollout.end()) {
    worker->second.backoff = absl::ZeroDuration();
  }
  SampleChanged(key);
}

void SchedulerStep::On(const GenerateEnded& e) {
  auto it = s_.attempts.find(e.attempt);
  if (it == s_.attempts.end()) return;
  const bool tried_for_ever = s_.plan.deterministic && !it->second.indices.empty();
  if (auto worker = s_.rollout.find(it->second.worker);
      worker != s_.rollout.end() && (IsTransport(e.status) || tried_for_ever)) {
    // Without the job's policy it has to load it again.
    if (absl::IsFailedPrecondition(e.status)) worker->second.version = kNoPolicyVersion;
    Rest(s_.rollout, worker->first);
  }
  EndAttempt(e.attempt, OutcomeOf(e.status),
             absl::IsUnavailable(e.status) ? TryFailure::kLost
             : IsTransport(e.status)       ? TryFailure::kBusy
                                           : TryFailure::kError,
             e.status.ok() ? "the completion did not come" : Brief(e.status.message()));
}

// Calls are given a little longer than their deadline to say so themselves.
void SchedulerStep::ExpireCalls() {
  const auto due = [this](const auto& calls) {
    std::vector<uint64_t> ids;
    for (auto it = calls.begin(); it != calls.end() && now_ > it->second.deadline + kGrace; ++it)
      ids.push_back(it->first);
    return ids;
  };
  for (uint64_t id : due(s_.attempts)) {
    if (s_.attempts.count(id) == 0) continue;
    Do(CancelGenerate{id});
    EndAttempt(id, AttemptOutcome::kLost, TryFailure::kError, "its deadline passed");
  }
  for (uint64_t id : due(s_.score_calls)) {
    GoesAway(s_.score_calls.at(id).worker, "no answer within timeout.score_seconds");
    RequeueScores(id, false);
  }
}

}  // namespace sluice
