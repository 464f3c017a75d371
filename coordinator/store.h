// The durable account of all jobs: SQLite (STATE/sluice.db) for what must be transactional, segment files
// (STATE/segments) for tokens, log-probabilities and texts. One process at a time has it. Thread-safe.
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
#include "coordinator/segments.h"
#include "core/base/file.h"
#include "core/rl/types.h"

namespace sluice {

// A job's row: what is durable of its view, and what a restart needs.
struct JobRow {
  JobView view;  // ledger, evaluations and events are read from their own tables
  bool paused = false;
  std::string files_hash;  // of the prompt files as submitted
  PolicyRef policy;        // of view.version
  PolicyVersion checkpointed = kNoPolicyVersion;
  Draw next_draw = 0;
};

struct StoredGroup {
  Draw draw = 0;
  PolicyVersion train_by = 0;
  SegmentRef record;            // complete when it is set
  std::vector<bool> in_flight;  // by index: not settled
};

struct StoredBatch {
  PolicyVersion version = 0;
  std::vector<Draw> draws;
  bool committed = false;
  std::string manifest_hash;
};

class StoreTransaction;

class Store {
 public:
  static constexpr int64_t kSchemaVersion = 1;
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
  absl::Status ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                           const std::function<bool(const SampleView&)>& on_sample);
  // Whether every counter equals the rows it counts, and issued the sum: INTERNAL names what does not.
  absl::Status CheckLedger(const JobId& job);

  // Fails writes with "disk full" above this many pages of 4096 bytes; for tests of that.
  absl::Status LimitPages(int64_t pages);

 private:
  friend class StoreTransaction;
  Store() = default;
  absl::Status MakeSchema();
  absl::Status LoadView(JobRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<Group> ReadGroup(const SegmentRef& ref);

  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<Segments> segments_;
  absl::Mutex mu_;
  std::unique_ptr<Database> db_ ABSL_GUARDED_BY(mu_);
};

// The writes of one transaction. Only inside Store::Transact.
class StoreTransaction {
 public:
  absl::Status InsertJob(const JobRow& row, const std::string& request_id);
  absl::Status UpdateJob(const JobRow& row);
  absl::Status IssueGroup(const JobId& job, Draw draw, PolicyVersion train_by, int64_t samples);
  absl::Status CompleteGroup(const JobId& job, const Group& group);
  // in_flight -> column. FAILED_PRECONDITION when it is not in flight (ONCE).
  absl::Status SettleSample(const JobId& job, const SampleKey& sample, LedgerColumn column,
                            const std::string& reason);
  // All of the group's samples that are in flight.
  absl::Status DropGroup(const JobId& job, Draw draw, LedgerColumn column, const std::string& reason);
  absl::Status CancelInFlight(const JobId& job, const std::string& reason);  // all groups of the job
  absl::Status RecordBatch(const JobId& job, PolicyVersion version, const std::vector<Draw>& draws);
  // The batch is trained: its samples in flight become trained by `step`.
  absl::Status CommitBatch(const JobId& job, const PolicyRef& policy, const std::vector<Draw>& draws,
                           const StepRecordView& record);
  absl::Status AddEvaluationGroup(const JobId& job, int64_t step, const Group& group);
  absl::Status AddEvaluation(const JobId& job, const EvaluationView& evaluation);
  absl::Status AddEvent(const JobId& job, const JobEventView& event);
  absl::Status AddAttempt(const JobId& job, const std::string& worker, Draw draw, uint32_t number,
                          int64_t samples, absl::Time started);

 private:
  friend class Store;
  StoreTransaction(Database& db, Segments& segments) : db_(db), segments_(segments) {}
  absl::Status Count(const JobId& job, const char* column, int64_t by);
  absl::StatusOr<SegmentRef> Append(const Group& group);
  Database& db_;
  Segments& segments_;
  bool appended_ = false;
};

}  // namespace sluice
