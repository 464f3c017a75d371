#include "services/coordinator/fleet_service.h"

#include "core/base/status.h"
#include "google/protobuf/duration.pb.h"
#include "services/coordinator/job_wire.h"
#include "services/host/reactors.h"
#include "services/host/server_options.h"
#include "services/wire/field_check.h"

namespace sluice {
namespace {

void SetDuration(absl::Duration duration, google::protobuf::Duration* out) {
  out->set_seconds(absl::ToInt64Seconds(duration));
  out->set_nanos(static_cast<int32_t>((duration - absl::Seconds(out->seconds())) / absl::Nanoseconds(1)));
}

}  // namespace

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
    SetDuration(lease.duration, response->mutable_lease());
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
    SetDuration(lease.duration, response->mutable_lease());
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
