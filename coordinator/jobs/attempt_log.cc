#include "coordinator/jobs/attempt_log.h"

namespace sluice {

void AttemptLog::Started(const StartGenerate& start) {
  if (!start.group.evaluation) attempts_[start.attempt] = {start.group.draw, start.number, 0};
}

void AttemptLog::CountTokens(uint64_t attempt, int64_t tokens) {
  if (auto it = attempts_.find(attempt); it != attempts_.end()) it->second.tokens += tokens;
}

std::optional<AttemptEnd> AttemptLog::Ended(absl::Time now, const AttemptOver& over) {
  const auto attempt = attempts_.extract(over.attempt);
  if (attempt.empty()) return std::nullopt;
  const Attempt& a = attempt.mapped();
  return AttemptEnd{a.draw, a.number, over.outcome, a.tokens, now};
}

}  // namespace sluice
