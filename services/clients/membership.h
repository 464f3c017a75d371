// A worker's place in the fleet, for the host's stop. Thread-safe.
#pragma once

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "grpcpp/grpcpp.h"

namespace sluice {

class Membership {
 public:
  virtual ~Membership() = default;
  // Gives the lease back, so that the coordinator does not wait for it to run out, and stops. Best effort.
  virtual void Leave(absl::Time deadline) = 0;
};

// A new channel to the coordinator, with a connection of its own: one whose connection does not answer any
// more is left for it.
using ConnectCoordinator = std::function<std::shared_ptr<grpc::Channel>()>;

}  // namespace sluice
