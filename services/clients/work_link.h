// A host's end of FleetService.Work: keeps its rollout workers in the fleet, hands their orders to a handler,
// and sends in batches what they report. When the stream breaks, or nothing comes on it for too long, it is
// opened anew on a connection of its own and the workers join again. One thread for any number of workers.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "services/clients/membership.h"
#include "services/rpc/work_batches.h"
#include "sluice/v1/fleet.grpc.pb.h"

namespace sluice {

// What workers do with their orders. Called on threads of gRPC, one call at a time; must not block.
class WorkHandler {
 public:
  virtual ~WorkHandler() = default;
  // To be answered with reports, unless it is cancelled or its worker's registration is lost. What it goes on
  // from is in it, whatever messages that came in.
  virtual void Take(v1::WorkOrder order, absl::Time deadline) = 0;
  virtual void Cancel(uint64_t order) = 0;
  // The orders of the worker are void: others have them.
  virtual void Lost(uint32_t worker) = 0;
};

struct WorkLinkOptions {
  // A batch goes when it has so many reports or bytes, or its first has waited so long.
  size_t batch_reports = 64, batch_bytes = size_t{1} << 20;
  absl::Duration batch_wait = absl::Milliseconds(2);
  size_t queued_bytes = size_t{64} << 20;  // above it who reports waits
  // Of what orders that are still to come go on from; what does not fit is begun anew.
  size_t begun_bytes = size_t{1} << 30;
  absl::Duration min_backoff = absl::Milliseconds(100), max_backoff = absl::Seconds(1);
  // Without a word from the coordinator for so long while an answer is due, the stream is given up.
  absl::Duration silence = absl::Seconds(5);
};

class WorkLink final : public Membership {
 public:
  // The handler is borrowed.
  WorkLink(ConnectCoordinator connect, WorkHandler& handler, WorkLinkOptions options = {});
  ~WorkLink() override;
  WorkLink(const WorkLink&) = delete;
  WorkLink& operator=(const WorkLink&) = delete;

  // Keeps the worker in the fleet from now on. An incarnation is made where there is none.
  void Join(v1::WorkJoin join);
  // Of a worker that is registered or asked to be; else it is dropped, as what waits to be sent is when the
  // stream breaks.
  // Waits while too much waits to be sent.
  void Report(v1::WorkReport report);
  // Of the worker's registration; 0: it has none now.
  uint64_t epoch(uint32_t worker) const;
  // Whether so many workers are registered by `deadline`.
  bool AwaitJoined(size_t count, absl::Time deadline) const;
  // All workers leave, after what they reported.
  void Leave(absl::Time deadline) override;
  // Breaks the stream off and joins the thread. Idempotent.
  void Stop();

 private:
  struct Worker {
    v1::WorkJoin join;
    uint64_t epoch = 0;
    bool asked = false;                            // to join, and not answered
    absl::Time not_before = absl::InfinitePast();  // of the next try to join
    absl::Duration backoff = absl::ZeroDuration();
  };
  struct Begun {
    google::protobuf::RepeatedPtrField<v1::Trajectory> parts;
    size_t bytes = 0;
    bool too_large = false;  // then there are no parts
  };
  class Stream;

  void Run();
  // One stream from its start to its end: what it ended with.
  absl::Status Serve();
  // What is to be done on the stream now; false: nothing more.
  bool Act(Stream& stream);
  // False: the stream is to be broken off.
  bool MayGoOn(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskToJoin(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskToRenew(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskToLeave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool BatchIsDue(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Time NextAct() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::WorkRequest& Room(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of the stream, on threads of gRPC.
  void Heard(v1::WorkResponse& response);
  // Of orders that are still to come.
  void Keep(v1::WorkResponse& response);
  void Written();
  void ReadAll();
  void Done(const absl::Status& status);
  void TakeAnswer(const v1::WorkJoined& joined, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<uint32_t> TakeRenewal(const v1::WorkRenewed& renewed, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LoseAll();
  // False when stopped or told to leave meanwhile.
  bool Pause(absl::Duration pause);
  bool leaving() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return leave_by_ != absl::InfiniteFuture(); }

  const ConnectCoordinator connect_;
  WorkHandler& handler_;
  const WorkLinkOptions options_;
  const std::string incarnation_;  // of this process
  mutable absl::Mutex mu_;
  std::map<uint32_t, Worker> workers_ ABSL_GUARDED_BY(mu_);
  size_t joined_ ABSL_GUARDED_BY(mu_) = 0;      // workers that are registered
  size_t asked_ ABSL_GUARDED_BY(mu_) = 0;       // joins that are not answered
  bool renewing_ ABSL_GUARDED_BY(mu_) = false;  // a renewal is not answered
  absl::Duration lease_ ABSL_GUARDED_BY(mu_);   // the last that was given
  absl::Time renew_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::Time silent_since_ ABSL_GUARDED_BY(mu_);          // while an answer is due
  std::map<uint64_t, Begun> begun_ ABSL_GUARDED_BY(mu_);  // by order
  size_t begun_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  WorkBatches<v1::WorkRequest> outgoing_ ABSL_GUARDED_BY(mu_);
  absl::Time batch_since_ ABSL_GUARDED_BY(mu_);  // when the first of outgoing_ came
  bool hurry_ ABSL_GUARDED_BY(mu_) = false;      // no waiting for the batch to fill
  bool open_ ABSL_GUARDED_BY(mu_) = false;       // there is a stream
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool said_all_ ABSL_GUARDED_BY(mu_) = false, read_all_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status ended_ ABSL_GUARDED_BY(mu_);
  bool wake_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  absl::Time leave_by_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  std::thread thread_;
};

}  // namespace sluice
