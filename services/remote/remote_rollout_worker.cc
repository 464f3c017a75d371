#include "services/remote/remote_rollout_worker.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/wire/rollout.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

// Takes the trajectories of one request and checks that each is one that was asked for, once.
class Delivery {
 public:
  Delivery(const RolloutRequest& request, const std::function<void(Trajectory)>& on_trajectory)
      : draw_(request.draw), progress_(request.progress_every_tokens > 0), on_trajectory_(on_trajectory) {
    for (uint32_t index : request.indices) missing_[index] = 0;
  }

  absl::Status Take(const v1::GenerateResponse& response) {
    SLUICE_ASSIGN_OR_RETURN(Trajectory trajectory, FromProto(response.trajectory()));
    const std::string name = absl::StrCat("sample ", trajectory.key.draw, "/", trajectory.key.index);
    const auto found = missing_.find(trajectory.key.index);
    if (trajectory.key.draw != draw_ || found == missing_.end()) {
      return absl::InternalError(absl::StrCat(name, " was not asked for or came twice"));
    }
    if (trajectory.tokens.size() < found->second) {
      return absl::InternalError(absl::StrCat(name, " lost tokens that were reported"));
    }
    found->second = trajectory.tokens.size();
    if (trajectory.finish_reason != FinishReason::kUnspecified) {
      missing_.erase(found);
    } else if (!progress_) {
      return absl::InternalError(absl::StrCat(name, " is not finished, and progress was not asked for"));
    }
    on_trajectory_(std::move(trajectory));
    return absl::OkStatus();
  }
  size_t missing() const { return missing_.size(); }

 private:
  const Draw draw_;
  const bool progress_;
  std::map<uint32_t, size_t> missing_;  // tokens reported so far
  const std::function<void(Trajectory)>& on_trajectory_;
};

}  // namespace

RemoteRolloutWorker::RemoteRolloutWorker(Peer peer, absl::Duration state_timeout)
    : peer_(std::move(peer)),
      state_timeout_(state_timeout),
      stub_(v1::RolloutService::NewStub(peer_.channel)) {}

absl::Status RemoteRolloutWorker::LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) {
  v1::LoadPolicyRequest request;
  *request.mutable_policy() = ToProto(policy);
  request.set_swap_mode(ToProto(mode));
  v1::LoadPolicyResponse response;
  ClientCall call(peer_, deadline);
  return call.Result(stub_->LoadPolicy(call.context(), request, &response));
}

absl::Status RemoteRolloutWorker::Generate(const RolloutRequest& request, const CancelToken& cancel,
                                           const std::function<void(Trajectory)>& on_trajectory) {
  ClientCall call(peer_, request.deadline, &cancel);
  Delivery delivery(request, on_trajectory);
  absl::Status bad = absl::OkStatus();
  const auto reader = stub_->Generate(call.context(), ToProto(request));
  v1::GenerateResponse response;
  while (bad.ok() && reader->Read(&response)) bad = delivery.Take(response);
  if (!bad.ok()) call.context()->TryCancel();
  const absl::Status status = call.Result(reader->Finish());
  if (!bad.ok()) return call.BadResponse(bad.message());
  if (status.ok() && delivery.missing() > 0) {
    return call.BadResponse(absl::StrCat("the stream ended without ", delivery.missing(), " of the samples"));
  }
  return status;
}

absl::Status RemoteRolloutWorker::Control(RolloutCommand command, absl::Time deadline) {
  v1::ControlRolloutResponse response;
  ClientCall call(peer_, deadline);
  return call.Result(stub_->ControlRollout(call.context(), ToProto(command), &response));
}

absl::StatusOr<RolloutWorkerState> RemoteRolloutWorker::GetState() {
  v1::GetRolloutStateResponse response;
  ClientCall call(peer_, absl::Now() + state_timeout_);
  SLUICE_RETURN_IF_ERROR(call.Result(stub_->GetRolloutState(call.context(), {}, &response)));
  absl::StatusOr<RolloutWorkerState> state = FromProto(response);
  if (!state.ok()) return call.BadResponse(state.status().message());
  return state;
}

}  // namespace sluice
