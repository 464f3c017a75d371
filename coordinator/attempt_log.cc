#include "coordinator/attempt_log.h"

#include <variant>

namespace sluice {
namespace {

AttemptOutcome OutcomeOf(const absl::Status& status) {
  if (status.ok()) return AttemptOutcome::kDone;
  if (absl::IsUnavailable(status)) return AttemptOutcome::kLost;
  return absl::IsCancelled(status) ? AttemptOutcome::kCancelled : AttemptOutcome::kFailed;
}

AttemptOutcome OutcomeOf(uint64_t attempt, absl::Time deadline, const Event& event) {
  if (const auto* ended = std::get_if<GenerateEnded>(&event.body); ended && ended->attempt == attempt) {
    return OutcomeOf(ended->status);
  }
  if (const auto* arrived = std::get_if<SampleArrived>(&event.body)) {
    return arrived->attempt == attempt ? AttemptOutcome::kDone : AttemptOutcome::kHedgeLost;
  }
  if (const auto* down = std::get_if<WorkerDown>(&event.body); down && down->given_away) {
    return AttemptOutcome::kCancelled;
  }
  if (std::holds_alternative<WorkerDown>(event.body) || std::holds_alternative<RolloutUp>(event.body)) {
    return AttemptOutcome::kLost;
  }
  return event.now >= deadline ? AttemptOutcome::kLost : AttemptOutcome::kCancelled;
}

}  // namespace

void AttemptLog::Started(const StartGenerate& start) {
  if (start.group.evaluation) return;
  attempts_[start.attempt] = {start.group.draw, start.number, start.deadline, 0};
}

void AttemptLog::CountTokens(uint64_t attempt, int64_t tokens) {
  if (auto it = attempts_.find(attempt); it != attempts_.end()) it->second.tokens += tokens;
}

std::vector<AttemptEnd> AttemptLog::Ended(const Event& event, const SchedulerState& state) {
  std::vector<AttemptEnd> ended;
  for (auto it = attempts_.begin(); it != attempts_.end();) {
    const auto& [id, attempt] = *it;
    if (state.attempts.count(id) > 0) {
      ++it;
      continue;
    }
    ended.push_back(
        {attempt.draw, attempt.number, OutcomeOf(id, attempt.deadline, event), attempt.tokens, event.now});
    it = attempts_.erase(it);
  }
  return ended;
}

}  // namespace sluice
