// The coordinator: takes jobs, hands prompts to rollout workers, completions to reward workers, groups to the
// learner, and keeps the durable account of all of it. Knows workers only by the ports of core/rl.
// services/coordinator wraps it in gRPC. Thread-safe; every call returns in bounded time.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/prompts/prompt_encoder.h"
#include "coordinator/records/job_view.h"
#include "coordinator/store/disk.h"
#include "coordinator/workers/work_port.h"
#include "coordinator/workers/worker_offer.h"
#include "coordinator/workers/worker_registry.h"
#include "core/base/clock.h"
#include "core/rl/job_spec.h"
#include "core/rl/rollout_worker.h"
#include "core/rl/scorer.h"
#include "core/rl/trainer.h"
#include "prometheus/registry.h"

namespace sluice {

struct CoordinatorOptions {
  std::string state_dir;                     // made when absent; held exclusively
  Clock* clock = &Clock::Real();             // borrowed
  Clock* lease_clock = &LeaseClock();        // borrowed
  Clock* tick_clock = &LeaseClock();         // borrowed; by which it knows that it stood still itself
  prometheus::Registry* registry = nullptr;  // borrowed; null: no metrics
  absl::Duration lease = absl::Seconds(10);
  int64_t keep_samples_bytes = int64_t{8} << 30;  // above it the files of the oldest samples are removed
  int64_t keep_free_bytes = int64_t{256}
                            << 20;  // nothing new begins with less room, or a twentieth of the disk
  // Of a job's finished samples whose groups are not complete, in memory: above it no new group begins.
  int64_t hold_samples_bytes = int64_t{1} << 30;
  absl::Duration long_write = absl::Seconds(2);  // a write that takes longer shows in the jobs' waiting_for
  DiskFault disk_fault = {};                     // for tests
  std::function<absl::StatusOr<DiskSpace>(const std::string& path)> disk_space = DiskSpaceOf;
  absl::Duration stall = absl::Seconds(120);  // a shorter wait is no stall
  PortFactories ports;
  // Turns prompts into tokens. Default: reads the job's model directory with core/spec.
  PromptEncoderFactory encoder = ReadPromptEncoder;
  absl::Duration forget_retry = absl::Seconds(10);  // before a learner is told again that a job was deleted
  absl::Duration settle = absl::Seconds(10);        // before workers change jobs because others came or went
  absl::Duration tick = absl::Milliseconds(50);     // real time between looks at the clock
};

struct CheckedJob {
  JobSpec spec;                             // as given: resolved
  std::vector<std::string> plan, warnings;  // lines for people
};

struct Lease {
  uint64_t epoch = 0;
  absl::Duration duration;  // from now
};

class Coordinator {
 public:
  // FAILED_PRECONDITION: "state directory in use", or written by a newer version. Jobs in the store go on.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Open(CoordinatorOptions options);
  virtual ~Coordinator() = default;  // shuts down

  // Checks the job and its files and makes it durable. INVALID_ARGUMENT names the field or the row. The same
  // non-empty request_id again returns the job made before. Takes as long as the prompts take to be
  // tokenised; where `cancel` is raised meanwhile, CANCELLED, and no job is made.
  virtual absl::StatusOr<JobId> Submit(const JobSpec& spec, const std::string& request_id,
                                       const CancelToken& cancel) = 0;
  virtual absl::StatusOr<CheckedJob> Check(const JobSpec& spec, const CancelToken& cancel) = 0;
  absl::StatusOr<JobId> Submit(const JobSpec& spec, const std::string& request_id) {
    return Submit(spec, request_id, CancelToken());
  }
  absl::StatusOr<CheckedJob> Check(const JobSpec& spec) { return Check(spec, CancelToken()); }

  virtual absl::StatusOr<JobView> Get(const JobId& job) = 0;  // NOT_FOUND
  // At most `limit` of the jobs behind `after`, the newest first.
  virtual absl::StatusOr<std::vector<JobView>> List(int64_t limit = std::numeric_limits<int64_t>::max(),
                                                    const JobPlace& after = {}) = 0;
  // The job as soon as its revision is above `last_revision`, or as it is after `timeout` (real time).
  virtual absl::StatusOr<JobView> WaitForChange(const JobId& job, uint64_t last_revision,
                                                absl::Duration timeout) = 0;
  virtual std::vector<WorkerView> Workers() = 0;  // by name

  // FAILED_PRECONDITION when the job has ended (Cancel of a cancelled job is OK).
  virtual absl::StatusOr<JobView> Pause(const JobId& job) = 0;
  virtual absl::StatusOr<JobView> Resume(const JobId& job) = 0;
  virtual absl::StatusOr<JobView> Cancel(const JobId& job) = 0;

  // Forgets a job that has ended, with its samples and its folder; again: OK. Its rows go by and by, and so
  // does what its learner keeps of it, when the learner is there. NOT_FOUND: there never was one;
  // FAILED_PRECONDITION: it has not ended, or a replay of it has not.
  virtual absl::Status Delete(const JobId& job) = 0;

  // The job's share.priority from now on. INVALID_ARGUMENT out of its range.
  virtual absl::StatusOr<JobView> SetPriority(const JobId& job, int32_t priority) = 0;

  // At most `limit` (0: 20) samples whose group is complete, newest first; of one step when `step` > 0; of
  // evaluations when `evaluation`. Stops early when `on_sample` returns false.
  virtual absl::Status ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                                   const std::function<bool(const SampleView&)>& on_sample) = 0;
  // Tries to produce samples, the newest first; at most `limit` (0: 1000; no more than 10,000). Those of
  // draws whose rows are gone are not there any more.
  virtual absl::StatusOr<std::vector<AttemptView>> ListAttempts(const JobId& job, std::optional<Draw> draw,
                                                                int32_t limit) = 0;
  // Samples that were given up on, those of the newest draws first; `limit` as above.
  virtual absl::StatusOr<std::vector<QuarantineView>> ListQuarantine(const JobId& job, int32_t limit) = 0;
  // Lets the prompts of these rows be handed out again; none: all. Returns how many prompts were released.
  // NOT_FOUND names a row whose prompt is not in quarantine; nothing is released then.
  virtual absl::StatusOr<int64_t> ReleaseQuarantine(const JobId& job, const std::vector<uint64_t>& rows) = 0;
  // How the steps of a replay compare with those recorded, in order, from the one after `after`; `limit` as
  // above. FAILED_PRECONDITION: the job is no replay.
  virtual absl::StatusOr<std::vector<ReplayStepView>> ListReplaySteps(const JobId& job, PolicyVersion after,
                                                                      int32_t limit) = 0;
  // Asks the job's learner. UNAVAILABLE when it is not there.
  virtual absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) = 0;
  // `version` kNoPolicyVersion: the one that was promoted last, where one was; else the last. Returns the
  // version written.
  virtual absl::StatusOr<PolicyVersion> Export(const JobId& job, PolicyVersion version,
                                               const std::string& path) = 0;

  virtual absl::StatusOr<Lease> JoinFleet(const WorkerOffer& offer) = 0;
  absl::StatusOr<Lease> RegisterWorker(const std::string& name, WorkerRole role, const std::string& address,
                                       const std::string& incarnation) {
    return JoinFleet({name, role, address, incarnation});
  }
  virtual absl::Duration lease() const = 0;  // of a worker
  // NOT_FOUND: unknown worker; ABORTED: the epoch is old. In both cases: register again.
  virtual absl::StatusOr<Lease> RenewLease(const std::string& name, uint64_t epoch) = 0;
  // The worker stops: what it has under way goes to others at once. Nothing happens when it is not known or
  // registered again meanwhile.
  absl::Status LeaveFleet(const std::string& name, uint64_t epoch) {
    return WorkerGone(name, epoch, "it stops");
  }
  // As LeaveFleet; `why` is for people.
  virtual absl::Status WorkerGone(const std::string& name, uint64_t epoch, const std::string& why) = 0;
  // What workers that dialled in say, in order; then `taken`, on the coordinator's thread, which it must not
  // keep. Waits while the coordinator has too much to do; after Shutdown nothing happens.
  virtual void TakeReports(std::vector<WorkReport> reports, std::function<void()> taken) = 0;

  // Before Shutdown: begins nothing new, and asks the learner to make durable what it trained since its last
  // checkpoint. Returns when that is done or the deadline (real time) has come.
  virtual void Drain(absl::Time deadline) = 0;
  // Cancels calls under way, stops all threads. Jobs stay as they are in the store. Again: nothing.
  virtual void Shutdown() = 0;
};

}  // namespace sluice
