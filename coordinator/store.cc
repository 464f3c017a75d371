#include "coordinator/store.h"

#include "absl/strings/str_cat.h"
#include "coordinator/group_codec.h"
#include "coordinator/spec_json.h"
#include "coordinator/view_json.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr char kSchema[] = R"sql(
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT UNIQUE NOT NULL, spec TEXT NOT NULL, files_hash TEXT NOT NULL,
  state INTEGER NOT NULL, paused INTEGER NOT NULL, error TEXT NOT NULL,
  step INTEGER NOT NULL, version INTEGER NOT NULL, warm_start_step INTEGER NOT NULL, next_draw INTEGER NOT NULL,
  manifest_hash TEXT NOT NULL, source TEXT NOT NULL, checkpointed INTEGER NOT NULL, last_step TEXT NOT NULL,
  created INTEGER NOT NULL, ended INTEGER,
  max_staleness INTEGER NOT NULL, exact_compared INTEGER NOT NULL, exact_max_difference REAL NOT NULL);
CREATE TABLE IF NOT EXISTS request_ids (request_id TEXT PRIMARY KEY, job TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS groups (
  job TEXT NOT NULL, draw INTEGER NOT NULL, train_by INTEGER NOT NULL, segment INTEGER, offset INTEGER, bytes INTEGER,
  PRIMARY KEY (job, draw)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS samples (
  job TEXT NOT NULL, draw INTEGER NOT NULL, idx INTEGER NOT NULL, ledger TEXT NOT NULL, reason TEXT, step INTEGER,
  PRIMARY KEY (job, draw, idx)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS samples_in_flight ON samples (job, draw) WHERE ledger = 'in_flight';
CREATE TABLE IF NOT EXISTS ledger (job TEXT NOT NULL, name TEXT NOT NULL, samples INTEGER NOT NULL,
  PRIMARY KEY (job, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (job TEXT NOT NULL, draw INTEGER NOT NULL, number INTEGER NOT NULL,
  worker TEXT NOT NULL, samples INTEGER NOT NULL, started INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS batches (
  job TEXT NOT NULL, version INTEGER NOT NULL, committed INTEGER NOT NULL, manifest_hash TEXT NOT NULL,
  metrics TEXT NOT NULL, PRIMARY KEY (job, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batch_draws (job TEXT NOT NULL, version INTEGER NOT NULL, place INTEGER NOT NULL,
  draw INTEGER NOT NULL, PRIMARY KEY (job, version, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS evaluations (job TEXT NOT NULL, step INTEGER NOT NULL, result TEXT NOT NULL,
  PRIMARY KEY (job, step)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS evaluation_groups (
  job TEXT NOT NULL, step INTEGER NOT NULL, draw INTEGER NOT NULL, segment INTEGER, offset INTEGER, bytes INTEGER,
  PRIMARY KEY (job, step, draw)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (seq INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, time INTEGER NOT NULL,
  text TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_by_job ON events (job, seq);
)sql";

int64_t I(uint64_t value) { return static_cast<int64_t>(value); }

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
  return absl::OkStatus();
}

constexpr char kJobColumns[] =
    "job, spec, files_hash, state, paused, error, step, version, warm_start_step, next_draw, manifest_hash, "
    "source, "
    "checkpointed, last_step, created, ended, max_staleness, exact_compared, exact_max_difference";

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& state_dir) {
  SLUICE_RETURN_IF_ERROR(MakeDirectories(state_dir));
  std::unique_ptr<Store> store(new Store);
  auto lock = FileLock::Acquire(state_dir + "/lock");
  if (absl::IsFailedPrecondition(lock.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat("state directory in use: ", state_dir, " belongs to a running coordinator"));
  }
  SLUICE_RETURN_IF_ERROR(lock.status());
  store->lock_ = *std::move(lock);
  {
    absl::MutexLock guard(&store->mu_);
    SLUICE_ASSIGN_OR_RETURN(store->db_, Database::Open(state_dir + "/sluice.db"));
  }
  SLUICE_RETURN_IF_ERROR(Annotate(store->MakeSchema(), state_dir));
  SLUICE_ASSIGN_OR_RETURN(store->segments_, Segments::Open(state_dir + "/segments"));
  return store;
}

absl::Status Store::MakeSchema() {
  absl::MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(
      db_->Script("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"));
  int64_t found = 0;
  SLUICE_RETURN_IF_ERROR(db_->Query("SELECT value FROM meta WHERE key = 'schema_version'", {},
                                    [&](const SqlRow& row) { found = row.Int(0); }));
  if (found > kSchemaVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the state directory has schema version ", found,
                     ", written by a newer program; this one knows up to ", kSchemaVersion,
                     ": run the newer program, or give another state directory"));
  }
  SLUICE_RETURN_IF_ERROR(db_->Script(kSchema));
  return db_->Run("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", {kSchemaVersion});
}

absl::Status Store::LimitPages(int64_t pages) {
  absl::MutexLock lock(&mu_);
  return db_->Script(absl::StrCat("PRAGMA max_page_count=", pages, ";"));
}

absl::Status Store::Transact(const std::function<absl::Status(StoreTransaction&)>& body) {
  absl::MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(db_->Run("BEGIN IMMEDIATE"));
  StoreTransaction transaction(*db_, *segments_);
  absl::Status status = body(transaction);
  // What rows refer to is durable before the rows are.
  if (status.ok() && transaction.appended_) status = segments_->Sync();
  if (status.ok()) status = db_->Run("COMMIT");
  if (!status.ok()) (void)db_->Run("ROLLBACK");  // fails where SQLite rolled back itself
  return status;
}

absl::StatusOr<JobId> Store::FindRequest(const std::string& request_id) {
  absl::MutexLock lock(&mu_);
  JobId job;
  SLUICE_RETURN_IF_ERROR(db_->Query("SELECT job FROM request_ids WHERE request_id = ?", {request_id},
                                    [&](const SqlRow& row) { job = row.Text(0); }));
  return job;
}

absl::StatusOr<std::vector<JobRow>> Store::LoadJobs() {
  absl::MutexLock lock(&mu_);
  std::vector<JobRow> jobs;
  absl::Status bad;
  SLUICE_RETURN_IF_ERROR(
      db_->Query(absl::StrCat("SELECT ", kJobColumns, " FROM jobs ORDER BY seq"), {}, [&](const SqlRow& row) {
        JobRow job;
        absl::Status status = ReadJob(row, job);
        if (status.ok()) jobs.push_back(std::move(job));
        bad.Update(status);
      }));
  SLUICE_RETURN_IF_ERROR(bad);
  for (JobRow& job : jobs) SLUICE_RETURN_IF_ERROR(LoadView(job));
  return jobs;
}

absl::Status Store::LoadView(JobRow& row) {
  JobView& view = row.view;
  absl::Status bad;
  SLUICE_RETURN_IF_ERROR(db_->Query("SELECT result FROM evaluations WHERE job = ? ORDER BY step", {view.job},
                                    [&](const SqlRow& r) {
                                      auto evaluation = EvaluationFromJson(r.Text(0));
                                      if (evaluation.ok()) view.evaluations.push_back(*std::move(evaluation));
                                      bad.Update(evaluation.status());
                                    }));
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT time, text FROM (SELECT seq, time, text FROM events WHERE job = ? ORDER BY seq DESC "
                 "LIMIT 100) ORDER BY seq",
                 {view.job}, [&](const SqlRow& r) {
                   view.events.push_back({absl::FromUnixMicros(r.Int(0)), r.Text(1)});
                 }));
  return bad;
}

absl::StatusOr<Ledger> Store::LoadLedger(const JobId& job) {
  absl::MutexLock lock(&mu_);
  Ledger ledger;
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT name, samples FROM ledger WHERE job = ?", {job}, [&](const SqlRow& row) {
        if (row.Text(0) == "issued") ledger.issued = row.Int(1);
        for (int c = 0; c < kLedgerColumns; ++c) {
          if (row.Text(0) == LedgerColumnName(static_cast<LedgerColumn>(c))) {
            ledger.columns[static_cast<size_t>(c)] = row.Int(1);
          }
        }
      }));
  return ledger;
}

absl::StatusOr<std::vector<StoredGroup>> Store::LoadOpenGroups(const JobId& job) {
  absl::MutexLock lock(&mu_);
  std::vector<StoredGroup> groups;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT g.draw, g.train_by, s.idx, s.ledger, g.segment, g.offset, g.bytes FROM groups g JOIN samples s "
      "ON "
      "s.job = g.job AND s.draw = g.draw WHERE g.job = ?1 AND g.draw IN "
      "(SELECT draw FROM samples WHERE job = ?1 AND ledger = 'in_flight') ORDER BY g.draw, s.idx",
      {job}, [&](const SqlRow& row) {
        const Draw draw = static_cast<Draw>(row.Int(0));
        if (groups.empty() || groups.back().draw != draw) {
          groups.push_back(StoredGroup{.draw = draw, .train_by = row.Int(1), .record = RefAt(row, 4)});
        }
        groups.back().in_flight.push_back(row.Text(3) == "in_flight");
      }));
  return groups;
}

absl::StatusOr<std::optional<StoredBatch>> Store::LoadBatch(const JobId& job, PolicyVersion version) {
  absl::MutexLock lock(&mu_);
  std::optional<StoredBatch> batch;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT committed, manifest_hash FROM batches WHERE job = ? AND version = ?", {job, version},
      [&](const SqlRow& row) {
        batch = StoredBatch{.version = version, .committed = row.Int(0) != 0, .manifest_hash = row.Text(1)};
      }));
  if (!batch) return batch;
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT draw FROM batch_draws WHERE job = ? AND version = ? ORDER BY place", {job, version},
                 [&](const SqlRow& row) { batch->draws.push_back(static_cast<Draw>(row.Int(0))); }));
  return batch;
}

absl::StatusOr<Group> Store::ReadGroup(const SegmentRef& ref) {
  SLUICE_ASSIGN_OR_RETURN(std::string bytes, segments_->Read(ref));
  return DecodeGroup(bytes);
}

absl::StatusOr<Group> Store::LoadGroup(const JobId& job, Draw draw) {
  SegmentRef ref;
  {
    absl::MutexLock lock(&mu_);
    SLUICE_RETURN_IF_ERROR(db_->Query("SELECT segment, offset, bytes FROM groups WHERE job = ? AND draw = ?",
                                      {job, I(draw)}, [&](const SqlRow& row) { ref = RefAt(row, 0); }));
  }
  if (ref.segment < 0)
    return absl::NotFoundError(absl::StrCat("group ", draw, " of ", job, " is not complete"));
  return ReadGroup(ref);
}

absl::Status Store::ListSamples(const JobId& job, int32_t limit, int64_t step, bool evaluation,
                                const std::function<bool(const SampleView&)>& on_sample) {
  struct Found {
    SegmentRef ref;
    int64_t step = 0;
    Draw draw = 0;
    std::map<uint32_t, std::pair<std::string, int64_t>> columns;  // index -> ledger column, step
  };
  std::vector<Found> found;
  {
    absl::MutexLock lock(&mu_);
    std::string sql =
        "SELECT draw, segment, offset, bytes, 0 FROM groups WHERE job = ?1 AND segment IS NOT NULL ";
    if (evaluation) {
      sql = "SELECT draw, segment, offset, bytes, step FROM evaluation_groups WHERE job = ?1 ";
      if (step > 0) sql += "AND step = ?2 ";
      sql += "ORDER BY step DESC, draw LIMIT ?3";
    } else {
      if (step > 0) sql += "AND draw IN (SELECT draw FROM batch_draws WHERE job = ?1 AND version = ?2) ";
      sql += "ORDER BY draw DESC LIMIT ?3";
    }
    // A group has at least one sample.
    SLUICE_RETURN_IF_ERROR(db_->Query(sql, {job, step, int64_t{limit}}, [&](const SqlRow& row) {
      found.push_back(Found{RefAt(row, 1), row.Int(4), static_cast<Draw>(row.Int(0)), {}});
    }));
    for (Found& group : found) {
      if (evaluation) continue;
      SLUICE_RETURN_IF_ERROR(
          db_->Query("SELECT idx, ledger, step FROM samples WHERE job = ? AND draw = ?", {job, I(group.draw)},
                     [&](const SqlRow& row) {
                       group.columns[static_cast<uint32_t>(row.Int(0))] = {row.Text(1), row.Int(2)};
                     }));
    }
  }
  int32_t left = limit;
  for (const Found& item : found) {
    SLUICE_ASSIGN_OR_RETURN(Group group, ReadGroup(item.ref));
    for (ScoredSample& sample : group.samples) {
      if (left-- <= 0) return absl::OkStatus();
      SampleView view;
      view.prompt = group.prompt.text;
      view.prompt_uid = group.prompt.uid;
      view.step = item.step;
      if (auto at = item.columns.find(sample.trajectory.key.index); at != item.columns.end()) {
        view.ledger_column = at->second.first;
        view.step = at->second.second;
      }
      view.sample = std::move(sample);
      if (!on_sample(view)) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status Store::CheckLedger(const JobId& job) {
  absl::MutexLock lock(&mu_);
  std::string wrong;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT l.name, l.samples, (SELECT COUNT(*) FROM samples s WHERE s.job = l.job AND "
      "(l.name = 'issued' OR s.ledger = l.name)) FROM ledger l WHERE l.job = ?",
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

absl::Status StoreTransaction::InsertJob(const JobRow& row, const std::string& request_id) {
  SLUICE_RETURN_IF_ERROR(
      db_.Run("INSERT INTO jobs (job, spec, files_hash, state, paused, error, step, version, "
              "warm_start_step, next_draw, "
              "manifest_hash, source, checkpointed, last_step, created, max_staleness, exact_compared, "
              "exact_max_difference) "
              "VALUES (?, ?, ?, ?, 0, '', 0, -1, 0, 0, '', '', -1, '', ?, 0, 0, 0)",
              {row.view.job, SpecToJson(row.view.spec), row.files_hash, static_cast<int64_t>(row.view.state),
               absl::ToUnixMicros(row.view.create_time)}));
  for (const char* name : {"issued", "in_flight"}) SLUICE_RETURN_IF_ERROR(Count(row.view.job, name, 0));
  if (request_id.empty()) return absl::OkStatus();
  return db_.Run("INSERT INTO request_ids VALUES (?, ?)", {request_id, row.view.job});
}

absl::Status StoreTransaction::UpdateJob(const JobRow& row) {
  const JobView& v = row.view;
  const SqlValue ended =
      v.end_time == absl::InfiniteFuture() ? SqlValue(nullptr) : SqlValue(absl::ToUnixMicros(v.end_time));
  return db_.Run(
      "UPDATE jobs SET state = ?2, paused = ?3, error = ?4, step = ?5, version = ?6, warm_start_step = ?7, "
      "next_draw = ?8, manifest_hash = ?9, source = ?10, checkpointed = ?11, last_step = ?12, ended = ?13, "
      "max_staleness = ?14, exact_compared = ?15, exact_max_difference = ?16 WHERE job = ?1",
      {v.job, static_cast<int64_t>(v.state), int64_t{row.paused}, v.error, v.step, v.version,
       v.warm_start_step, I(row.next_draw), row.policy.manifest_hash, row.policy.source, row.checkpointed,
       v.last_step.step > 0 ? StepRecordToJson(v.last_step) : std::string(), ended, v.max_staleness,
       v.exact_compared, v.exact_max_difference});
}

absl::Status StoreTransaction::Count(const JobId& job, const char* column, int64_t by) {
  return db_.Run(
      "INSERT INTO ledger VALUES (?1, ?2, ?3) ON CONFLICT (job, name) DO UPDATE SET samples = samples + ?3",
      {job, std::string(column), by});
}

absl::Status StoreTransaction::IssueGroup(const JobId& job, Draw draw, PolicyVersion train_by,
                                          int64_t samples) {
  SLUICE_RETURN_IF_ERROR(
      db_.Run("INSERT INTO groups (job, draw, train_by) VALUES (?, ?, ?)", {job, I(draw), train_by}));
  for (int64_t i = 0; i < samples; ++i) {
    SLUICE_RETURN_IF_ERROR(db_.Run(
        "INSERT INTO samples (job, draw, idx, ledger) VALUES (?, ?, ?, 'in_flight')", {job, I(draw), i}));
  }
  SLUICE_RETURN_IF_ERROR(Count(job, "issued", samples));
  return Count(job, "in_flight", samples);
}

absl::StatusOr<SegmentRef> StoreTransaction::Append(const Group& group) {
  appended_ = true;
  return segments_.Append(EncodeGroup(group));
}

absl::Status StoreTransaction::CompleteGroup(const JobId& job, const Group& group) {
  SLUICE_ASSIGN_OR_RETURN(const SegmentRef ref, Append(group));
  return db_.Run("UPDATE groups SET segment = ?, offset = ?, bytes = ? WHERE job = ? AND draw = ?",
                 {ref.segment, ref.offset, ref.bytes, job, I(group.draw)});
}

absl::Status StoreTransaction::SettleSample(const JobId& job, const SampleKey& sample, LedgerColumn column,
                                            const std::string& reason) {
  const std::string name = LedgerColumnName(column);
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE samples SET ledger = ?, reason = ? WHERE job = ? AND draw = ? AND idx = ? AND ledger = "
              "'in_flight'",
              {name, reason, job, I(sample.draw), int64_t{sample.index}}));
  if (db_.changes() != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("sample ", sample.draw, "/", sample.index, " of ", job, " is not in flight"));
  }
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -1));
  return Count(job, name.c_str(), 1);
}

absl::Status StoreTransaction::DropGroup(const JobId& job, Draw draw, LedgerColumn column,
                                         const std::string& reason) {
  const std::string name = LedgerColumnName(column);
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE samples SET ledger = ?, reason = ? WHERE job = ? AND draw = ? AND ledger = 'in_flight'",
              {name, reason, job, I(draw)}));
  const int64_t moved = db_.changes();
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -moved));
  return Count(job, name.c_str(), moved);
}

absl::Status StoreTransaction::CancelInFlight(const JobId& job, const std::string& reason) {
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE samples SET ledger = 'cancelled', reason = ? WHERE job = ? AND ledger = 'in_flight'",
              {reason, job}));
  const int64_t moved = db_.changes();
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -moved));
  return Count(job, "cancelled", moved);
}

absl::Status StoreTransaction::RecordBatch(const JobId& job, PolicyVersion version,
                                           const std::vector<Draw>& draws) {
  SLUICE_RETURN_IF_ERROR(db_.Run("INSERT INTO batches VALUES (?, ?, 0, '', '')", {job, version}));
  int64_t place = 0;
  for (Draw draw : draws) {
    SLUICE_RETURN_IF_ERROR(
        db_.Run("INSERT INTO batch_draws VALUES (?, ?, ?, ?)", {job, version, place++, I(draw)}));
  }
  return absl::OkStatus();
}

absl::Status StoreTransaction::CommitBatch(const JobId& job, const PolicyRef& policy,
                                           const std::vector<Draw>& draws, const StepRecordView& record) {
  SLUICE_RETURN_IF_ERROR(db_.Run("INSERT OR REPLACE INTO batches VALUES (?, ?, 1, ?, ?)",
                                 {job, policy.version, policy.manifest_hash, StepRecordToJson(record)}));
  int64_t trained = 0;
  for (Draw draw : draws) {
    SLUICE_RETURN_IF_ERROR(db_.Run(
        "UPDATE samples SET ledger = 'trained', step = ? WHERE job = ? AND draw = ? AND ledger = 'in_flight'",
        {policy.version, job, I(draw)}));
    trained += db_.changes();
  }
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -trained));
  return Count(job, "trained", trained);
}

absl::Status StoreTransaction::AddEvaluationGroup(const JobId& job, int64_t step, const Group& group) {
  SLUICE_ASSIGN_OR_RETURN(const SegmentRef ref, Append(group));
  return db_.Run("INSERT OR REPLACE INTO evaluation_groups VALUES (?, ?, ?, ?, ?, ?)",
                 {job, step, I(group.draw), ref.segment, ref.offset, ref.bytes});
}

absl::Status StoreTransaction::AddEvaluation(const JobId& job, const EvaluationView& evaluation) {
  return db_.Run("INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?)",
                 {job, evaluation.step, EvaluationToJson(evaluation)});
}

absl::Status StoreTransaction::AddEvent(const JobId& job, const JobEventView& event) {
  return db_.Run("INSERT INTO events (job, time, text) VALUES (?, ?, ?)",
                 {job, absl::ToUnixMicros(event.time), event.text});
}

absl::Status StoreTransaction::AddAttempt(const JobId& job, const std::string& worker, Draw draw,
                                          uint32_t number, int64_t samples, absl::Time started) {
  return db_.Run("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?)",
                 {job, I(draw), int64_t{number}, worker, samples, absl::ToUnixMicros(started)});
}

}  // namespace sluice
