// One Work stream, seen from the coordinator: the workers that joined on it, their orders on the way out,
// their reports on the way in. The reactions of gRPC's threads are short: messages are taken in on an
// executor, one at a time, in order.
//
// Bounds: while kUntaken messages with reports wait for the coordinator's actor, no further one is read,
// which the client feels as flow control; meanwhile the leases are kept on this side (KeepLeases). What waits
// to be sent is at most kQueuedBytes, else the client does not read and loses its stream. What orders go on
// from goes ahead of them in parts of kPartBytes; of that at most kBegunBytes wait, further completions are
// begun anew.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "coordinator/coordinator.h"
#include "grpcpp/grpcpp.h"
#include "services/rpc/executor.h"
#include "services/rpc/work_batches.h"
#include "services/servers/work_metrics.h"
#include "sluice/v1/fleet.pb.h"

namespace sluice {

// What the sessions of a service share; all borrowed.
struct WorkSessionEnv {
  Coordinator& coordinator;
  Executor& executor;
  WorkMetrics& metrics;
};

class WorkSession final : public grpc::ServerBidiReactor<v1::WorkRequest, v1::WorkResponse>,
                          public std::enable_shared_from_this<WorkSession> {
 public:
  static constexpr int kUntaken = 4;
  static constexpr size_t kQueuedBytes = size_t{64} << 20;
  static constexpr size_t kPartBytes = size_t{1} << 19;
  static constexpr size_t kBegunBytes = size_t{1} << 30;

  // It lives until the call is done, and as long as others hold it.
  static std::shared_ptr<WorkSession> Start(grpc::CallbackServerContext* context, const WorkSessionEnv& env);
  ~WorkSession() override;

  // Ends the stream; its workers are gone. Thread-safe, as are the next three.
  void End(const absl::Status& status);
  void Send(v1::WorkOrder order, const std::vector<Trajectory>& begun = {});
  void Cancel(uint64_t order, const absl::Status& why);
  // To be called several times in a lease. While something that the client said waits for the coordinator,
  // renews the leases and says so: the client cannot.
  void KeepLeases();

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override { End(absl::CancelledError("the client is gone")); }
  void OnDone() override;

 private:
  struct Worker {
    std::string name;
    uint64_t epoch = 0;
    absl::Time ended = absl::InfinitePast();  // when the end of an order came; past: an order was sent since
  };
  // A completion that an order goes on from.
  struct Begun {
    uint32_t index = 0;
    std::vector<v1::WorkBegun> parts;
    size_t bytes = 0;
  };
  class Port;

  WorkSession(grpc::CallbackServerContext* context, const WorkSessionEnv& env);
  // Starts the read, the write and the end that may start now.
  void Pump();
  void FinishIfIdle();
  // Hands `work` to the executor; ends the stream when that takes no more.
  void Schedule(void (WorkSession::*work)());
  // Of one message, on the executor.
  void TakeIn();
  absl::Status CheckMessage(const v1::WorkRequest& request);
  void Join(const v1::WorkJoin& join, int place);
  absl::StatusOr<Lease> TryJoin(const v1::WorkJoin& join);
  void Renew(const v1::WorkRenewal& renewal);
  void RenewAll(const std::vector<std::pair<uint32_t, Worker>>& workers);
  std::vector<WorkReport> ReportsOf(v1::WorkRequest& request);
  absl::StatusOr<WorkReport> ReportOf(v1::WorkReport& report, absl::Time now);
  std::vector<Worker> TakeLeaving(const v1::WorkRequest& request);
  void Deliver(std::vector<WorkReport> reports, std::vector<Worker> leaving);
  // No more comes from the client: its workers are gone.
  void TakeEnd();
  v1::WorkResponse& Room(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static Begun PartsToSend(uint64_t order, const Trajectory& whole);
  void Queue(uint64_t order, Begun begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  grpc::CallbackServerContext& context_;
  const WorkSessionEnv env_;
  std::shared_ptr<WorkSession> self_;  // until the call is done
  v1::WorkRequest request_;            // owned by the read under way, then by TakeIn
  v1::WorkResponse response_;          // owned by the write under way
  absl::Mutex mu_;
  std::map<uint32_t, Worker> workers_ ABSL_GUARDED_BY(mu_);
  WorkBatches<v1::WorkResponse> outgoing_ ABSL_GUARDED_BY(mu_);
  size_t begun_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of outgoing_, what orders go on from
  bool taking_in_ ABSL_GUARDED_BY(mu_) = false;  // what was read
  bool reading_ ABSL_GUARDED_BY(mu_) = false;    // or taking in what was read
  bool read_all_ ABSL_GUARDED_BY(mu_) = false;   // the client said its last
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  int untaken_ ABSL_GUARDED_BY(mu_) = 0;      // messages that wait for the actor
  int starting_ ABSL_GUARDED_BY(mu_) = 0;     // operations claimed and not yet started
  bool ending_ ABSL_GUARDED_BY(mu_) = false;  // to be finished with final_ when nothing is under way
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool lost_ ABSL_GUARDED_BY(mu_) = false;  // its workers are gone
  absl::Status final_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
