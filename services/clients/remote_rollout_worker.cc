#include "services/clients/remote_rollout_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/rl/sample_delivery.h"
#include "services/wire/rollout.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

// A request is one message: begun completions that do not fit are begun anew.
v1::GenerateRequest FittingProto(const RolloutRequest& request) {
  constexpr size_t kMaxBegunBytes = size_t{kMaxMessageBytes} / 4 * 3;
  v1::GenerateRequest out = ToProtoWithoutBegun(request);
  size_t bytes = 0;
  for (const Trajectory& begun : request.begun) {
    v1::Trajectory proto = ToProto(begun);
    bytes += proto.ByteSizeLong();
    if (bytes > kMaxBegunBytes) break;
    *out.add_begun() = std::move(proto);
  }
  return out;
}

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
  SampleDelivery delivery(request);
  absl::Status bad = absl::OkStatus();
  const auto reader = stub_->Generate(call.context(), FittingProto(request));
  v1::GenerateResponse response;
  while (bad.ok() && reader->Read(&response)) {
    absl::StatusOr<Trajectory> trajectory = PartFromProto(response.trajectory());
    bad = trajectory.ok() ? delivery.Take(*trajectory) : trajectory.status();
    if (bad.ok()) on_trajectory(*std::move(trajectory));
  }
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
