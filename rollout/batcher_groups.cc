// The batcher's calls: how they start, which policy they run on, and how they end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "rollout/batcher.h"
#include "rollout/request_check.h"

namespace sluice {

void Batcher::EndExpired() {
  if (groups_.empty()) return;
  const absl::Time now = clock_.Now();
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> ended;
  for (const auto& [ordinal, group] : groups_) {
    if (group->cancel.cancelled()) {
      ended.emplace_back(group, absl::CancelledError("the caller cancelled"));
    } else if (now > group->request.deadline) {
      ended.emplace_back(group, absl::DeadlineExceededError(absl::StrCat("sampling: ", group->unfinished,
                                                                         " of ", group->sequences(),
                                                                         " completions were not finished")));
    }
  }
  for (auto& [group, status] : ended) EndGroup(group, std::move(status));
}

absl::Time Batcher::next_deadline() const {
  absl::Time out = absl::InfiniteFuture();
  for (const auto& [ordinal, group] : groups_) out = std::min(out, group->request.deadline);
  return out;
}

void Batcher::EndGroup(const std::shared_ptr<RolloutGroup>& group, absl::Status status) {
  const uint64_t ordinal = group->ordinal;
  if (!status.ok() && group->request.progress_every_tokens > 0) {
    for (Streams* streams : {&streams_.running(), &streams_.waiting()}) {
      for (auto it = streams->lower_bound({ordinal, 0}); it != streams->end() && it->first.first == ordinal;
           ++it) {
        Stream& stream = *it->second;
        if (stream.completion != nullptr && stream.completion->has_news()) HandOver(stream);
      }
    }
  }
  streams_.EraseGroup(ordinal);
  if (group->kind == GroupKind::kSample) {
    for (size_t i = 0; i < group->unfinished; ++i) metrics_.CountRollout(FinishReason::kCancelled);
  }
  if (group->run != nullptr) group->version = group->run->policy->version;
  group->run = nullptr;
  ended_.emplace_back(group, std::move(status));
  groups_.erase(ordinal);  // `group` may live there
}

std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> Batcher::TakeEnded() {
  return std::exchange(ended_, {});
}

void Batcher::FailAll(const absl::Status& status) {
  while (!groups_.empty()) EndGroup(groups_.begin()->second, status);
  streams_.UpdateGauges();
}

// ---- Policies ----

// Checks the group against the policy and makes it run on that.
absl::Status Batcher::Pin(RolloutGroup& group, std::shared_ptr<PolicyRun> run) {
  if (run == nullptr || run->policy->job != group.request.job) {
    return absl::FailedPreconditionError(
        absl::StrCat("no policy of job \"", group.request.job, "\" is loaded"));
  }
  const PolicyVersion only = group.request.only_version;
  if (only != kNoPolicyVersion && only != run->policy->version) {
    return absl::FailedPreconditionError(absl::StrCat("version ", only, " of job \"", group.request.job,
                                                      "\" is not served; version ", run->policy->version,
                                                      " is"));
  }
  const int64_t given = static_cast<int64_t>(group.request.prompt_tokens.size());
  int64_t positions = given - 1;
  if (group.kind == GroupKind::kSample) {
    SLUICE_RETURN_IF_ERROR(CheckRolloutRequest(group.request, *run->policy));
    positions += group.request.sampling.max_new_tokens;  // the last token is never fed
  } else {
    SLUICE_RETURN_IF_ERROR(CheckPromptTokens(group.request.prompt_tokens, 0, *run->policy));
  }
  const int64_t bytes = BlocksFor(positions) * run->block_bytes();
  if (bytes > options_.cache_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("a sequence of ", positions, " positions takes ", bytes,
                                                   " bytes of cache; the worker's limit is ",
                                                   options_.cache_bytes));
  }
  group.run = std::move(run);
  return absl::OkStatus();
}

// Prefixes of another policy are dropped; groups that are to go on with the new one lose their caches, which
// are computed again like prompts.
void Batcher::FollowSwap() {
  const ServedPolicy served = served_();
  if (served.run == nullptr || served.run->ordinal == followed_) return;
  followed_ = served.run->ordinal;
  streams_.KeepPrefixesOf(followed_);
  std::vector<std::shared_ptr<RolloutGroup>> moving;
  for (const auto& [ordinal, group] : groups_) {
    if (group->run != nullptr && group->run->ordinal < served.continue_from &&
        group->request.only_version == kNoPolicyVersion &&
        group->run->policy->job == served.run->policy->job) {
      moving.push_back(group);
    }
  }
  for (const std::shared_ptr<RolloutGroup>& group : moving) {
    if (absl::Status status = Pin(*group, served.run); !status.ok()) {
      EndGroup(group, std::move(status));
      continue;
    }
    for (Streams* streams : {&streams_.running(), &streams_.waiting()}) {
      for (auto it = streams->lower_bound({group->ordinal, 0});
           it != streams->end() && it->first.first == group->ordinal; ++it) {
        streams_.Reset(*it->second);
        // Its members will be sampled by the new policy alone; a member's own rows stay as it was routed.
        if (it->second->kind == StreamKind::kPrompt) it->second->experts.clear();
      }
    }
  }
}

// Members that another worker began wait as streams of their own.
absl::Status Batcher::StartBegun(RolloutGroup& group) {
  const auto prompt = streams_.waiting().find({group.ordinal, kPromptPlace});
  std::vector<size_t>& pending = prompt->second->pending;
  for (const Trajectory& begun : group.request.begun) {
    if (begun.tokens.empty()) continue;
    const auto at = std::find(group.request.indices.begin(), group.request.indices.end(), begun.key.index);
    const size_t place = static_cast<size_t>(at - group.request.indices.begin());
    std::unique_ptr<Stream> member = NewMember(*prompt->second, place);
    SLUICE_RETURN_IF_ERROR(member->completion->TakeOver(begun));
    member->known.insert(member->known.end(), begun.tokens.begin(), begun.tokens.end());
    if (member->RoutedWidth() > 0) member->experts = begun.experts.ids;
    pending.erase(std::find(pending.begin(), pending.end(), place));
    if (member->completion->finish_reason() == FinishReason::kUnspecified) {
      streams_.waiting()[{group.ordinal, place}] = std::move(member);
    } else {
      HandOver(*member);
    }
  }
  if (pending.empty()) streams_.waiting().erase(prompt);
  return absl::OkStatus();
}

void Batcher::Admit() {
  Streams& running = streams_.running();
  size_t taken = 0;
  for (const auto& [age, stream] : running) taken += stream->weight();
  while (!streams_.waiting().empty() && taken < static_cast<size_t>(options_.max_running_sequences)) {
    auto it = streams_.waiting().begin();
    const std::shared_ptr<RolloutGroup> group = it->second->group;
    if (group->run == nullptr) {
      absl::Status status = Pin(*group, served_().run);
      if (status.ok() && group->kind == GroupKind::kSample) status = StartBegun(*group);
      if (!status.ok() || group->unfinished == 0) {
        EndGroup(group, std::move(status));
        continue;
      }
      it = streams_.waiting().begin();  // may be a begun member now
    }
    const size_t weight = it->second->weight();
    if (streams_.Start(it)) {
      taken += weight;
    } else if (!running.empty()) {
      return;
    } else {
      // Within the limit (Pin), and nothing holds a block: the device itself has no memory left.
      EndGroup(group, absl::ResourceExhaustedError(absl::StrCat(
                          "the device has no memory left for a sequence of ", it->second->known.size(),
                          " positions; give the worker fewer cache bytes or a smaller model")));
    }
  }
}

}  // namespace sluice
