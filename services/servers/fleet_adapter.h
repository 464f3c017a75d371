// Serves a Coordinator as FleetService. The coordinator is borrowed. Calls run on small executors of the
// service's own, so that a lease never waits behind clients, nor behind what streams bring.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/coordinator.h"
#include "prometheus/registry.h"
#include "services/rpc/executor.h"
#include "services/servers/work_metrics.h"
#include "services/servers/work_session.h"
#include "sluice/v1/fleet.grpc.pb.h"

namespace sluice {

class FleetAdapter final : public v1::FleetService::CallbackService {
 public:
  static constexpr size_t kMaxStreams = 8192;

  FleetAdapter(Coordinator& coordinator, prometheus::Registry& registry)
      : coordinator_(coordinator),
        metrics_(registry),
        executor_({.max_threads = 4}),
        work_executor_({.max_threads = 4, .max_queued = 4 * kMaxStreams}),
        keeper_([this] { KeepLeases(); }) {}
  ~FleetAdapter() override { Stop(); }
  // Ends the streams, before the server shuts down. Idempotent.
  void Stop();

  grpc::ServerUnaryReactor* RegisterWorker(grpc::CallbackServerContext* context,
                                           const v1::RegisterWorkerRequest* request,
                                           v1::RegisterWorkerResponse* response) override;
  grpc::ServerUnaryReactor* RenewLease(grpc::CallbackServerContext* context,
                                       const v1::RenewLeaseRequest* request,
                                       v1::RenewLeaseResponse* response) override;
  grpc::ServerUnaryReactor* LeaveFleet(grpc::CallbackServerContext* context,
                                       const v1::LeaveFleetRequest* request,
                                       v1::LeaveFleetResponse* response) override;

  grpc::ServerBidiReactor<v1::WorkRequest, v1::WorkResponse>* Work(
      grpc::CallbackServerContext* context) override;

 private:
  void KeepLeases();

  Coordinator& coordinator_;
  WorkMetrics metrics_;
  Executor executor_, work_executor_;
  absl::Mutex mu_;
  std::vector<std::weak_ptr<WorkSession>> sessions_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::thread keeper_;  // of leases, while what their workers say waits for the coordinator
};

}  // namespace sluice
