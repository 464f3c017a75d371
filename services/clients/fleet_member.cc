#include "services/clients/fleet_member.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"
#include "services/clients/incarnation.h"
#include "services/clients/lease.h"
#include "services/rpc/duration.h"
#include "services/rpc/grpc_status.h"

namespace sluice {
namespace {

constexpr absl::Duration kConnectionSlice = absl::Milliseconds(200);  // between looks at Stop

}  // namespace

FleetMember::FleetMember(ConnectCoordinator connect, FleetMemberOptions options)
    : connect_(std::move(connect)), options_(std::move(options)), incarnation_(NewIncarnation()) {
  Connect();
  thread_ = std::thread([this] { Run(); });
}

void FleetMember::Connect() {
  channel_ = connect_();
  stub_ = v1::FleetService::NewStub(channel_);
}

FleetMember::~FleetMember() { Stop(); }

void FleetMember::Stop() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  cancel_.Cancel();
  if (thread_.joinable()) thread_.join();
}

void FleetMember::Leave(absl::Time deadline) {
  Stop();
  if (epoch() == 0) return;
  v1::LeaveFleetRequest request;
  request.set_name(options_.name);
  request.set_epoch(epoch());
  v1::LeaveFleetResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  const absl::Status status = FromGrpc(stub_->LeaveFleet(&context, request, &response));
  LogInfo("left_fleet", {{"name", options_.name}, {"status", status.ToString()}});
}

uint64_t FleetMember::epoch() const {
  absl::MutexLock lock(&mu_);
  return epoch_;
}

bool FleetMember::AwaitRegistered(absl::Time deadline) const {
  absl::MutexLock lock(&mu_);
  return mu_.AwaitWithDeadline(absl::Condition(
                                   +[](const uint64_t* epoch) { return *epoch != 0; }, &epoch_),
                               deadline);
}

bool FleetMember::stopping() const {
  absl::MutexLock lock(&mu_);
  return stopping_;
}

bool FleetMember::Sleep(absl::Duration duration) {
  absl::MutexLock lock(&mu_);
  return !mu_.AwaitWithTimeout(absl::Condition(&stopping_), duration);
}

bool FleetMember::SleepWhileConnected(absl::Duration duration) {
  const absl::Time end = absl::Now() + duration;
  while (!stopping()) {
    const absl::Time now = absl::Now();
    if (now >= end || channel_->GetState(/*try_to_connect=*/false) != GRPC_CHANNEL_READY) return true;
    channel_->WaitForStateChange(GRPC_CHANNEL_READY,
                                 absl::ToChronoTime(std::min(end, now + kConnectionSlice)));
  }
  return false;
}

template <typename Call>
absl::Status FleetMember::Ask(Call call) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + options_.call_timeout));
  context.set_wait_for_ready(true);
  std::stop_callback on_stop(cancel_.stop_token(), [&context] { context.TryCancel(); });
  const absl::Status status = FromGrpc(call(&context));
  if (absl::IsDeadlineExceeded(status)) Connect();
  return status;
}

absl::StatusOr<absl::Duration> FleetMember::Register() {
  SLUICE_FAIL_POINT("worker.registering");
  v1::RegisterWorkerRequest request;
  request.set_name(options_.name);
  request.set_role(options_.role);
  request.set_address(options_.address);
  request.set_incarnation(incarnation_);
  v1::RegisterWorkerResponse response;
  SLUICE_RETURN_IF_ERROR(
      Ask([&](grpc::ClientContext* context) { return stub_->RegisterWorker(context, request, &response); }));
  SLUICE_ASSIGN_OR_RETURN(const absl::Duration lease, ReadLease(response.lease()));
  LogInfo("registered", {{"name", options_.name}, {"epoch", response.epoch()}});
  SLUICE_FAIL_POINT("worker.registered");
  absl::MutexLock lock(&mu_);
  epoch_ = response.epoch();
  return lease / 3;
}

absl::StatusOr<absl::Duration> FleetMember::Renew() {
  v1::RenewLeaseRequest request;
  request.set_name(options_.name);
  request.set_epoch(epoch());
  v1::RenewLeaseResponse response;
  SLUICE_RETURN_IF_ERROR(
      Ask([&](grpc::ClientContext* context) { return stub_->RenewLease(context, request, &response); }));
  SLUICE_ASSIGN_OR_RETURN(const absl::Duration lease, ReadLease(response.lease()));
  return lease / 3;
}

void FleetMember::Run() {
  bool registered = false;
  absl::StatusCode last_failure = absl::StatusCode::kOk;  // logged once for each change
  absl::Duration backoff = options_.min_backoff;
  while (!stopping()) {
    const absl::StatusOr<absl::Duration> renew_in = registered ? Renew() : Register();
    if (renew_in.ok()) {
      registered = true;
      last_failure = absl::StatusCode::kOk;
      SLUICE_FAIL_POINT("worker.lease_held");
      backoff = options_.min_backoff;
      if (!SleepWhileConnected(*renew_in)) return;
      continue;
    }
    if (stopping()) return;
    if (renew_in.status().code() != last_failure) {
      last_failure = renew_in.status().code();
      LogWarning("not_registered", {{"name", options_.name}, {"error", renew_in.status().ToString()}});
    }
    registered = false;
    if (!Sleep(backoff)) return;
    backoff = std::min(backoff * 2, options_.max_backoff);
  }
}

}  // namespace sluice
