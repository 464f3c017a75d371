#include "services/clients/remote_scorer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/wire/reward.h"
#include "services/wire/types.h"

namespace sluice {

namespace {

// Of a message: gRPC's default limit is 4 MiB, and services of others have it.
constexpr size_t kMessageBytes = size_t{3} << 20;
constexpr size_t kMessageItems = 4096;  // reward.proto

// On the wire, nearly.
size_t BytesOf(const ScoreItem& item) {
  size_t bytes = 32 + item.prompt.size() + item.completion.size();
  for (const auto& [name, value] : item.fields) bytes += 16 + name.size() + value.size();
  return bytes;
}

// How many of the items go into one message; at least one of those that there are.
size_t FirstMessage(absl::Span<const ScoreItem> items, size_t most) {
  size_t count = 0;
  for (size_t bytes = 0; count < std::min(items.size(), most); ++count) {
    bytes += BytesOf(items[count]);
    if (count > 0 && bytes > kMessageBytes) break;
  }
  return count;
}

// gRPC itself refuses the request or the answer, at either end, by its size: asking later would not help.
bool IsTooLarge(const absl::Status& status) {
  return absl::IsResourceExhausted(status) && (absl::StrContains(status.message(), "larger than max") ||
                                               absl::StrContains(status.message(), "exceeds maximum size"));
}

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status) ||
         absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

Verdict Without(VerdictKind kind, const absl::Status& status) {
  Verdict out;
  out.kind = kind;
  out.detail = std::string(status.message());
  return out;
}

Verdict Unavailable(const absl::Status& status) {
  Verdict out = Without(VerdictKind::kInfrastructure, status);
  VerdictComponent component;
  component.name = "service";
  component.kind = out.kind;
  component.detail = out.detail;
  component.outcome = "unavailable";
  out.components.push_back(std::move(component));
  return out;
}

}  // namespace

RemoteScorer::RemoteScorer(Peer peer)
    : peer_(std::move(peer)), stub_(v1::RewardService::NewStub(peer_.channel)) {}

absl::StatusOr<std::vector<Verdict>> RemoteScorer::Score(const RewardSpec& spec,
                                                         absl::Span<const ScoreItem> items,
                                                         absl::Time deadline, const CancelToken& cancel) {
  std::vector<Verdict> verdicts;
  bool judged = false;
  size_t most = kMessageItems;
  do {
    const absl::Span<const ScoreItem> rest = items.subspan(verdicts.size());
    const auto message = rest.first(FirstMessage(rest, most));
    const absl::Status status = ScoreMessage(spec, message, deadline, cancel, verdicts);
    if (IsTooLarge(status) && message.size() > 1) {
      most = message.size() / 2;
    } else if (IsTooLarge(status) && message.size() == 1) {
      verdicts.push_back(Without(VerdictKind::kUndecided, status));
    } else if (IsAway(status) && judged) {
      verdicts.resize(items.size(), Unavailable(status));
    } else if (!status.ok()) {
      return status;
    }
    judged = judged || status.ok();
  } while (verdicts.size() < items.size());
  return verdicts;
}

absl::Status RemoteScorer::ScoreMessage(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                        absl::Time deadline, const CancelToken& cancel,
                                        std::vector<Verdict>& verdicts) {
  v1::ScoreRequest request;
  *request.mutable_spec() = ToProto(spec);
  for (const ScoreItem& item : items) *request.add_items() = ToProto(item);
  v1::ScoreResponse response;
  ClientCall call(peer_, deadline, &cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->Score(call.context(), request, &response)));
  if (static_cast<size_t>(response.verdicts_size()) != items.size()) {
    return call.BadResponse(absl::StrCat(response.verdicts_size(), " verdicts for ", items.size(), " items"));
  }
  for (const v1::Verdict& proto : response.verdicts()) {
    absl::StatusOr<Verdict> verdict = FromProto(proto);
    verdicts.push_back(
        verdict.ok() ? *std::move(verdict)
                     : Without(VerdictKind::kInfrastructure, call.BadResponse(verdict.status().message())));
  }
  return absl::OkStatus();
}

}  // namespace sluice
