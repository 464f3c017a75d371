// A gRPC server for tests: serves adapters in-process, and on a port of its own on loopback.
#pragma once

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "services/rpc/channel.h"
#include "services/rpc/executor.h"
#include "services/rpc/peer.h"

namespace sluice {

class TestingServer {
 public:
  // The services are borrowed.
  explicit TestingServer(std::initializer_list<grpc::Service*> services) {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    for (grpc::Service* service : services) builder.RegisterService(service);
    server_ = builder.BuildAndStart();
  }
  explicit TestingServer(grpc::Service& service) : TestingServer({&service}) {}
  // Cancels the calls under way.
  ~TestingServer() { server_->Shutdown(std::chrono::system_clock::now()); }
  // Without a network.
  Peer peer() { return {"in-process", server_->InProcessChannel(MakeChannelArguments())}; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sluice
