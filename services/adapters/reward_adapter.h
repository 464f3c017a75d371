// Serves a Scorer over gRPC. The scorer is borrowed; calls run on the executor.
#pragma once

#include "core/rl/scorer.h"
#include "services/host/executor.h"
#include "sluice/v1/reward.grpc.pb.h"

namespace sluice {

class RewardAdapter final : public v1::RewardService::CallbackService {
 public:
  RewardAdapter(Scorer& scorer, Executor& executor) : scorer_(scorer), executor_(executor) {}
  grpc::ServerUnaryReactor* Score(grpc::CallbackServerContext* context, const v1::ScoreRequest* request,
                                  v1::ScoreResponse* response) override;

 private:
  Scorer& scorer_;
  Executor& executor_;
};

}  // namespace sluice
