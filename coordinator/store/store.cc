#include "coordinator/store/store.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "coordinator/store/group_codec.h"
#include "coordinator/store/spec_json.h"
#include "coordinator/store/view_json.h"
#include "core/base/fail_point.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kLeastFileBytes = int64_t{1} << 20, kMostFileBytes = int64_t{256} << 20;
constexpr int64_t kProgressFileBytes = int64_t{64} << 20;
// Above all epochs that programs of schema 1 gave: those were times in milliseconds.
constexpr int64_t kEpochBase = int64_t{1} << 48;
constexpr int64_t kEpochsReserved = 1024;  // at once
constexpr int64_t kGroupsListed = 64;      // read at once

SegmentRef RefAt(const SqlRow& row, int column) {
  if (row.IsNull(column)) return {};
  return {row.Int(column), row.Int(column + 1), row.Int(column + 2)};
}

absl::Status ReadJob(const SqlRow& row, JobRow& out) {
  JobView& view = out.view;
  view.job = row.Text(0);
  SLUICE_ASSIGN_OR_RETURN(view.spec, SpecFromJson(row.Text(1)));
  out.files_hash = row.Text(2);
  view.state = static_cast<JobState>(row.Int(3));
  out.paused = row.Int(4) != 0;
  view.error = row.Text(5);
  view.step = row.Int(6);
  view.version = row.Int(7);
  view.warm_start_step = row.Int(8);
  out.next_draw = static_cast<Draw>(row.Int(9));
  out.policy = PolicyRef{view.job, view.version, row.Text(10), row.Text(11)};
  out.checkpointed = row.Int(12);
  if (!row.Text(13).empty()) {
    SLUICE_ASSIGN_OR_RETURN(view.last_step, StepRecordFromJson(row.Text(13)));
  }
  view.create_time = absl::FromUnixMicros(row.Int(14));
  if (!row.IsNull(15)) view.end_time = absl::FromUnixMicros(row.Int(15));
  view.max_staleness = row.Int(16);
  view.exact_compared = row.Int(17);
  view.exact_max_difference = row.Real(18);
  view.learner = row.Text(19);
  view.promoted = row.Int(20);
  return absl::OkStatus();
}

constexpr char kJobColumns[] =
    "job, spec, files_hash, state, paused, error, step, version, warm_start_step, next_draw, manifest_hash, "
    "source, "
    "checkpointed, last_step, created, ended, max_staleness, exact_compared, exact_max_difference, learner, "
    "promoted";

// The newest first.
absl::StatusOr<std::vector<CanaryView>> ReadCanaries(Database& db, const JobId& job, int64_t limit) {
  std::vector<CanaryView> out;
  absl::Status bad;
  SLUICE_RETURN_IF_ERROR(
      db.Query("SELECT version, verdict, score, worker, reason, time FROM canaries WHERE job = ? ORDER BY "
               "version DESC "
               "LIMIT ?",
               {job, limit}, [&](const SqlRow& row) {
                 const auto verdict = CanaryVerdictOf(row.Text(1));
                 if (!verdict)
                   bad = absl::DataLossError(absl::StrCat("canaries of ", job, ": ", row.Text(1)));
                 CanaryRecord record{.version = row.Int(0), .worker = row.Text(3), .why = row.Text(4)};
                 record.verdict = verdict.value_or(CanaryVerdict::kRefused);
                 record.score = row.IsNull(2) ? std::numeric_limits<double>::quiet_NaN() : row.Real(2);
                 out.push_back({std::move(record), absl::FromUnixMicros(row.Int(5))});
               }));
  SLUICE_RETURN_IF_ERROR(bad);
  return out;
}

absl::StatusOr<std::vector<StoredRollback>> ReadRollbacks(Database& db, const JobId& job) {
  std::vector<StoredRollback> out;
  SLUICE_RETURN_IF_ERROR(db.Query(
      "SELECT r.version, r.parent, r.first_draw, r.reason, r.time, b.committed, r.by_guard FROM rollbacks r "
      "JOIN batches b ON b.job = r.job AND b.version = r.version WHERE r.job = ? ORDER BY r.version",
      {job}, [&](const SqlRow& row) {
        out.push_back({row.Int(0), row.Int(1), static_cast<Draw>(row.Int(2)), row.Text(3),
                       absl::FromUnixMicros(row.Int(4)), row.Int(5) != 0, row.Int(6) != 0});
      }));
  return out;
}

absl::StatusOr<Ledger> ReadLedger(Database& db, const JobId& job) {
  Ledger ledger;
  SLUICE_RETURN_IF_ERROR(
      db.Query("SELECT name, samples FROM ledger WHERE job = ?", {job}, [&](const SqlRow& row) {
        if (row.Text(0) == "issued") ledger.issued = row.Int(1);
        for (int c = 0; c < kLedgerColumns; ++c) {
          if (row.Text(0) == LedgerColumnName(static_cast<LedgerColumn>(c))) {
            ledger.columns[static_cast<size_t>(c)] = row.Int(1);
          }
        }
      }));
  return ledger;
}

// What other tables say of it.
absl::Status ReadView(Database& db, JobView& view) {
  absl::Status bad;
  std::vector<EvaluationView> evaluations;
  std::vector<JobEventView> events;
  SLUICE_RETURN_IF_ERROR(db.Query("SELECT result FROM evaluations WHERE job = ? ORDER BY step", {view.job},
                                  [&](const SqlRow& r) {
                                    auto evaluation = EvaluationFromJson(r.Text(0));
                                    if (evaluation.ok()) evaluations.push_back(*std::move(evaluation));
                                    bad.Update(evaluation.status());
                                  }));
  SLUICE_RETURN_IF_ERROR(
      db.Query("SELECT time, text FROM (SELECT seq, time, text FROM events WHERE job = ? ORDER BY seq DESC "
               "LIMIT 100) ORDER BY seq",
               {view.job}, [&](const SqlRow& r) {
                 events.push_back({absl::FromUnixMicros(r.Int(0)), r.Text(1)});
               }));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<StoredRollback> rollbacks, ReadRollbacks(db, view.job));
  for (const StoredRollback& r : rollbacks) {
    if (r.committed) view.rollbacks.push_back({r.version, r.parent, r.reason, r.time});
  }
  view.evaluations = std::move(evaluations);
  view.events = std::move(events);
  SLUICE_ASSIGN_OR_RETURN(view.ledger, ReadLedger(db, view.job));
  SLUICE_ASSIGN_OR_RETURN(std::vector<CanaryView> canaries, ReadCanaries(db, view.job, 1));
  if (!canaries.empty()) view.canary = std::move(canaries[0]);
  return bad;
}

// `which`: behind the name of the table.
absl::StatusOr<std::vector<JobRow>> ReadJobs(Database& db, const std::string& which,
                                             const std::vector<SqlValue>& values) {
  std::vector<JobRow> jobs;
  absl::Status bad;
  SLUICE_RETURN_IF_ERROR(
      db.Query(absl::StrCat("SELECT ", kJobColumns, " FROM jobs ", which), values, [&](const SqlRow& row) {
        JobRow job;
        absl::Status status = ReadJob(row, job);
        if (status.ok()) jobs.push_back(std::move(job));
        bad.Update(status);
      }));
  SLUICE_RETURN_IF_ERROR(bad);
  for (JobRow& job : jobs) SLUICE_RETURN_IF_ERROR(ReadView(db, job.view));
  return jobs;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& state_dir, StoreOptions options) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(state_dir));
  std::unique_ptr<Store> store(new Store(state_dir, std::move(options)));
  auto lock = FileLock::Acquire(state_dir + "/lock");
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("state directory in use: ", state_dir, " belongs to a running coordinator"));
  }
  SLUICE_RETURN_IF_ERROR(lock.status());
  store->lock_ = *std::move(lock);
  absl::MutexLock guard(&store->mu_);
  SLUICE_ASSIGN_OR_RETURN(store->db_, Database::Open(state_dir + "/sluice.db"));
  SLUICE_RETURN_IF_ERROR(Annotate(UpgradeSchema(*store->db_), state_dir));
  {
    absl::MutexLock reading(&store->read_mu_);
    SLUICE_ASSIGN_OR_RETURN(store->reader_, Database::OpenToRead(state_dir + "/sluice.db"));
  }
  SLUICE_RETURN_IF_ERROR(store->db_->Query("SELECT job FROM jobs WHERE ended IS NOT NULL", {},
                                           [&](const SqlRow& row) { store->untidied_.insert(row.Text(0)); }));
  const int64_t rotate_bytes = std::clamp(store->options_.keep_bytes / 8, kLeastFileBytes, kMostFileBytes);
  SLUICE_ASSIGN_OR_RETURN(
      store->groups_,
      store->OpenSegments(
          state_dir + "/segments",
          "SELECT * FROM (SELECT segment, offset, bytes FROM groups WHERE segment IS NOT NULL "
          "ORDER BY segment DESC, offset DESC LIMIT 1) UNION ALL "
          "SELECT * FROM (SELECT segment, offset, bytes FROM evaluation_groups WHERE segment IS "
          "NOT NULL ORDER BY segment DESC, offset DESC LIMIT 1)",
          rotate_bytes));
  SLUICE_ASSIGN_OR_RETURN(
      store->progress_,
      store->OpenSegments(
          state_dir + "/progress",
          "SELECT segment, offset, bytes FROM progress ORDER BY segment DESC, offset DESC LIMIT 1",
          kProgressFileBytes));
  SLUICE_RETURN_IF_ERROR(store->RepairGroups());
  // What cannot be written now is with the next transaction: a full disk keeps nobody from looking.
  const absl::Status status = store->TransactLocked([](StoreTransaction&) { return absl::OkStatus(); });
  if (!status.ok() && !IsDiskFault(status)) return status;
  return store;
}

// `rows`: a query of the records that are referred to, the last of them among its rows.
absl::StatusOr<std::unique_ptr<Segments>> Store::OpenSegments(const std::string& folder,
                                                              const std::string& rows, int64_t rotate_bytes) {
  SegmentRef last;
  SLUICE_RETURN_IF_ERROR(db_->Query(rows, {}, [&](const SqlRow& row) {
    const SegmentRef ref = RefAt(row, 0);
    if (std::pair(ref.segment, ref.offset) > std::pair(last.segment, last.offset)) last = ref;
  }));
  return Segments::Open(folder, last, {rotate_bytes, options_.fault});
}

absl::Status Store::RepairGroups() {
  struct Open {
    JobId job;
    Draw draw;
    SegmentRef ref;
  };
  std::vector<Open> groups;
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT g.job, g.draw, g.segment, g.offset, g.bytes FROM "
                 "(SELECT DISTINCT job, draw FROM samples WHERE ledger = 'in_flight') AS s "
                 "JOIN groups g ON g.job = s.job AND g.draw = s.draw JOIN jobs j ON j.job = g.job "
                 "WHERE j.ended IS NULL AND g.segment IS NOT NULL",
                 {}, [&](const SqlRow& row) {
                   groups.push_back({row.Text(0), static_cast<Draw>(row.Int(1)), RefAt(row, 2)});
                 }));
  for (const Open& group : groups) {
    const absl::Status status = ReadGroup(group.ref).status();
    if (absl::IsDataLoss(status)) {
      SLUICE_RETURN_IF_ERROR(ForgetRecord(group.job, group.draw, std::string(status.message())));
    } else if (!status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

// Its samples in flight are generated again. A batch that was recorded with it and not trained is made anew.
absl::Status Store::ForgetRecord(const JobId& job, Draw draw, const std::string& why) {
  LogError("group_damaged", {{"job", job}, {"draw", draw}, {"why", why}});
  return TransactLocked([&, db = db_.get()](StoreTransaction& tx) -> absl::Status {
    SLUICE_RETURN_IF_ERROR(
        db->Run("UPDATE groups SET segment = NULL, offset = NULL, bytes = NULL, oldest = NULL, newest = NULL "
                "WHERE job = ? "
                "AND draw = ?",
                {job, SqlInteger(draw)}));
    SLUICE_RETURN_IF_ERROR(
        db->Run("DELETE FROM batches WHERE job = ?1 AND NOT committed AND version IN "
                "(SELECT version FROM batch_draws WHERE job = ?1 AND draw = ?2)",
                {job, SqlInteger(draw)}));
    SLUICE_RETURN_IF_ERROR(
        db->Run("DELETE FROM batch_draws WHERE job = ?1 AND version NOT IN (SELECT version FROM batches "
                "WHERE job = ?1)",
                {job}));
    return tx.AddEvent(job, {absl::Now(), absl::StrCat("draw ", draw, " is generated again: ", why)});
  });
}

// Those under way when a coordinator before this one ended.
absl::Status Store::CloseAttempts() {
  return db_->Run("UPDATE attempts SET outcome = ?, ended = ? WHERE ended IS NULL",
                  {AttemptOutcomeName(AttemptOutcome::kLost), absl::ToUnixMicros(absl::Now())});
}

absl::StatusOr<uint64_t> Store::NextEpoch(absl::Time now) {
  absl::MutexLock lock(&epochs_mu_);
  if (next_epoch_ == epochs_end_) SLUICE_RETURN_IF_ERROR(ReserveEpochs(now));
  return next_epoch_++;
}

absl::Status Store::ReserveEpochs(absl::Time now) {
  int64_t reserved = 0;
  absl::MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(db_->Query("SELECT value FROM meta WHERE key = 'epochs_reserved'", {},
                                    [&](const SqlRow& row) { reserved = row.Int(0); }));
  const int64_t first = std::max(reserved, kEpochBase + std::max<int64_t>(0, absl::ToUnixMillis(now)));
  const int64_t end = first + kEpochsReserved;
  SLUICE_RETURN_IF_ERROR(db_->Run("INSERT OR REPLACE INTO meta VALUES ('epochs_reserved', ?)", {end}));
  next_epoch_ = static_cast<uint64_t>(first);
  epochs_end_ = static_cast<uint64_t>(end);
  return absl::OkStatus();
}

absl::Status Store::LimitPages(int64_t pages) {
  absl::MutexLock lock(&mu_);
  return db_->Script(absl::StrCat("PRAGMA max_page_count=", pages, ";"));
}

int64_t Store::sql_steps() {
  absl::MutexLock lock(&mu_);
  absl::MutexLock reading(&read_mu_);
  return db_->steps() + reader_->steps();
}

absl::Status Store::Transact(const std::function<absl::Status(StoreTransaction&)>& body) {
  absl::MutexLock lock(&mu_);
  return TransactLocked(body);
}

absl::Status Store::TransactLocked(const std::function<absl::Status(StoreTransaction&)>& body) {
  const absl::Time started = absl::Now();
  writing_since_ = absl::ToUnixNanos(started);
  absl::Status status = db_->Run("BEGIN IMMEDIATE");
  if (status.ok()) {
    StoreTransaction transaction(*db_, *groups_, *progress_);
    if (attempts_open_) status = CloseAttempts();
    if (status.ok()) status = body(transaction);
    // What rows refer to is durable before the rows are.
    if (status.ok() && transaction.appended_) status = groups_->Sync();
    SLUICE_FAIL_POINT("coordinator.transaction_written");
    const int fault = status.ok() && options_.fault ? options_.fault("database.commit") : 0;
    if (fault != 0) status = DiskError(fault, "store");
    if (status.ok()) status = db_->Run("COMMIT");
    SLUICE_FAIL_POINT("coordinator.transaction_committed");
    if (!status.ok()) (void)db_->Run("ROLLBACK");  // fails where SQLite rolled back itself
    if (status.ok()) untidied_.insert(transaction.ended_.begin(), transaction.ended_.end());
  }
  if (status.ok()) attempts_open_ = false;
  writing_since_ = 0;
  if (options_.on_commit) options_.on_commit(absl::Now() - started);
  untidy_ = true;
  return status;
}

absl::Duration Store::WritingFor() const {
  const int64_t since = writing_since_;
  return since == 0 ? absl::ZeroDuration() : absl::Now() - absl::FromUnixNanos(since);
}

absl::StatusOr<bool> Store::WasDeleted(const JobId& job) {
  absl::MutexLock lock(&read_mu_);
  bool deleted = false;
  SLUICE_RETURN_IF_ERROR(reader_->Query("SELECT 1 FROM deleted_jobs WHERE job = ?", {job},
                                        [&](const SqlRow&) { deleted = true; }));
  return deleted;
}

absl::StatusOr<std::vector<JobId>> Store::ListKeptByLearner(const std::string& learner, int64_t limit) {
  absl::MutexLock lock(&read_mu_);
  std::vector<JobId> jobs;
  SLUICE_RETURN_IF_ERROR(
      reader_->Query("SELECT job FROM deleted_jobs WHERE learner = ? AND learner <> '' ORDER BY job LIMIT ?",
                     {learner, limit}, [&](const SqlRow& row) { jobs.push_back(row.Text(0)); }));
  return jobs;
}

absl::StatusOr<JobId> Store::FindRequest(const std::string& request_id) {
  absl::MutexLock lock(&read_mu_);
  JobId job;
  SLUICE_RETURN_IF_ERROR(reader_->Query("SELECT job FROM request_ids WHERE request_id = ?", {request_id},
                                        [&](const SqlRow& row) { job = row.Text(0); }));
  return job;
}

absl::StatusOr<std::vector<JobRow>> Store::LoadJobs() {
  absl::MutexLock lock(&mu_);
  return ReadJobs(*db_, "INDEXED BY jobs_under_way WHERE ended IS NULL ORDER BY seq", {});
}

absl::StatusOr<JobRow> Store::LoadJob(const JobId& job) {
  absl::MutexLock lock(&read_mu_);
  SLUICE_ASSIGN_OR_RETURN(std::vector<JobRow> found, ReadJobs(*reader_, "WHERE job = ?", {job}));
  if (found.empty()) return absl::NotFoundError(absl::StrCat("there is no job \"", job, "\""));
  return std::move(found[0]);
}

absl::StatusOr<std::vector<JobView>> Store::ListEndedJobs(int64_t limit, const JobPlace& after) {
  const int64_t created = after.created == absl::InfiniteFuture() ? std::numeric_limits<int64_t>::max()
                                                                  : absl::ToUnixMicros(after.created);
  absl::MutexLock lock(&read_mu_);
  SLUICE_ASSIGN_OR_RETURN(
      std::vector<JobRow> found,
      ReadJobs(*reader_,
               "INDEXED BY jobs_ended WHERE ended IS NOT NULL AND (created, job) < (?, ?) "
               "ORDER BY created DESC, job DESC LIMIT ?",
               {created, after.job, limit}));
  std::vector<JobView> views;
  for (JobRow& row : found) views.push_back(std::move(row.view));
  return views;
}

absl::StatusOr<std::vector<CanaryRecord>> Store::LoadCanaries(const JobId& job) {
  absl::MutexLock lock(&mu_);
  SLUICE_ASSIGN_OR_RETURN(std::vector<CanaryView> canaries,
                          ReadCanaries(*db_, job, std::numeric_limits<int64_t>::max()));
  std::vector<CanaryRecord> out;
  for (auto it = canaries.rbegin(); it != canaries.rend(); ++it) out.push_back(std::move(it->record));
  return out;
}

absl::StatusOr<std::vector<StoredRollback>> Store::LoadRollbacks(const JobId& job) {
  absl::MutexLock lock(&mu_);
  return ReadRollbacks(*db_, job);
}

absl::StatusOr<Ledger> Store::LoadLedger(const JobId& job) {
  absl::MutexLock lock(&mu_);
  return ReadLedger(*db_, job);
}

absl::StatusOr<std::vector<StoredGroup>> Store::LoadOpenGroups(const JobId& job) {
  absl::MutexLock lock(&mu_);
  std::vector<StoredGroup> groups;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT g.draw, g.train_by, s.idx, s.ledger, g.segment, g.offset, g.bytes, "
      "(SELECT COALESCE(MAX(number) + 1, 0) FROM attempts a WHERE a.job = g.job AND a.draw = g.draw) "
      "FROM groups g JOIN samples s ON s.job = g.job AND s.draw = g.draw WHERE g.job = ?1 AND g.draw IN "
      "(SELECT draw FROM samples WHERE job = ?1 AND ledger = 'in_flight') ORDER BY g.draw, s.idx",
      {job}, [&](const SqlRow& row) {
        const Draw draw = static_cast<Draw>(row.Int(0));
        if (groups.empty() || groups.back().draw != draw) {
          groups.push_back(StoredGroup{.draw = draw,
                                       .train_by = row.Int(1),
                                       .record = RefAt(row, 4),
                                       .attempts = static_cast<uint32_t>(row.Int(7))});
        }
        groups.back().in_flight.push_back(row.Text(3) == "in_flight");
      }));
  return groups;
}

absl::StatusOr<std::optional<StoredBatch>> Store::LoadBatch(const JobId& job, PolicyVersion version) {
  absl::MutexLock lock(&mu_);
  std::optional<StoredBatch> batch;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT committed, manifest_hash, metrics FROM batches WHERE job = ? AND version = ?", {job, version},
      [&](const SqlRow& row) {
        batch = StoredBatch{.version = version, .committed = row.Int(0) != 0, .manifest_hash = row.Text(1)};
        if (auto record = StepRecordFromJson(row.Text(2)); record.ok()) batch->metrics = record->metrics;
      }));
  if (!batch) return batch;
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT draw FROM batch_draws WHERE job = ? AND version = ? ORDER BY place", {job, version},
                 [&](const SqlRow& row) { batch->draws.push_back(static_cast<Draw>(row.Int(0))); }));
  return batch;
}

absl::StatusOr<Draw> Store::DrawnUntil(const JobId& job, PolicyVersion version) {
  constexpr int64_t kOldest = 1001;  // staleness.max_versions is at most 1000
  absl::MutexLock lock(&mu_);
  Draw end = 0;
  // Ranges in order ("0-3,7"): the last number is the greatest.
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT draws FROM batches WHERE job = ? AND committed AND draws != '' AND version <= ? AND "
                 "version > ?",
                 {job, version, version - kOldest}, [&](const SqlRow& row) {
                   const std::string draws = row.Text(0);
                   const size_t last = draws.find_last_of(",-");
                   uint64_t draw = 0;
                   if (absl::SimpleAtoi(last == draws.npos ? draws : draws.substr(last + 1), &draw))
                     end = std::max(end, draw + 1);
                 }));
  return end;
}

absl::StatusOr<Group> Store::ReadGroup(const SegmentRef& ref) {
  SLUICE_ASSIGN_OR_RETURN(std::string bytes, groups_->Read(ref));
  return DecodeGroup(bytes);
}

absl::StatusOr<Group> Store::LoadGroup(const JobId& job, Draw draw) {
  SegmentRef ref;
  {
    absl::MutexLock lock(&mu_);
    SLUICE_RETURN_IF_ERROR(db_->Query("SELECT segment, offset, bytes FROM groups WHERE job = ? AND draw = ?",
                                      {job, SqlInteger(draw)},
                                      [&](const SqlRow& row) { ref = RefAt(row, 0); }));
  }
  if (ref.segment < 0)
    return absl::NotFoundError(absl::StrCat("group ", draw, " of ", job, " is not complete"));
  return ReadGroup(ref);
}

absl::StatusOr<std::vector<Trajectory>> Store::LoadProgress(const JobId& job) {
  std::vector<std::pair<SampleKey, SegmentRef>> saved;
  {
    absl::MutexLock lock(&mu_);
    SLUICE_RETURN_IF_ERROR(db_->Query(
        "SELECT draw, idx, segment, offset, bytes FROM progress WHERE job = ? ORDER BY draw, idx", {job},
        [&](const SqlRow& row) {
          saved.emplace_back(SampleKey{static_cast<Draw>(row.Int(0)), static_cast<uint32_t>(row.Int(1))},
                             RefAt(row, 2));
        }));
  }
  std::vector<Trajectory> progress;
  for (const auto& [key, ref] : saved) {
    absl::StatusOr<ProgressRecord> record = absl::DataLossError("");
    if (auto bytes = progress_->Read(ref); bytes.ok()) record = DecodeProgress(*bytes);
    // After a loss of power another record may be in its place.
    if (!record.ok() || record->job != job || record->trajectory.key != key) {
      LogWarning("progress_lost", {{"job", job}, {"draw", key.draw}, {"index", key.index}});
      continue;
    }
    progress.push_back(std::move(record->trajectory));
  }
  return progress;
}

absl::StatusOr<std::vector<Store::ListedGroup>> Store::ReadListedGroups(const JobId& job, int64_t step,
                                                                        bool evaluation,
                                                                        const ListedGroup* after,
                                                                        int64_t limit) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  std::string sql;
  std::vector<SqlValue> values = {job, step, limit};
  if (evaluation) {
    sql = absl::StrCat(
        "SELECT draw, segment, offset, bytes, step, NULL, NULL, NULL FROM evaluation_groups WHERE job = ?1 "
        "AND "
        "step <= ?4 AND (step < ?4 OR draw > ?5) ",
        step > 0 ? "AND step = ?2 " : "", "ORDER BY step DESC, draw LIMIT ?3");
    values.insert(values.end(),
                  {after == nullptr ? kEnd : after->step, after == nullptr ? -1 : SqlInteger(after->draw)});
  } else {
    sql = absl::StrCat(
        "SELECT g.draw, g.segment, g.offset, g.bytes, 0, s.idx, s.ledger, s.step FROM (SELECT draw, segment, "
        "offset, bytes FROM groups WHERE job = ?1 AND segment IS NOT NULL AND draw < ?4 ",
        step > 0 ? "AND draw IN (SELECT draw FROM batch_draws WHERE job = ?1 AND version = ?2) " : "",
        "ORDER BY draw DESC LIMIT ?3) g LEFT JOIN samples s ON s.job = ?1 AND s.draw = g.draw "
        "ORDER BY g.draw DESC");
    values.emplace_back(after == nullptr ? kEnd : SqlInteger(after->draw));
  }
  std::vector<ListedGroup> found;
  absl::MutexLock lock(&read_mu_);
  SLUICE_RETURN_IF_ERROR(reader_->Query(sql, values, [&](const SqlRow& row) {
    const auto draw = static_cast<Draw>(row.Int(0));
    if (found.empty() || found.back().draw != draw || found.back().step != row.Int(4)) {
      found.push_back({RefAt(row, 1), row.Int(4), draw, {}});
    }
    if (row.IsNull(5)) return;
    found.back().columns[static_cast<uint32_t>(row.Int(5))] = {row.Text(6), row.Int(7)};
  }));
  return found;
}

absl::Status Store::ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                                const std::function<bool(const SampleView&)>& on_sample) {
  int32_t left = limit;
  int64_t bytes = 0;
  absl::Status damaged;
  std::vector<ListedGroup> found;
  do {
    const ListedGroup last = found.empty() ? ListedGroup() : found.back();
    // A group has at least one sample.
    SLUICE_ASSIGN_OR_RETURN(std::vector<ListedGroup> next,
                            ReadListedGroups(job, step, evaluation, found.empty() ? nullptr : &last,
                                             std::min<int64_t>(left, kGroupsListed)));
    if (next.empty() && found.empty() && step > 0) return ExplainMissing(job, step, evaluation);
    if (next.empty()) return damaged;
    found = std::move(next);
    for (const ListedGroup& item : found) {
      bytes += item.ref.bytes;
      if (bytes > kMaxListedBytes) {
        return absl::OutOfRangeError(absl::StrCat("the list ends here, after ", kMaxListedBytes,
                                                  " bytes of samples: give a limit, or a step"));
      }
      auto group = ReadGroup(item.ref);
      damaged.Update(group.status());
      if (!group.ok()) continue;
      for (ScoredSample& sample : group->samples) {
        if (left-- <= 0) return damaged;
        SampleView view;
        view.prompt = group->prompt.text;
        view.prompt_uid = group->prompt.uid;
        view.step = item.step;
        if (auto at = item.columns.find(sample.trajectory.key.index); at != item.columns.end()) {
          view.ledger_column = at->second.first;
          view.step = at->second.second;
        }
        view.sample = std::move(sample);
        if (!on_sample(view)) return damaged;
      }
    }
  } while (left > 0);
  return damaged;
}

absl::Status Store::ExplainMissing(const JobId& job, int64_t step, bool evaluation) {
  bool known = false;
  absl::MutexLock lock(&read_mu_);
  const std::string sql = evaluation ? "SELECT 1 FROM evaluations WHERE job = ? AND step = ?"
                                     : "SELECT 1 FROM batches WHERE job = ? AND version = ? AND trained > 0";
  SLUICE_RETURN_IF_ERROR(reader_->Query(sql, {job, step}, [&](const SqlRow&) { known = true; }));
  if (!known) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("the samples of step ", step, " of ", job,
                                          " are no longer kept: --keep-samples-bytes of the coordinator is ",
                                          options_.keep_bytes));
}

absl::Status Store::CheckLedger(const JobId& job) {
  absl::MutexLock lock(&mu_);
  std::string wrong;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT l.name, l.samples, (SELECT COUNT(*) FROM samples s WHERE s.job = l.job AND "
      "(l.name = 'issued' OR s.ledger = l.name)) + (SELECT COALESCE(SUM(c.samples), 0) FROM "
      "compacted_samples c "
      "WHERE c.job = l.job AND (l.name = 'issued' OR c.name = l.name)) FROM ledger l WHERE l.job = ?",
      {job}, [&](const SqlRow& row) {
        if (row.Int(1) != row.Int(2)) {
          absl::StrAppend(&wrong, row.Text(0), " says ", row.Int(1), ", there are ", row.Int(2), "; ");
        }
      }));
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT SUM(CASE WHEN name = 'issued' THEN samples ELSE -samples END) FROM ledger WHERE job = ?", {job},
      [&](const SqlRow& row) {
        if (row.Int(0) != 0) absl::StrAppend(&wrong, "issued differs from the sum by ", row.Int(0));
      }));
  return wrong.empty() ? absl::OkStatus() : absl::InternalError(absl::StrCat("ledger of ", job, ": ", wrong));
}

}  // namespace sluice
