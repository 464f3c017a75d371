// Serves a Trainer over gRPC, one call at a time: a call waits for the one before it, at most until its own
// deadline. Calls that change something are refused with ABORTED when a coordinator with a higher epoch was
// heard of, also while they wait; a new start of the learner forgets it. A group is put together here before
// the trainer sees it, one at a time. The trainer is borrowed; calls run on the executor.
#pragma once

#include "absl/synchronization/mutex.h"
#include "core/rl/trainer.h"
#include "services/rpc/executor.h"
#include "services/rpc/reactors.h"
#include "sluice/v1/learner.grpc.pb.h"

namespace sluice {

class TrainerAdapter final : public v1::LearnerService::CallbackService {
 public:
  TrainerAdapter(Trainer& trainer, Executor& executor) : trainer_(trainer), executor_(executor) {}

  grpc::ServerUnaryReactor* OpenJob(grpc::CallbackServerContext* context, const v1::OpenJobRequest* request,
                                    v1::OpenJobResponse* response) override;
  grpc::ServerUnaryReactor* Supervise(grpc::CallbackServerContext* context,
                                      const v1::SuperviseRequest* request,
                                      v1::SuperviseResponse* response) override;
  grpc::ServerUnaryReactor* PublishFirst(grpc::CallbackServerContext* context,
                                         const v1::PublishFirstRequest* request,
                                         v1::PublishFirstResponse* response) override;
  grpc::ServerReadReactor<v1::AddGroupRequest>* AddGroup(grpc::CallbackServerContext* context,
                                                         v1::AddGroupResponse* response) override;
  grpc::ServerUnaryReactor* Step(grpc::CallbackServerContext* context, const v1::StepRequest* request,
                                 v1::StepResponse* response) override;
  grpc::ServerUnaryReactor* RollBack(grpc::CallbackServerContext* context, const v1::RollBackRequest* request,
                                     v1::RollBackResponse* response) override;
  grpc::ServerUnaryReactor* Promote(grpc::CallbackServerContext* context, const v1::PromoteRequest* request,
                                    v1::PromoteResponse* response) override;
  grpc::ServerUnaryReactor* MakeCheckpoint(grpc::CallbackServerContext* context,
                                           const v1::MakeCheckpointRequest* request,
                                           v1::MakeCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* ListLearnerCheckpoints(grpc::CallbackServerContext* context,
                                                   const v1::ListLearnerCheckpointsRequest* request,
                                                   v1::ListLearnerCheckpointsResponse* response) override;
  grpc::ServerUnaryReactor* ExportPolicy(grpc::CallbackServerContext* context,
                                         const v1::ExportPolicyRequest* request,
                                         v1::ExportPolicyResponse* response) override;
  grpc::ServerUnaryReactor* ForgetJob(grpc::CallbackServerContext* context,
                                      const v1::ForgetJobRequest* request,
                                      v1::ForgetJobResponse* response) override;

 private:
  class Turn;  // the right to call the trainer, or to be the group on its way

  Trainer& trainer_;
  Executor& executor_;
  absl::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;       // the trainer
  bool receiving_ ABSL_GUARDED_BY(mu_) = false;  // a group is on its way
  uint64_t epoch_ ABSL_GUARDED_BY(mu_) = 0;      // the highest of a coordinator
};

}  // namespace sluice
