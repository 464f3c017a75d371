// The durable account of all jobs: SQLite (STATE/sluice.db) for what must be transactional, segment files
// (STATE/segments, STATE/progress) for tokens, log-probabilities and texts. One process at a time has it.
// Thread-safe. What clients list is read beside the transactions, over a connection of its own: neither waits
// for the other, and each list is bounded.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "coordinator/records/job_view.h"
#include "coordinator/records/replay_schedule.h"
#include "coordinator/store/database.h"
#include "coordinator/store/disk.h"
#include "coordinator/store/rows.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/segments.h"
#include "coordinator/store/transaction.h"
#include "core/base/file.h"
#include "core/rl/types.h"

namespace sluice {

struct StoreOptions {
  // Of the files of complete groups. Above it the oldest are removed, but none that may be needed again.
  int64_t keep_bytes = int64_t{8} << 30;
  int64_t keep_draws =
      4096;  // the newest of a job; of those before, the rows go when their group is not kept
  std::function<void(absl::Duration)> on_commit;  // time of a transaction's writes and syncs
  DiskFault fault;
};

class Store {
 public:
  static constexpr int64_t kMaxListedBytes = int64_t{1} << 30;  // of one list of samples
  // FAILED_PRECONDITION: "state directory in use", or its schema is newer than this program. A complete group
  // that is to be trained on and whose record is damaged is taken for one that is not complete (an event of
  // the job says so): it is generated again.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& state_dir, StoreOptions options = {});

  // Runs `body` in one transaction: all of it is durable when this returned OK, nothing of it otherwise. A
  // fault of the disk is one of coordinator/store/disk.h.
  absl::Status Transact(const std::function<absl::Status(StoreTransaction&)>& body);
  // How long a transaction has been writing by now (real time); zero: none is. Never waits.
  absl::Duration WritingFor() const;
  // Removes some of what is no longer kept (StoreOptions), in bounded time. True: there may be more.
  absl::StatusOr<bool> Tidy();

  // Whether there was such a job, and it was deleted.
  absl::StatusOr<bool> WasDeleted(const JobId& job);
  // Deleted jobs of which this learner has files, at most `limit`.
  absl::StatusOr<std::vector<JobId>> ListKeptByLearner(const std::string& learner, int64_t limit);
  // The job that a request made before; empty: none.
  absl::StatusOr<JobId> FindRequest(const std::string& request_id);
  // Those that have not ended, oldest first, views filled in. What it costs does not grow with those that
  // have.
  absl::StatusOr<std::vector<JobRow>> LoadJobs();
  absl::StatusOr<JobRow> LoadJob(const JobId& job);  // of any job; NOT_FOUND
  // Of those that have ended, at most `limit` behind `after`, the newest first.
  absl::StatusOr<std::vector<JobView>> ListEndedJobs(int64_t limit, const JobPlace& after);
  absl::StatusOr<std::string> LoadFilesHash(const JobId& job);  // of its prompt files as submitted
  absl::StatusOr<Ledger> LoadLedger(const JobId& job);
  absl::StatusOr<std::vector<StoredGroup>> LoadOpenGroups(const JobId& job);  // that have samples in flight
  // The draws that the versions up to this one were trained on are all below. Of the last thousand versions.
  absl::StatusOr<Draw> DrawnUntil(const JobId& job, PolicyVersion version);
  absl::StatusOr<std::optional<StoredBatch>> LoadBatch(const JobId& job, PolicyVersion version);
  absl::StatusOr<std::vector<StoredRollback>> LoadRollbacks(const JobId& job);  // oldest first
  absl::StatusOr<std::vector<CanaryRecord>> LoadCanaries(const JobId& job);     // oldest first
  absl::StatusOr<Group> LoadGroup(const JobId& job, Draw draw);  // DATA_LOSS names the file that is damaged
  // What was saved last of each sample in flight, by (draw, index); records that are damaged are left out.
  absl::StatusOr<std::vector<Trajectory>> LoadProgress(const JobId& job);
  // Above all that any program gave in this directory, whatever the clock does. `now`: keeps those of another
  // directory's past apart, as far as it goes forward.
  absl::StatusOr<uint64_t> NextEpoch(absl::Time now);
  // Of groups that are kept; NOT_FOUND when those of `step` no longer are. Passes over a group that is
  // damaged and says so in the end. OUT_OF_RANGE after kMaxListedBytes of records.
  absl::Status ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                           const std::function<bool(const SampleView&)>& on_sample);
  // Of the newest draws first and of each the last, at most `limit`; of one draw where it is given.
  absl::StatusOr<std::vector<AttemptView>> ListAttempts(const JobId& job, std::optional<Draw> draw,
                                                        int32_t limit);
  // Samples that were given up on, those of the newest draws first, at most `limit`.
  absl::StatusOr<std::vector<QuarantineView>> ListQuarantine(const JobId& job, int32_t limit);
  // The rows of the prompts that are not handed out.
  absl::StatusOr<std::vector<uint64_t>> LoadQuarantinedRows(const JobId& job);
  // What a replay of the first `steps` steps follows (replay.cc). FAILED_PRECONDITION names the step
  // whose samples are no longer kept, and the remedy.
  absl::StatusOr<std::shared_ptr<const ReplaySchedule>> LoadSchedule(const JobId& job, int64_t steps);
  absl::StatusOr<std::optional<StepRecordView>> LoadStepRecord(const JobId& job, PolicyVersion version);
  // Of the versions after `after`, in order, at most `limit`.
  absl::StatusOr<std::vector<ReplayStepView>> ListReplaySteps(const JobId& job, PolicyVersion after,
                                                              int32_t limit);
  // Whether every counter equals the rows it counts, and issued the sum: INTERNAL names what does not.
  absl::Status CheckLedger(const JobId& job);

  // What its queries cost so far: steps of SQLite's virtual machine. The same on every machine.
  int64_t sql_steps();

  // Fails writes with "disk full" above this many pages of 4096 bytes; for tests of that.
  absl::Status LimitPages(int64_t pages);

 private:
  Store(std::string state_dir, StoreOptions options)
      : state_dir_(std::move(state_dir)), options_(std::move(options)) {}
  absl::StatusOr<std::unique_ptr<Segments>> OpenSegments(const std::string& folder, const std::string& rows,
                                                         int64_t rotate_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RepairGroups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ForgetRecord(const JobId& job, Draw draw, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TransactLocked(const std::function<absl::Status(StoreTransaction&)>& body)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  struct RecordedRow {
    RecordedGroup group;
    SegmentRef record;
    PolicyVersion oldest = kNoPolicyVersion, newest = kNoPolicyVersion;
  };
  absl::Status ReadRecordedBatches(const JobId& job, int64_t steps,
                                   std::vector<std::vector<RecordedRow>>& out)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(read_mu_);
  absl::Status ReadRecordedSamples(const JobId& job, int64_t steps, std::map<Draw, RecordedGroup*>& groups)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(read_mu_);
  // A complete group in a list of samples.
  struct ListedGroup {
    SegmentRef ref;
    int64_t step = 0;
    Draw draw = 0;
    std::map<uint32_t, std::pair<std::string, int64_t>> columns;  // index -> ledger column, step
  };
  // Of those behind `after` (null: of all) the first few.
  absl::StatusOr<std::vector<ListedGroup>> ReadListedGroups(const JobId& job, int64_t step, bool evaluation,
                                                            const ListedGroup* after, int64_t limit);
  absl::Status ExplainMissing(const JobId& job, int64_t step, bool evaluation);
  // Retention (retention.cc): each does one bounded piece and says whether there was one.
  absl::StatusOr<bool> RemoveProgressFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<bool> RemoveGroupFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status RemoveUnusedGroupFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<bool> RemoveDeletedJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<bool> TidyJobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<bool> CompactDraws(const JobHorizon& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<bool> ForgetBatchDraws(const JobHorizon& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<bool> IsNeeded(int64_t segment) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CloseAttempts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status ReserveEpochs(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(epochs_mu_);
  absl::StatusOr<Group> ReadGroup(const SegmentRef& ref);

  const std::string state_dir_;
  const StoreOptions options_;
  std::atomic<int64_t> writing_since_{0};  // nanoseconds of absl::Now(); 0: not writing
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<Segments> groups_, progress_;  // of complete groups; of samples under way
  absl::Mutex mu_;
  std::unique_ptr<Database> db_ ABSL_GUARDED_BY(mu_);
  bool attempts_open_ ABSL_GUARDED_BY(mu_) =
      true;                                     // of a coordinator before: the first transaction ends them
  int64_t retiring_ ABSL_GUARDED_BY(mu_) = -1;  // file whose records no row is to refer to any more; -1: none
  bool untidy_ ABSL_GUARDED_BY(mu_) = true;     // something changed since Tidy found nothing to do
  std::set<JobId> untidied_ ABSL_GUARDED_BY(mu_);  // that have ended, and may have rows that are not kept
  absl::Mutex epochs_mu_;                          // before mu_; epochs are reserved in blocks
  uint64_t next_epoch_ ABSL_GUARDED_BY(epochs_mu_) = 0,
                       epochs_end_ ABSL_GUARDED_BY(epochs_mu_) = 0;  // reserved, not given
  absl::Mutex read_mu_;
  std::unique_ptr<Database> reader_ ABSL_GUARDED_BY(read_mu_);
};

}  // namespace sluice
