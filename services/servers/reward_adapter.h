// Serves a Scorer over gRPC. The scorer is borrowed; calls run on the executor. An item that breaks the
// limits of the wire is UNDECIDED alone.
#pragma once

#include <utility>

#include "core/rl/scorer.h"
#include "services/rpc/executor.h"
#include "sluice/v1/reward.grpc.pb.h"

namespace sluice {

class RewardAdapter final : public v1::RewardService::CallbackService {
 public:
  RewardAdapter(Scorer& scorer, Executor& executor, v1::GetInfoResponse info = {})
      : scorer_(scorer), executor_(executor), info_(std::move(info)) {}
  grpc::ServerUnaryReactor* Score(grpc::CallbackServerContext* context, const v1::ScoreRequest* request,
                                  v1::ScoreResponse* response) override;
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const v1::GetInfoRequest* request,
                                    v1::GetInfoResponse* response) override;

 private:
  Scorer& scorer_;
  Executor& executor_;
  const v1::GetInfoResponse info_;
};

}  // namespace sluice
