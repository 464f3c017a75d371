// The durable account of all jobs: SQLite (STATE/sluice.db) for what must be transactional, segment files
// (STATE/segments, STATE/progress) for tokens, log-probabilities and texts. One process at a time has it.
// Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/database.h"
#include "coordinator/job_view.h"
#include "coordinator/schema.h"
#include "coordinator/segments.h"
#include "coordinator/store_rows.h"
#include "coordinator/store_transaction.h"
#include "core/base/file.h"
#include "core/rl/types.h"

namespace sluice {

class Store {
 public:
  // FAILED_PRECONDITION: "state directory in use", or its schema is newer than this program.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& state_dir);

  // Runs `body` in one transaction: all of it is durable when this returned OK, nothing of it otherwise.
  absl::Status Transact(const std::function<absl::Status(StoreTransaction&)>& body);

  // The job that a request made before; empty: none.
  absl::StatusOr<JobId> FindRequest(const std::string& request_id);
  absl::StatusOr<std::vector<JobRow>> LoadJobs();  // oldest first, views filled in
  absl::StatusOr<Ledger> LoadLedger(const JobId& job);
  absl::StatusOr<std::vector<StoredGroup>> LoadOpenGroups(const JobId& job);  // that have samples in flight
  absl::StatusOr<std::optional<StoredBatch>> LoadBatch(const JobId& job, PolicyVersion version);
  absl::StatusOr<Group> LoadGroup(const JobId& job, Draw draw);
  // What was saved last of each sample in flight, by (draw, index); records that are damaged are left out.
  absl::StatusOr<std::vector<Trajectory>> LoadProgress(const JobId& job);
  // Above all that any program gave in this directory, whatever the clock does. `now`: keeps those of another
  // directory's past apart, as far as it goes forward.
  absl::StatusOr<uint64_t> NextEpoch(absl::Time now);
  absl::Status ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                           const std::function<bool(const SampleView&)>& on_sample);
  // Whether every counter equals the rows it counts, and issued the sum: INTERNAL names what does not.
  absl::Status CheckLedger(const JobId& job);

  // Fails writes with "disk full" above this many pages of 4096 bytes; for tests of that.
  absl::Status LimitPages(int64_t pages);

 private:
  Store() = default;
  absl::Status CloseAttempts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReserveEpochs(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status LoadView(JobRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Group> ReadGroup(const SegmentRef& ref);

  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<Segments> groups_, progress_;  // of complete groups; of samples under way
  absl::Mutex mu_;
  std::unique_ptr<Database> db_ ABSL_GUARDED_BY(mu_);
  uint64_t next_epoch_ ABSL_GUARDED_BY(mu_) = 0, epochs_end_ ABSL_GUARDED_BY(mu_) = 0;  // reserved, not given
};

}  // namespace sluice
