// Serves a Coordinator as FleetService. The coordinator is borrowed. Calls run on a small executor of the
// service's own, so that a lease never waits behind clients.
#pragma once

#include "coordinator/coordinator.h"
#include "services/host/executor.h"
#include "sluice/v1/fleet.grpc.pb.h"

namespace sluice {

class FleetAdapter final : public v1::FleetService::CallbackService {
 public:
  explicit FleetAdapter(Coordinator& coordinator)
      : coordinator_(coordinator), executor_({.max_threads = 4}) {}

  grpc::ServerUnaryReactor* RegisterWorker(grpc::CallbackServerContext* context,
                                           const v1::RegisterWorkerRequest* request,
                                           v1::RegisterWorkerResponse* response) override;
  grpc::ServerUnaryReactor* RenewLease(grpc::CallbackServerContext* context,
                                       const v1::RenewLeaseRequest* request,
                                       v1::RenewLeaseResponse* response) override;
  grpc::ServerUnaryReactor* LeaveFleet(grpc::CallbackServerContext* context,
                                       const v1::LeaveFleetRequest* request,
                                       v1::LeaveFleetResponse* response) override;

 private:
  Coordinator& coordinator_;
  Executor executor_;
};

}  // namespace sluice
