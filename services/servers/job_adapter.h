// Serves a Coordinator as JobService. The coordinator is borrowed. Calls run on the executor; watchers, which
// stay, on one of their own with a limit.
#pragma once

#include "coordinator/coordinator.h"
#include "core/base/cancellation.h"
#include "services/rpc/executor.h"
#include "services/rpc/reactors.h"
#include "sluice/v1/job.grpc.pb.h"

namespace sluice {

class JobAdapter final : public v1::JobService::CallbackService {
 public:
  JobAdapter(Coordinator& coordinator, Executor& executor);
  // Ends all watches.
  void Stop() { stopping_.Cancel(); }

  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context,
                                      const v1::SubmitJobRequest* request,
                                      v1::SubmitJobResponse* response) override;
  grpc::ServerUnaryReactor* CheckJob(grpc::CallbackServerContext* context, const v1::CheckJobRequest* request,
                                     v1::CheckJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                   v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* DeleteJob(grpc::CallbackServerContext* context,
                                      const v1::DeleteJobRequest* request,
                                      v1::DeleteJobResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobResponse>* WatchJob(grpc::CallbackServerContext* context,
                                                           const v1::WatchJobRequest* request) override;
  grpc::ServerUnaryReactor* PauseJob(grpc::CallbackServerContext* context, const v1::PauseJobRequest* request,
                                     v1::PauseJobResponse* response) override;
  grpc::ServerUnaryReactor* ResumeJob(grpc::CallbackServerContext* context,
                                      const v1::ResumeJobRequest* request,
                                      v1::ResumeJobResponse* response) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::CancelJobResponse* response) override;
  grpc::ServerUnaryReactor* SetPriority(grpc::CallbackServerContext* context,
                                        const v1::SetPriorityRequest* request,
                                        v1::SetPriorityResponse* response) override;
  grpc::ServerWriteReactor<v1::ListSamplesResponse>* ListSamples(
      grpc::CallbackServerContext* context, const v1::ListSamplesRequest* request) override;
  grpc::ServerUnaryReactor* ListAttempts(grpc::CallbackServerContext* context,
                                         const v1::ListAttemptsRequest* request,
                                         v1::ListAttemptsResponse* response) override;
  grpc::ServerUnaryReactor* ListQuarantine(grpc::CallbackServerContext* context,
                                           const v1::ListQuarantineRequest* request,
                                           v1::ListQuarantineResponse* response) override;
  grpc::ServerUnaryReactor* ReleaseQuarantine(grpc::CallbackServerContext* context,
                                              const v1::ReleaseQuarantineRequest* request,
                                              v1::ReleaseQuarantineResponse* response) override;
  grpc::ServerUnaryReactor* ListReplaySteps(grpc::CallbackServerContext* context,
                                            const v1::ListReplayStepsRequest* request,
                                            v1::ListReplayStepsResponse* response) override;
  grpc::ServerUnaryReactor* ListCheckpoints(grpc::CallbackServerContext* context,
                                            const v1::ListCheckpointsRequest* request,
                                            v1::ListCheckpointsResponse* response) override;
  grpc::ServerUnaryReactor* ExportJob(grpc::CallbackServerContext* context,
                                      const v1::ExportJobRequest* request,
                                      v1::ExportJobResponse* response) override;

 private:
  absl::Status Watch(const JobId& job, const CallContext& call, MessageWriter<v1::WatchJobResponse>& writer);

  Coordinator& coordinator_;
  Executor& executor_;
  Executor watchers_;
  CancelToken stopping_;
};

}  // namespace sluice
