// Looks at the messages that go by, on either side of a connection. For tests and benchmarks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "grpcpp/support/client_interceptor.h"
#include "grpcpp/support/server_interceptor.h"

namespace sluice {

// Called on threads of gRPC, several at a time: the method ("/sluice.v1.LearnerService/AddGroup"), the
// message's bytes, and whether it came in.
using OnMessage = std::function<void(const std::string& method, int64_t bytes, bool received)>;

// For CreateCustomChannelWithInterceptors.
std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> ClientWatch(
    OnMessage on_message);
// For ServerBuilder::experimental().SetInterceptorCreators.
std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> ServerWatch(
    OnMessage on_message);

}  // namespace sluice
