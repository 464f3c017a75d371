#include "services/servers/rollout_adapter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/rpc/reactors.h"
#include "services/wire/field_check.h"
#include "services/wire/rollout.h"
#include "services/wire/types.h"

namespace sluice {
grpc::ServerUnaryReactor* RolloutAdapter::LoadPolicy(grpc::CallbackServerContext* context,
                                                     const v1::LoadPolicyRequest* request,
                                                     v1::LoadPolicyResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    const absl::StatusOr<PolicyRef> policy = FromProto(request->policy());
    if (!policy.ok()) return Within("policy", policy.status());
    SLUICE_ASSIGN_OR_RETURN(const SwapMode mode, FromProto(request->swap_mode()));
    SLUICE_RETURN_IF_ERROR(worker_.LoadPolicy(*policy, mode, call.deadline));
    response->set_policy_version(policy->version);
    return absl::OkStatus();
  });
}

grpc::ServerWriteReactor<v1::GenerateResponse>* RolloutAdapter::Generate(grpc::CallbackServerContext* context,
                                                                         const v1::GenerateRequest* request) {
  return RunServerStream<v1::GenerateResponse>(
      executor_, context,
      [this, request](const CallContext& call, MessageWriter<v1::GenerateResponse>& writer) -> absl::Status {
        SLUICE_ASSIGN_OR_RETURN(RolloutRequest rollout, FromProto(*request));
        rollout.deadline = call.deadline;
        const CancelToken stop = call.cancel;
        absl::Status too_large;
        const absl::Status status = worker_.Generate(rollout, stop, [&](Trajectory trajectory) {
          if (!too_large.ok()) return;  // others end with what there is of them
          v1::GenerateResponse response;
          *response.mutable_trajectory() = ToProto(trajectory);
          if (absl::Status fits = CheckResponseSize(response); !fits.ok()) {
            too_large = fits;
            return stop.Cancel();
          }
          // When the client is gone the token is raised, too: the worker stops by itself.
          if (!writer.Write(std::move(response)).ok()) stop.Cancel();
        });
        return too_large.ok() ? status : too_large;
      },
      kStreamPatience, request->ByteSizeLong());
}

grpc::ServerUnaryReactor* RolloutAdapter::ScoreTokens(grpc::CallbackServerContext* context,
                                                      const v1::ScoreTokensRequest* request,
                                                      v1::ScoreTokensResponse* response) {
  return RunUnary(
      executor_, context,
      [this, request, response](const CallContext& call) -> absl::Status {
        if (!score_tokens_) return absl::UnimplementedError("this worker does not score tokens");
        FieldCheck check;
        check.Name(request->job(), "job");
        check.Require(!request->tokens().empty(), "tokens", "at least one is needed");
        check.TokenIds(request->tokens(), kMaxTokens, "tokens");
        SLUICE_RETURN_IF_ERROR(check.status());
        SLUICE_ASSIGN_OR_RETURN(
            const ScoredTokens scored,
            score_tokens_(
                request->job(),
                absl::MakeConstSpan(request->tokens().data(), static_cast<size_t>(request->tokens_size())),
                call.deadline, call.cancel));
        response->mutable_logprobs()->Add(scored.logprobs.begin(), scored.logprobs.end());
        response->set_policy_version(scored.version);
        return absl::OkStatus();
      },
      request->ByteSizeLong());
}

grpc::ServerUnaryReactor* RolloutAdapter::ControlRollout(grpc::CallbackServerContext* context,
                                                         const v1::ControlRolloutRequest* request,
                                                         v1::ControlRolloutResponse* /*response*/) {
  return RunUnary(executor_, context, [this, request](const CallContext& call) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const RolloutCommand command, FromProto(*request));
    return worker_.Control(command, call.deadline);
  });
}

grpc::ServerUnaryReactor* RolloutAdapter::GetRolloutState(grpc::CallbackServerContext* context,
                                                          const v1::GetRolloutStateRequest* /*request*/,
                                                          v1::GetRolloutStateResponse* response) {
  return RunUnary(executor_, context, [this, response]() -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const RolloutWorkerState state, worker_.GetState());
    *response = ToProto(state);
    response->mutable_time()->set_seconds(absl::ToUnixSeconds(absl::Now()));
    return absl::OkStatus();
  });
}

}  // namespace sluice
