#include "services/servers/fleet_adapter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/rpc/channel.h"
#include "services/rpc/duration.h"
#include "services/rpc/grpc_status.h"
#include "services/rpc/reactors.h"
#include "services/servers/job_wire.h"
#include "services/wire/field_check.h"

namespace sluice {
namespace {

// A stream that is refused at once.
class RefusedStream final : public grpc::ServerBidiReactor<v1::WorkRequest, v1::WorkResponse> {
 public:
  explicit RefusedStream(const absl::Status& why) { Finish(ToGrpc(why)); }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<v1::WorkRequest, v1::WorkResponse>* FleetAdapter::Work(
    grpc::CallbackServerContext* context) {
  absl::MutexLock lock(&mu_);
  if (stopped_) return new RefusedStream(absl::UnavailableError("the coordinator stops"));
  std::erase_if(sessions_, [](const std::weak_ptr<WorkSession>& session) { return session.expired(); });
  if (sessions_.size() >= kMaxStreams) {
    return new RefusedStream(absl::ResourceExhaustedError(absl::StrCat(
        "there are ", kMaxStreams, " streams, the most there may be; let the workers of a host share one")));
  }
  const auto session = WorkSession::Start(context, {coordinator_, work_executor_, metrics_});
  sessions_.push_back(session);
  return session.get();
}

void FleetAdapter::Stop() {
  std::vector<std::weak_ptr<WorkSession>> sessions;
  {
    absl::MutexLock lock(&mu_);
    stopped_ = true;
    sessions.swap(sessions_);
  }
  for (const auto& weak : sessions) {
    if (const auto session = weak.lock()) session->End(absl::UnavailableError("the coordinator stops"));
  }
  if (keeper_.joinable()) keeper_.join();
}

void FleetAdapter::KeepLeases() {
  const absl::Duration period = std::min(absl::Seconds(1), coordinator_.lease() / 4);
  while (true) {
    std::vector<std::weak_ptr<WorkSession>> sessions;
    {
      absl::MutexLock lock(&mu_);
      if (mu_.AwaitWithTimeout(absl::Condition(&stopped_), period)) return;
      sessions = sessions_;
    }
    for (const auto& weak : sessions) {
      if (const auto session = weak.lock()) session->KeepLeases();
    }
  }
}

grpc::ServerUnaryReactor* FleetAdapter::RegisterWorker(grpc::CallbackServerContext* context,
                                                       const v1::RegisterWorkerRequest* request,
                                                       v1::RegisterWorkerResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    FieldCheck check;
    check.Name(request->name(), "name");
    check.Name(request->incarnation(), "incarnation");
    SLUICE_RETURN_IF_ERROR(check.status());
    SLUICE_ASSIGN_OR_RETURN(const WorkerRole role, FromProto(request->role()));
    SLUICE_RETURN_IF_ERROR(CheckLoopback(request->address(), "address"));
    SLUICE_ASSIGN_OR_RETURN(
        const Lease lease,
        coordinator_.RegisterWorker(request->name(), role, request->address(), request->incarnation()));
    response->set_epoch(lease.epoch);
    *response->mutable_lease() = ToProto(lease.duration);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* FleetAdapter::RenewLease(grpc::CallbackServerContext* context,
                                                   const v1::RenewLeaseRequest* request,
                                                   v1::RenewLeaseResponse* response) {
  return RunUnary(executor_, context, [this, request, response]() -> absl::Status {
    FieldCheck check;
    check.Name(request->name(), "name");
    SLUICE_RETURN_IF_ERROR(check.status());
    SLUICE_ASSIGN_OR_RETURN(const Lease lease, coordinator_.RenewLease(request->name(), request->epoch()));
    *response->mutable_lease() = ToProto(lease.duration);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* FleetAdapter::LeaveFleet(grpc::CallbackServerContext* context,
                                                   const v1::LeaveFleetRequest* request,
                                                   v1::LeaveFleetResponse* /*response*/) {
  return RunUnary(executor_, context, [this, request]() -> absl::Status {
    FieldCheck check;
    check.Name(request->name(), "name");
    SLUICE_RETURN_IF_ERROR(check.status());
    return coordinator_.LeaveFleet(request->name(), request->epoch());
  });
}

}  // namespace sluice
