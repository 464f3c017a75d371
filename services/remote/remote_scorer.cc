#include "services/remote/remote_scorer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/wire/reward.h"
#include "services/wire/types.h"

namespace sluice {

namespace {

Verdict Unreadable(const absl::Status& status) {
  Verdict out;
  out.kind = VerdictKind::kInfrastructure;
  out.detail = std::string(status.message());
  return out;
}

}  // namespace

RemoteScorer::RemoteScorer(Peer peer)
    : peer_(std::move(peer)), stub_(v1::RewardService::NewStub(peer_.channel)) {}

absl::StatusOr<std::vector<Verdict>> RemoteScorer::Score(const RewardSpec& spec,
                                                         absl::Span<const ScoreItem> items,
                                                         absl::Time deadline, const CancelToken& cancel) {
  v1::ScoreRequest request;
  *request.mutable_spec() = ToProto(spec);
  for (const ScoreItem& item : items) *request.add_items() = ToProto(item);
  v1::ScoreResponse response;
  ClientCall call(peer_, deadline, &cancel);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->Score(call.context(), request, &response)));
  if (static_cast<size_t>(response.verdicts_size()) != items.size()) {
    return call.BadResponse(absl::StrCat(response.verdicts_size(), " verdicts for ", items.size(), " items"));
  }
  std::vector<Verdict> verdicts;
  for (const v1::Verdict& proto : response.verdicts()) {
    absl::StatusOr<Verdict> verdict = FromProto(proto);
    verdicts.push_back(verdict.ok() ? *std::move(verdict)
                                    : Unreadable(call.BadResponse(verdict.status().message())));
  }
  return verdicts;
}

}  // namespace sluice
