// What becomes of groups and samples as completions and verdicts arrive or fail to.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/scheduler/step.h"

namespace sluice {
namespace {

constexpr absl::Duration kAwayNoted = absl::Seconds(1);  // a shorter while goes without an event

// What is no fault of the samples: the service is gone, busy or late, or lacks what the job asks for.
bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) || absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status);
}

}  // namespace

// False after the last try.
bool SchedulerStep::JudgeAgain(const SampleRef& ref, SampleSlot& slot, const std::string& error) {
  if (++slot.judge_failures >= s_.plan.max_attempts && !s_.plan.deterministic) return false;
  QueueScore(ref, slot);
  if (slot.judge_failures == s_.plan.max_attempts) NoteRetried(ref, error);
  return true;
}

void SchedulerStep::QueueScore(const SampleRef& ref, SampleSlot& slot) {
  slot.status = SampleStatus::kGenerated;
  if (!std::exchange(slot.queued, true)) s_.to_score.push_back(ref);
}

// Of a deterministic job, which tries without limit: said once.
void SchedulerStep::NoteRetried(const SampleRef& ref, const std::string& error) {
  Do(Note{absl::StrCat(ref.group.evaluation ? "evaluation prompt " : "draw ", ref.group.draw, ", sample ",
                       ref.index, " fails again and again and is tried on: ", error)});
}

void SchedulerStep::Lose(const SampleRef& ref, LedgerColumn column, const std::string& reason,
                         int32_t tries) {
  GroupState& group = s_.groups.at(ref.group);
  group.samples[ref.index].status = SampleStatus::kGone;
  group.lost[ref.index] = LostSample{column, reason, tries};
}

// With the group's end, so that after a restart a group is either whole or begun anew.
void SchedulerStep::SettleLost(const GroupKey& key, GroupState& group) {
  for (const auto& [index, lost] : std::exchange(group.lost, {})) {
    if (!key.evaluation) Do(SettleSample{{key, index}, lost.column, lost.reason, lost.tries});
  }
}

void SchedulerStep::RequeueScores(uint64_t id, bool blame_checker) {
  auto it = s_.score_calls.find(id);
  if (it == s_.score_calls.end()) return;
  const ScoreCallState call = it->second;
  s_.score_calls.erase(it);
  EndCall(s_.reward, call.worker, id);
  for (const SampleRef& ref : call.items) {
    auto group = s_.groups.find(ref.group);
    if (group == s_.groups.end()) continue;
    SampleSlot& slot = group->second.samples[ref.index];
    if (slot.status != SampleStatus::kScoring) continue;
    if (!blame_checker) {
      QueueScore(ref, slot);
    } else if (!JudgeAgain(ref, slot, "the reward service does not judge it")) {
      Lose(ref, LedgerColumn::kQuarantined, "could not be judged", slot.judge_failures);
      SampleChanged(ref.group);
    }
  }
}

// It judges nothing now, whatever it is asked.
void SchedulerStep::GoesAway(const std::string& worker, const std::string& why) {
  Rest(s_.reward, worker);
  if (auto it = s_.reward.find(worker); it != s_.reward.end())
    it->second.away = why.empty() ? "no answer" : why;
}

void SchedulerStep::TakeHealth(const std::string& worker, const std::vector<Judged>& verdicts) {
  const auto it = s_.reward.find(worker);
  if (it == s_.reward.end() || verdicts.empty()) return;
  const auto has = [&](Judgement judgement) {
    return std::find_if(verdicts.begin(), verdicts.end(),
                        [=](const Judged& judged) { return judged.judgement == judgement; });
  };
  const auto unavailable = has(Judgement::kUnavailable);
  const bool judges =
      has(Judgement::kReward) != verdicts.end() || has(Judgement::kUndecided) != verdicts.end();
  if (judges) it->second.away.clear();
  if (unavailable != verdicts.end()) {
    if (!judges) return GoesAway(worker, unavailable->detail);
    return Rest(s_.reward, worker);
  }
  if (has(Judgement::kInfrastructure) == verdicts.end()) {
    it->second.backoff = absl::ZeroDuration();
  } else if (s_.plan.deterministic) {
    Rest(s_.reward, worker);  // tried without limit, hence not at once
  }
}

// Says when nobody judges any more, and when somebody does again.
void SchedulerStep::WatchReward() {
  RewardAway& away = s_.reward_away;
  if (away.why.empty() && s_.index.reward.resting().empty()) return;
  std::string why;
  const bool asked = !s_.to_score.empty() || !s_.score_calls.empty();
  for (auto& [name, worker] : s_.reward) {
    if (!asked) worker.away.clear();  // else nobody would find out that it is back
    if (!worker.alive) continue;
    if (worker.away.empty()) {
      why.clear();
      break;
    }
    if (why.empty()) why = absl::StrCat(name, " does not judge: ", worker.away);
  }
  if (why.empty()) {
    if (std::exchange(away, {}).noted) Do(Note{"the reward is judged again"});
    return;
  }
  if (away.why.empty()) away.since = now_;
  away.why = std::move(why);
  if (away.noted || now_ < away.since + kAwayNoted) return;
  away.noted = true;
  Do(Note{absl::StrCat(away.why, "; nothing new is drawn until it does, which is tried again and again")});
}

void SchedulerStep::On(const ScoreEnded& e) {
  auto it = s_.score_calls.find(e.call);
  if (it == s_.score_calls.end()) return;
  if (!e.status.ok() || e.verdicts.size() != it->second.items.size()) {
    const bool away = IsAway(e.status);
    if (away) {
      GoesAway(it->second.worker, std::string(e.status.message()));
    } else {
      Rest(s_.reward, it->second.worker);
    }
    return RequeueScores(e.call, !away);
  }
  const ScoreCallState call = it->second;
  s_.score_calls.erase(it);
  EndCall(s_.reward, call.worker, e.call);
  TakeHealth(call.worker, e.verdicts);
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
    } else if (judged.judgement == Judgement::kUnavailable) {
      QueueScore(ref, slot);
    } else if (judged.judgement == Judgement::kUndecided) {
      Lose(ref, LedgerColumn::kDroppedFailed, WithDetail("the checker cannot decide", judged.detail));
    } else if (!JudgeAgain(ref, slot, WithDetail("the checker failed", judged.detail))) {
      Lose(ref, LedgerColumn::kQuarantined, WithDetail("the checker failed", judged.detail),
           slot.judge_failures);
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
  Place(key, group);
  bool generated = true, finished = true;
  for (const SampleSlot& slot : group.samples) {
    generated =
        generated && slot.status != SampleStatus::kPending && slot.status != SampleStatus::kGenerating;
    finished = finished && (slot.status == SampleStatus::kScored || slot.status == SampleStatus::kGone);
  }
  if (finished) return FinishGroup(key, group);
  if (!generated) return;
  for (uint32_t i = 0; i < group.samples.size(); ++i) {
    if (group.samples[i].status == SampleStatus::kGenerated) QueueScore({key, i}, group.samples[i]);
  }
}

void SchedulerStep::FinishGroup(const GroupKey& key, GroupState& group) {
  // An attempt may go on only to say that it ended.
  for (uint64_t id : std::vector<uint64_t>(group.running)) {
    const bool done = s_.attempts.at(id).indices.empty();
    RemoveAttempt(id, done ? AttemptOutcome::kDone : AttemptOutcome::kCancelled);
  }
  if (key.evaluation) {
    Do(GroupComplete{key});
    EraseGroup(key);
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
  s_.drops_in_a_row = 0;
  Complete(key, group);
}

void SchedulerStep::Complete(const GroupKey& key, GroupState& group) {
  group.ready = true;
  Place(key, group);
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
  Complete(key, group);
  CountDrop(LedgerColumn::kDroppedFailed, reason);
}

void SchedulerStep::Drop(const GroupKey& key, LedgerColumn column, const std::string& reason) {
  GroupState& group = s_.groups.at(key);
  CancelAttempts(group);
  SettleLost(key, group);
  EraseGroup(key);
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

}  // namespace sluice
