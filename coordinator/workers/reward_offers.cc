#include "coordinator/workers/reward_offers.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sluice {
namespace {

struct Answers {
  int offer = 0;
  std::vector<std::string> lack, silent;  // workers
  std::string why;                        // of the first that lacks it
};

Answers AskFor(RewardComponentSpec component, const std::vector<RegisteredWorker>& workers,
               absl::Time deadline) {
  component.weight = 1;
  component.gate.reset();
  RewardSpec alone;
  alone.components.push_back(std::move(component));
  Answers out;
  for (const RegisteredWorker& worker : workers) {
    if (!worker.alive || worker.reward == nullptr) continue;
    const absl::Status answer = worker.reward->Score(alone, {}, deadline).status();
    if (answer.ok()) {
      ++out.offer;
    } else if (absl::IsInvalidArgument(answer)) {
      if (out.lack.empty()) out.why = std::string(answer.message());
      out.lack.push_back(worker.name);
    } else {
      out.silent.push_back(worker.name);
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> CheckRewardOffers(const RewardSpec& reward,
                                                           const std::vector<RegisteredWorker>& workers,
                                                           absl::Time deadline) {
  std::vector<std::string> warnings;
  for (size_t i = 0; i < reward.components.size(); ++i) {
    const auto* remote = std::get_if<RemoteScorerSpec>(&reward.components[i].scorer);
    if (remote == nullptr) continue;
    const std::string field = absl::StrCat("reward.component[", i, "].remote.service");
    const std::string what = absl::StrCat("\"", remote->service, "\"");
    const Answers answers = AskFor(reward.components[i], workers, deadline);
    if (answers.offer == 0 && answers.silent.empty() && !answers.lack.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": no reward worker that is registered offers ", what, ": ", answers.why));
    }
    if (answers.offer == 0) {
      const std::string who = answers.lack.empty() && answers.silent.empty()
                                  ? "no reward worker is registered yet"
                                  : absl::StrCat(absl::StrJoin(answers.silent, ", "), " does not answer");
      warnings.push_back(absl::StrCat(field, ": ", who, ", so nobody knows whether ", what,
                                      " is offered; the job waits for it"));
    } else if (!answers.lack.empty()) {
      warnings.push_back(absl::StrCat(field, ": ", absl::StrJoin(answers.lack, ", "), " lacks ", what,
                                      ", which others offer, and judges nothing: ", answers.why));
    }
  }
  return warnings;
}

}  // namespace sluice
