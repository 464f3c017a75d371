// Rollout requests and states across the wire (sluice/v1/rollout.proto). Pure.
#pragma once

#include "absl/status/statusor.h"
#include "core/rl/rollout_worker.h"
#include "sluice/v1/rollout.pb.h"

namespace sluice {

// The deadline is not in the message: it is the call's.
v1::GenerateRequest ToProto(const RolloutRequest& request);
// For who sends `begun` by itself.
v1::GenerateRequest ToProtoWithoutBegun(const RolloutRequest& request);
absl::StatusOr<RolloutRequest> FromProto(const v1::GenerateRequest& proto);

// RESOURCE_EXHAUSTED, with what to change: it is more than is sent in one message.
absl::Status CheckResponseSize(const v1::GenerateResponse& response);

absl::StatusOr<SwapMode> FromProto(v1::LoadPolicyRequest::SwapMode proto);
v1::LoadPolicyRequest::SwapMode ToProto(SwapMode mode);

v1::ControlRolloutRequest ToProto(RolloutCommand command);
absl::StatusOr<RolloutCommand> FromProto(const v1::ControlRolloutRequest& proto);

v1::GetRolloutStateResponse ToProto(const RolloutWorkerState& state);
absl::StatusOr<RolloutWorkerState> FromProto(const v1::GetRolloutStateResponse& proto);

}  // namespace sluice
