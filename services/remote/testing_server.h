// An in-process gRPC server for tests: serves an adapter, gives a peer that reaches it without a network.
#pragma once

#include <memory>

#include "grpcpp/grpcpp.h"
#include "services/host/channel.h"
#include "services/host/executor.h"
#include "services/remote/peer.h"

namespace sluice {

class TestingServer {
 public:
  // The service is borrowed.
  explicit TestingServer(grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }
  ~TestingServer() { server_->Shutdown(); }
  Peer peer() { return {"in-process", server_->InProcessChannel(MakeChannelArguments())}; }

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sluice
