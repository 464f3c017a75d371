// Serves a WeightChannel over gRPC in chunks of at most 1 MiB, no faster than the client takes them. The
// channel is borrowed; calls run on the executor.
#pragma once

#include "core/rl/weight_channel.h"
#include "services/rpc/executor.h"
#include "sluice/v1/weights.grpc.pb.h"

namespace sluice {

class WeightAdapter final : public v1::WeightService::CallbackService {
 public:
  WeightAdapter(WeightChannel& channel, Executor& executor) : channel_(channel), executor_(executor) {}

  grpc::ServerUnaryReactor* GetManifest(grpc::CallbackServerContext* context,
                                        const v1::GetManifestRequest* request,
                                        v1::GetManifestResponse* response) override;
  grpc::ServerWriteReactor<v1::PullTensorsResponse>* PullTensors(
      grpc::CallbackServerContext* context, const v1::PullTensorsRequest* request) override;
  grpc::ServerUnaryReactor* GetModelFile(grpc::CallbackServerContext* context,
                                         const v1::GetModelFileRequest* request,
                                         v1::GetModelFileResponse* response) override;

 private:
  WeightChannel& channel_;
  Executor& executor_;
};

}  // namespace sluice
