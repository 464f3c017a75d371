// What becomes of groups and samples as completions and verdicts arrive or fail to.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "coordinator/scheduler_step.h"

namespace sluice {
namespace {

// A worker that died under a sample more often than this, per allowed attempt, is likely killed by it.
constexpr int32_t kLossesPerAttempt = 4;
constexpr size_t kMaxErrorBytes = 200;

bool IsTransport(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsFailedPrecondition(status) || absl::IsCancelled(status) || absl::IsAborted(status);
}

// What a worker says, as one short line.
std::string Brief(absl::string_view message) {
  std::string out(message.substr(0, kMaxErrorBytes));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, ' ');
  return out;
}

std::string WithDetail(const char* reason, const std::string& detail) {
  return detail.empty() ? reason : absl::StrCat(reason, ": ", detail);
}

}  // namespace

void SchedulerStep::LoseWorker(std::map<std::string, WorkerState>& workers, const std::string& name,
                               TryFailure why) {
  if (workers.count(name) == 0) return;
  std::vector<uint64_t> attempts, calls;
  if (&workers == &s_.rollout) {
    for (const auto& [id, attempt] : s_.attempts) {
      if (attempt.worker == name) attempts.push_back(id);
    }
  } else {
    for (const auto& [id, call] : s_.score_calls) {
      if (call.worker == name) calls.push_back(id);
    }
  }
  for (uint64_t id : attempts) {
    Do(CancelGenerate{id});
    EndAttempt(id, why, absl::StrCat(name, " was lost"));
  }
  for (uint64_t id : calls) RequeueScores(id, false);
}

void SchedulerStep::On(const PolicyLoaded& e) {
  auto it = s_.rollout.find(e.worker);
  if (it == s_.rollout.end() || it->second.epoch != e.epoch || it->second.loading != e.version) return;
  WorkerState& worker = it->second;
  worker.loading = kNoPolicyVersion;
  const std::string source = std::exchange(worker.source, "");
  worker.only_learner = !e.status.ok() && !source.empty();
  if (e.status.ok()) {
    worker.version = std::max(worker.version, e.version);
    worker.backoff = absl::ZeroDuration();
    return;
  }
  if (auto giver = s_.rollout.find(source); giver != s_.rollout.end() && absl::IsUnimplemented(e.status)) {
    giver->second.gives = false;
  }
  if (worker.backoff == absl::ZeroDuration() && !ended()) {
    Do(Note{absl::StrCat(e.worker, " could not load version ", e.version, ": ", e.status.message())});
  }
  Backoff(now_, worker.not_before, worker.backoff);
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
  auto worker = s_.rollout.find(it->second.worker);
  const bool tried_for_ever = s_.plan.deterministic && !it->second.indices.empty();
  if (worker != s_.rollout.end() && (IsTransport(e.status) || tried_for_ever)) {
    // It cannot work now. Without the job's policy it has to load it again.
    Backoff(now_, worker->second.not_before, worker->second.backoff);
    if (absl::IsFailedPrecondition(e.status)) worker->second.version = kNoPolicyVersion;
  }
  EndAttempt(e.attempt,
             absl::IsUnavailable(e.status) ? TryFailure::kLost
             : IsTransport(e.status)       ? TryFailure::kBusy
                                           : TryFailure::kError,
             e.status.ok() ? "the completion did not come" : Brief(e.status.message()));
}

void SchedulerStep::EndAttempt(uint64_t id, TryFailure failure, const std::string& error) {
  auto it = s_.attempts.find(id);
  if (it == s_.attempts.end()) return;
  const AttemptState attempt = it->second;
  s_.attempts.erase(it);
  auto worker = s_.rollout.find(attempt.worker);
  if (worker != s_.rollout.end() && worker->second.in_flight > 0) --worker->second.in_flight;
  GroupState& group = s_.groups.at(attempt.group);
  for (uint32_t index : attempt.indices) {
    SampleSlot& slot = group.samples[index];
    Retry({attempt.group, index}, slot, failure, error);
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
    return Lose(ref, LedgerColumn::kQuarantined, WithDetail("could not be generated", error));
  slot.status = SampleStatus::kPending;
  if (tried_enough() && !before) NoteRetried(ref, error);
}

// False after the last try.
bool SchedulerStep::JudgeAgain(const SampleRef& ref, SampleSlot& slot, const std::string& error) {
  if (++slot.judge_failures >= s_.plan.max_attempts && !s_.plan.deterministic) return false;
  slot.status = SampleStatus::kGenerated;
  s_.to_score.push_back(ref);
  if (slot.judge_failures == s_.plan.max_attempts) NoteRetried(ref, error);
  return true;
}

// Of a deterministic job, which tries without limit: said once.
void SchedulerStep::NoteRetried(const SampleRef& ref, const std::string& error) {
  Do(Note{absl::StrCat(ref.group.evaluation ? "evaluation prompt " : "draw ", ref.group.draw, ", sample ",
                       ref.index, " fails again and again and is tried on: ", error)});
}

void SchedulerStep::Lose(const SampleRef& ref, LedgerColumn column, const std::string& reason) {
  GroupState& group = s_.groups.at(ref.group);
  group.samples[ref.index].status = SampleStatus::kGone;
  group.lost[ref.index] = LostSample{column, reason};
}

// With the group's end, so that after a restart a group is either whole or begun anew.
void SchedulerStep::SettleLost(const GroupKey& key, GroupState& group) {
  for (const auto& [index, lost] : std::exchange(group.lost, {})) {
    if (!key.evaluation) Do(SettleSample{{key, index}, lost.column, lost.reason});
  }
}

void SchedulerStep::RequeueScores(uint64_t id, bool blame_checker) {
  auto it = s_.score_calls.find(id);
  if (it == s_.score_calls.end()) return;
  const ScoreCallState call = it->second;
  s_.score_calls.erase(it);
  auto worker = s_.reward.find(call.worker);
  if (worker != s_.reward.end() && worker->second.in_flight > 0) --worker->second.in_flight;
  for (const SampleRef& ref : call.items) {
    auto group = s_.groups.find(ref.group);
    if (group == s_.groups.end()) continue;
    SampleSlot& slot = group->second.samples[ref.index];
    if (slot.status != SampleStatus::kScoring) continue;
    if (!blame_checker) {
      slot.status = SampleStatus::kGenerated;
      s_.to_score.push_back(ref);
    } else if (!JudgeAgain(ref, slot, "the reward service does not judge it")) {
      Lose(ref, LedgerColumn::kQuarantined, "could not be judged");
      SampleChanged(ref.group);
    }
  }
}

void SchedulerStep::On(const ScoreEnded& e) {
  auto it = s_.score_calls.find(e.call);
  if (it == s_.score_calls.end()) return;
  auto worker = s_.reward.find(it->second.worker);
  if (absl::IsInvalidArgument(e.status) || absl::IsFailedPrecondition(e.status)) {
    return End(JobEnd::kFailed, absl::StrCat("the reward service refuses the job: ", e.status.message()));
  }
  if (!e.status.ok() || e.verdicts.size() != it->second.items.size()) {
    if (worker != s_.reward.end()) Backoff(now_, worker->second.not_before, worker->second.backoff);
    return RequeueScores(e.call, !absl::IsUnavailable(e.status));
  }
  const ScoreCallState call = it->second;
  s_.score_calls.erase(it);
  const bool refused = std::any_of(e.verdicts.begin(), e.verdicts.end(), [](const Judged& judged) {
    return judged.judgement == Judgement::kInfrastructure;
  });
  if (worker != s_.reward.end()) {
    if (worker->second.in_flight > 0) --worker->second.in_flight;
    if (!refused) worker->second.backoff = absl::ZeroDuration();
    // Tried without limit, hence not at once.
    if (refused && s_.plan.deterministic) Backoff(now_, worker->second.not_before, worker->second.backoff);
  }
  for (size_t i = 0; i < call.items.size(); ++i) {
    const SampleRef& ref = call.items[i];
    auto group = s_.groups.find(ref.group);
    if (group == s_.groups.end()) continue;  // dropped meanwhile
    SampleSlot& slot = group->second.samples[ref.index];
    if (slot.status != SampleStatus::kScoring) continue;
    const Judged& judged = e.verdicts[i];
    if (judged.judgement == Judgement::kReward) {
      slot.status = SampleStatus::kScored;
      slot.reward = judged.reward;
    } else if (judged.judgement == Judgement::kUndecided) {
      Lose(ref, LedgerColumn::kDroppedFailed, WithDetail("the checker cannot decide", judged.detail));
    } else if (!JudgeAgain(ref, slot, WithDetail("the checker failed", judged.detail))) {
      Lose(ref, LedgerColumn::kQuarantined, WithDetail("the checker failed", judged.detail));
    }
  }
  for (const auto& [ref, reward] : e.compared) {
    auto group = s_.groups.find(ref.group);
    if (group != s_.groups.end()) group->second.samples[ref.index].reward = reward;
  }
  // After all items, so that a group that is finished by one of them is finished once.
  for (const SampleRef& ref : call.items) SampleChanged(ref.group);
}

// Queues the group for judging when all its completions are there, finishes it when all are judged.
void SchedulerStep::SampleChanged(const GroupKey& key) {
  auto it = s_.groups.find(key);
  if (it == s_.groups.end() || it->second.ready) return;
  GroupState& group = it->second;
  bool generated = true, finished = true;
  for (const SampleSlot& slot : group.samples) {
    generated =
        generated && slot.status != SampleStatus::kPending && slot.status != SampleStatus::kGenerating;
    finished = finished && (slot.status == SampleStatus::kScored || slot.status == SampleStatus::kGone);
  }
  if (finished) return FinishGroup(key, group);
  if (!generated) return;
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    const SampleRef ref{key, i};
    if (group.samples[i].status != SampleStatus::kGenerated) continue;
    if (std::find(s_.to_score.begin(), s_.to_score.end(), ref) == s_.to_score.end())
      s_.to_score.push_back(ref);
  }
}

void SchedulerStep::FinishGroup(const GroupKey& key, GroupState& group) {
  // An attempt may go on only to say that it ended.
  std::vector<uint64_t> over;
  for (const auto& [id, attempt] : s_.attempts) {
    if (attempt.group == key) over.push_back(id);
  }
  for (uint64_t id : over) {
    auto worker = s_.rollout.find(s_.attempts.at(id).worker);
    if (worker != s_.rollout.end() && worker->second.in_flight > 0) --worker->second.in_flight;
    s_.attempts.erase(id);
  }
  if (key.evaluation) {
    Do(GroupComplete{key});
    s_.groups.erase(key);
    if (s_.evaluation) ++s_.evaluation->done;
    return;
  }
  std::vector<double> rewards;
  for (const SampleSlot& slot : group.samples) {
    if (slot.status == SampleStatus::kScored) rewards.push_back(slot.reward);
  }
  if (rewards.size() < 2) return FinishWithoutRewards(key, group);
  const auto [low, high] = std::minmax_element(rewards.begin(), rewards.end());
  const bool may_filter =
      s_.plan.max_filtered_groups == 0 || s_.filtered_since_step < s_.plan.max_filtered_groups;
  if (s_.plan.filter_ties && may_filter && *low == *high) {
    ++s_.filtered_since_step;
    return Drop(key, LedgerColumn::kDroppedFiltered, "all rewards tie");
  }
  group.ready = true;
  s_.drops_in_a_row = 0;
  SettleLost(key, group);
  Do(GroupComplete{key});
}

// It is dropped. In a deterministic job it stays in its batch with no samples to train on.
void SchedulerStep::FinishWithoutRewards(const GroupKey& key, GroupState& group) {
  const std::string reason = WithDetail("fewer than two samples have a reward",
                                        group.lost.empty() ? "" : group.lost.begin()->second.reason);
  if (!s_.plan.deterministic) return Drop(key, LedgerColumn::kDroppedFailed, reason);
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    if (group.samples[i].status == SampleStatus::kScored)
      Lose({key, i}, LedgerColumn::kDroppedFailed, reason);
  }
  group.ready = true;
  SettleLost(key, group);
  Do(GroupComplete{key});
  CountDrop(LedgerColumn::kDroppedFailed, reason);
}

void SchedulerStep::Drop(const GroupKey& key, LedgerColumn column, const std::string& reason) {
  std::vector<uint64_t> attempts;
  for (const auto& [id, attempt] : s_.attempts) {
    if (attempt.group == key) attempts.push_back(id);
  }
  for (uint64_t id : attempts) {
    Do(CancelGenerate{id});
    auto worker = s_.rollout.find(s_.attempts.at(id).worker);
    if (worker != s_.rollout.end() && worker->second.in_flight > 0) --worker->second.in_flight;
    s_.attempts.erase(id);
  }
  std::erase_if(s_.to_score, [&](const SampleRef& ref) { return ref.group == key; });
  SettleLost(key, s_.groups.at(key));
  s_.groups.erase(key);
  Do(DropGroup{key.draw, column, reason});
  CountDrop(column, reason);
}

void SchedulerStep::CountDrop(LedgerColumn column, const std::string& reason) {
  if (column != LedgerColumn::kDroppedFailed && column != LedgerColumn::kDroppedFiltered) return;
  ++s_.drops_in_a_row;
  ++s_.drops_since_step;
  s_.last_drop = reason;
  if (ended() || s_.paused || s_.drops_in_a_row < DropsToPause(s_.plan)) return;
  s_.paused = true;
  s_.error = absl::StrCat("paused: the last ", s_.drops_in_a_row,
                          " groups had no reward to learn from; last reason: ", reason,
                          "; look at the reward and the prompts, `sluice resume` goes on");
  Do(SaveState{});
  Do(Note{s_.error});
}

// Calls are given a little longer than their deadline to say so themselves.
void SchedulerStep::ExpireCalls() {
  const absl::Duration grace = absl::Seconds(2);
  std::vector<uint64_t> attempts, calls;
  for (const auto& [id, attempt] : s_.attempts) {
    if (now_ > attempt.deadline + grace) attempts.push_back(id);
  }
  for (const auto& [id, call] : s_.score_calls) {
    if (now_ > call.deadline + grace) calls.push_back(id);
  }
  for (uint64_t id : attempts) {
    if (s_.attempts.count(id) == 0) continue;
    Do(CancelGenerate{id});
    EndAttempt(id, TryFailure::kError, "its deadline passed");
  }
  for (uint64_t id : calls) RequeueScores(id, true);
  for (auto& [name, worker] : s_.rollout) {
    if (worker.loading == kNoPolicyVersion || now_ <= worker.load_deadline + grace) continue;
    On(PolicyLoaded{name, worker.epoch, worker.loading, absl::DeadlineExceededError("no answer")});
  }
}

}  // namespace sluice
