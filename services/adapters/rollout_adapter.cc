#include "services/adapters/rollout_adapter.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/host/reactors.h"
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
    SLUICE_RETURN_IF_ERROR(worker_.LoadPolicy(*policy, SwapMode::kFinish, call.deadline));
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
        return worker_.Generate(rollout, call.cancel, [&](Trajectory trajectory) {
          v1::GenerateResponse response;
          *response.mutable_trajectory() = ToProto(trajectory);
          // When the client is gone the token is raised, too: the worker stops by itself.
          if (!writer.Write(std::move(response)).ok()) call.cancel.Cancel();
        });
      });
}

grpc::ServerUnaryReactor* RolloutAdapter::ScoreTokens(grpc::CallbackServerContext* context,
                                                      const v1::ScoreTokensRequest* request,
                                                      v1::ScoreTokensResponse* response) {
  return RunUnary(executor_, context, [this, request, response](const CallContext& call) -> absl::Status {
    if (!score_tokens_) return absl::UnimplementedError("this worker does not score tokens");
    FieldCheck check;
    check.Name(request->job(), "job");
    check.Require(!request->tokens().empty(), "tokens", "at least one is needed");
    check.TokenIds(request->tokens(), kMaxTokens, "tokens");
    SLUICE_RETURN_IF_ERROR(check.status());
    SLUICE_ASSIGN_OR_RETURN(const ScoredTokens scored,
                            score_tokens_(request->job(),
                                          absl::MakeConstSpan(request->tokens().data(),
                                                              static_cast<size_t>(request->tokens_size())),
                                          call.deadline));
    response->mutable_logprobs()->Add(scored.logprobs.begin(), scored.logprobs.end());
    response->set_policy_version(scored.version);
    return absl::OkStatus();
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
