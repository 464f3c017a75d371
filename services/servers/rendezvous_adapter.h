// Serves a KeyValue as RendezvousService. The store is borrowed; calls run on an executor of the service's
// own, so that ranks that wait do not keep the learner's other calls waiting.
#pragma once

#include "core/comm/key_value.h"
#include "services/rpc/executor.h"
#include "sluice/v1/learner.grpc.pb.h"

namespace sluice {

class RendezvousAdapter final : public v1::RendezvousService::CallbackService {
 public:
  explicit RendezvousAdapter(KeyValue& store) : store_(store) {}

  grpc::ServerUnaryReactor* SetKey(grpc::CallbackServerContext* context, const v1::SetKeyRequest* request,
                                   v1::SetKeyResponse* response) override;
  grpc::ServerUnaryReactor* GetKey(grpc::CallbackServerContext* context, const v1::GetKeyRequest* request,
                                   v1::GetKeyResponse* response) override;
  grpc::ServerUnaryReactor* AddKey(grpc::CallbackServerContext* context, const v1::AddKeyRequest* request,
                                   v1::AddKeyResponse* response) override;
  grpc::ServerUnaryReactor* CheckKeys(grpc::CallbackServerContext* context,
                                      const v1::CheckKeysRequest* request,
                                      v1::CheckKeysResponse* response) override;

 private:
  KeyValue& store_;
  Executor executor_;
};

}  // namespace sluice
