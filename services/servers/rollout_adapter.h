// Serves a RolloutWorker over gRPC. The worker is borrowed; calls run on the executor.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/cancellation.h"
#include "core/rl/rollout_worker.h"
#include "services/rpc/executor.h"
#include "sluice/v1/rollout.grpc.pb.h"

namespace sluice {

// log p(token t+1 | tokens 0..t) for each token after the first.
struct ScoredTokens {
  std::vector<float> logprobs;
  PolicyVersion version = kNoPolicyVersion;
};

class RolloutAdapter final : public v1::RolloutService::CallbackService {
 public:
  using ScoreTokensFunction = std::function<absl::StatusOr<ScoredTokens>(
      const JobId& job, absl::Span<const int32_t> tokens, absl::Time deadline, const CancelToken& cancel)>;
  // Without a function ScoreTokens is UNIMPLEMENTED.
  RolloutAdapter(RolloutWorker& worker, Executor& executor, ScoreTokensFunction score_tokens = nullptr)
      : worker_(worker), executor_(executor), score_tokens_(std::move(score_tokens)) {}

  grpc::ServerUnaryReactor* LoadPolicy(grpc::CallbackServerContext* context,
                                       const v1::LoadPolicyRequest* request,
                                       v1::LoadPolicyResponse* response) override;
  grpc::ServerWriteReactor<v1::GenerateResponse>* Generate(grpc::CallbackServerContext* context,
                                                           const v1::GenerateRequest* request) override;
  grpc::ServerUnaryReactor* ScoreTokens(grpc::CallbackServerContext* context,
                                        const v1::ScoreTokensRequest* request,
                                        v1::ScoreTokensResponse* response) override;
  grpc::ServerUnaryReactor* ControlRollout(grpc::CallbackServerContext* context,
                                           const v1::ControlRolloutRequest* request,
                                           v1::ControlRolloutResponse* response) override;
  grpc::ServerUnaryReactor* GetRolloutState(grpc::CallbackServerContext* context,
                                            const v1::GetRolloutStateRequest* request,
                                            v1::GetRolloutStateResponse* response) override;

 private:
  RolloutWorker& worker_;
  Executor& executor_;
  const ScoreTokensFunction score_tokens_;
};

}  // namespace sluice
