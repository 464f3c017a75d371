// A worker's membership in the fleet: registers with the coordinator, renews the lease at a third of its
// length and when the connection breaks, and registers again when the coordinator was away or refuses. Runs
// on a thread of its own until Stop or Leave. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/cancellation.h"
#include "services/clients/membership.h"
#include "sluice/v1/fleet.grpc.pb.h"

namespace sluice {

struct FleetMemberOptions {
  std::string name;  // "rollout-0"
  v1::WorkerRole role = v1::WORKER_ROLE_UNSPECIFIED;
  std::string address;  // where this worker serves
  absl::Duration min_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(1);
  absl::Duration call_timeout = absl::Seconds(5);
};

class FleetMember final : public Membership {
 public:
  FleetMember(ConnectCoordinator connect, FleetMemberOptions options);
  ~FleetMember() override;
  FleetMember(const FleetMember&) = delete;
  FleetMember& operator=(const FleetMember&) = delete;

  // Of the last registration; 0 before the first.
  uint64_t epoch() const;
  // Whether registered by `deadline`, for tests and for roles that need it.
  bool AwaitRegistered(absl::Time deadline) const;
  // Interrupts the call under way and joins the thread. Idempotent.
  void Stop();
  // Stops and gives the lease back, so that the coordinator does not wait for it to run out. Best effort.
  void Leave(absl::Time deadline) override;

 private:
  void Run();
  // One call with its deadline, cancelled by Stop. Waits for the coordinator to be reachable. When the
  // deadline passes the next call goes over a new connection: nothing may come over this one any more.
  template <typename Call>
  absl::Status Ask(Call call);
  // One registration; on success the time to wait before renewing.
  absl::StatusOr<absl::Duration> Register();
  absl::StatusOr<absl::Duration> Renew();
  // False when stopped meanwhile.
  bool Sleep(absl::Duration duration);
  // As Sleep, but returns early when the connection breaks: whether the coordinator still knows this worker
  // is then asked at once.
  bool SleepWhileConnected(absl::Duration duration);
  bool stopping() const;

  void Connect();

  const ConnectCoordinator connect_;
  const FleetMemberOptions options_;
  const std::string incarnation_;  // of this process
  CancelToken cancel_;
  std::shared_ptr<grpc::Channel> channel_;  // both of the thread; after it, of Leave
  std::unique_ptr<v1::FleetService::Stub> stub_;
  mutable absl::Mutex mu_;
  uint64_t epoch_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace sluice
