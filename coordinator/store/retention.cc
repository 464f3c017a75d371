// What the store does not keep for ever: files of samples above the limit, rows of draws that are settled.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "coordinator/store/store.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kDrawsAtOnce = 256, kRecordsAtOnce = 1024;
constexpr int kEndedJobsAtOnce = 16;
constexpr int64_t kReasonsKept = 64;  // of a job's column; those beyond are counted as "other"

// The columns of a horizon, of a row `j` of jobs.
constexpr char kHorizon[] =
    "j.job, CASE WHEN j.ended IS NULL THEN j.checkpointed - COALESCE(json_extract(j.spec, "
    "'$.checkpoint.every_steps'), 1000000000) "
    "ELSE "
    "9223372036854775807 END, j.next_draw, j.ended IS NOT NULL";

JobHorizon HorizonAt(const SqlRow& row) {
  return {row.Text(0), row.Int(1), static_cast<Draw>(row.Int(2)), row.Int(3) != 0};
}

// `which`: of the row `j`.
absl::StatusOr<std::vector<JobHorizon>> LoadHorizons(Database& db, const char* which,
                                                     const std::vector<SqlValue>& values) {
  std::vector<JobHorizon> jobs;
  SLUICE_RETURN_IF_ERROR(db.Query(absl::StrCat("SELECT ", kHorizon, " FROM jobs j WHERE ", which), values,
                                  [&](const SqlRow& row) { jobs.push_back(HorizonAt(row)); }));
  return jobs;
}

// The last draw of the batches that are covered: what was issued behind it may wait for its place in one.
absl::StatusOr<int64_t> LastCovered(Database& db, const JobHorizon& job) {
  int64_t last = job.ended ? std::numeric_limits<int64_t>::max() : -1;
  if (job.ended) return last;
  SLUICE_RETURN_IF_ERROR(
      db.Query("SELECT COALESCE(MAX(draw), -1) FROM batch_draws WHERE job = ? AND version = "
               "(SELECT MAX(version) FROM batch_draws WHERE job = ? AND version <= ?)",
               {job.job, job.job, job.covered}, [&](const SqlRow& row) { last = row.Int(0); }));
  return last;
}

// Adds `draw` to the ranges of draws whose rows are gone. INTERNAL when it is among them.
absl::Status AddToRanges(Database& db, const JobId& job, int64_t draw) {
  int64_t first = draw, last = draw;
  SLUICE_RETURN_IF_ERROR(db.Query(
      "SELECT first, last FROM compacted_draws WHERE job = ? AND first <= ? ORDER BY first DESC LIMIT 1",
      {job, draw + 1}, [&](const SqlRow& row) {
        if (row.Int(0) == draw + 1) last = row.Int(1);
      }));
  if (last != draw) {
    SLUICE_RETURN_IF_ERROR(
        db.Run("DELETE FROM compacted_draws WHERE job = ? AND first = ?", {job, draw + 1}));
  }
  bool there = false;
  SLUICE_RETURN_IF_ERROR(db.Query(
      "SELECT first, last FROM compacted_draws WHERE job = ? AND first <= ? ORDER BY first DESC LIMIT 1",
      {job, draw}, [&](const SqlRow& row) {
        there = row.Int(1) >= draw;
        if (row.Int(1) == draw - 1) first = row.Int(0);
      }));
  if (there) return absl::InternalError(absl::StrCat("draw ", draw, " of ", job, " was issued twice"));
  return db.Run("INSERT OR REPLACE INTO compacted_draws VALUES (?, ?, ?)", {job, first, last});
}

absl::Status CountCompacted(Database& db, const JobId& job, const std::string& column, std::string reason,
                            int64_t samples) {
  int64_t reasons = 0;
  bool known = false;
  SLUICE_RETURN_IF_ERROR(db.Query("SELECT reason = ? FROM compacted_samples WHERE job = ? AND name = ?",
                                  {reason, job, column}, [&](const SqlRow& row) {
                                    ++reasons;
                                    known = known || row.Int(0) != 0;
                                  }));
  if (!known && reasons >= kReasonsKept) reason = "other";
  return db.Run(
      "INSERT INTO compacted_samples VALUES (?1, ?2, ?3, ?4) "
      "ON CONFLICT (job, name, reason) DO UPDATE SET samples = samples + ?4",
      {job, column, reason, samples});
}

absl::Status CompactDraw(Database& db, const JobId& job, int64_t draw) {
  std::vector<std::pair<std::pair<std::string, std::string>, int64_t>> counts;
  SLUICE_RETURN_IF_ERROR(
      db.Query("SELECT ledger, COALESCE(reason, ''), COUNT(*) FROM samples WHERE job = ? AND draw = ? "
               "GROUP BY 1, 2",
               {job, draw}, [&](const SqlRow& row) {
                 counts.push_back({{row.Text(0), row.Text(1)}, row.Int(2)});
               }));
  for (const auto& [name, samples] : counts) {
    SLUICE_RETURN_IF_ERROR(CountCompacted(db, job, name.first, name.second, samples));
  }
  for (const char* table : {"samples", "groups", "attempts", "progress"}) {
    SLUICE_RETURN_IF_ERROR(
        db.Run(absl::StrCat("DELETE FROM ", table, " WHERE job = ? AND draw = ?"), {job, draw}));
  }
  return AddToRanges(db, job, draw);
}

}  // namespace

absl::StatusOr<bool> Store::Tidy() {
  absl::MutexLock lock(&mu_);
  if (!untidy_) return false;
  for (const auto piece :
       {&Store::RemoveProgressFile, &Store::RemoveGroupFile, &Store::RemoveDeletedJob, &Store::TidyJobs}) {
    SLUICE_ASSIGN_OR_RETURN(const bool done, (this->*piece)());
    if (done) return true;
  }
  untidy_ = false;
  return false;
}

absl::StatusOr<bool> Store::RemoveProgressFile() {
  for (const auto& [file, bytes] : progress_->Files()) {
    if (file == progress_->newest()) continue;
    bool used = false;
    SLUICE_RETURN_IF_ERROR(db_->Query("SELECT 1 FROM progress WHERE segment = ? LIMIT 1", {file},
                                      [&](const SqlRow&) { used = true; }));
    if (used) continue;
    SLUICE_RETURN_IF_ERROR(progress_->Remove(file));
    return true;
  }
  return false;
}

// Whether the file has a group that may be trained on, for the first time or once more, or that a replay
// follows.
absl::StatusOr<bool> Store::IsNeeded(int64_t segment) {
  bool replayed = false;
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT 1 FROM jobs r JOIN groups g ON g.job = json_extract(r.spec, '$.replay.job') "
                 "WHERE r.ended IS NULL AND g.segment = ? LIMIT 1",
                 {segment}, [&](const SqlRow&) { replayed = true; }));
  if (replayed) return true;
  std::vector<std::pair<JobHorizon, bool>>
      jobs;  // with whether a group in the file is to be trained on or redone
  SLUICE_RETURN_IF_ERROR(db_->Query(
      absl::StrCat(
          "SELECT ", kHorizon,
          ", EXISTS (SELECT 1 FROM groups g JOIN samples s ON s.job = g.job AND s.draw = g.draw "
          "WHERE g.segment = ?1 AND g.job = j.job AND s.ledger = 'in_flight') "
          "OR EXISTS (SELECT 1 FROM groups g JOIN batch_draws b ON b.job = g.job AND b.draw = g.draw "
          "WHERE g.segment = ?1 AND g.job = j.job AND b.version > "
          "j.checkpointed - COALESCE(json_extract(j.spec, '$.checkpoint.every_steps'), 1000000000)) "
          "FROM jobs j WHERE j.ended IS NULL AND j.job IN (SELECT job FROM groups WHERE segment = ?1)"),
      {segment}, [&](const SqlRow& row) { jobs.emplace_back(HorizonAt(row), row.Int(4) != 0); }));
  for (const auto& [job, needed] : jobs) {
    if (needed) return true;
    SLUICE_ASSIGN_OR_RETURN(const int64_t last, LastCovered(*db_, job));
    bool behind = false;
    SLUICE_RETURN_IF_ERROR(
        db_->Query("SELECT 1 FROM groups WHERE segment = ? AND job = ? AND draw > ? LIMIT 1",
                   {segment, job.job, last}, [&](const SqlRow&) { behind = true; }));
    if (behind) return true;
  }
  return false;
}

absl::StatusOr<bool> Store::RemoveGroupFile() {
  const std::map<int64_t, int64_t> files = groups_->Files();
  int64_t total = 0;
  for (const auto& [file, bytes] : files) total += bytes;
  if (total <= options_.keep_bytes) return false;
  for (const auto& [file, bytes] : files) {
    if (file == groups_->newest()) continue;
    if (file != retiring_) {
      SLUICE_ASSIGN_OR_RETURN(const bool needed, IsNeeded(file));
      if (needed) continue;
      retiring_ = file;
    }
    int64_t forgotten = 0;
    SLUICE_RETURN_IF_ERROR(TransactLocked([&, db = db_.get()](StoreTransaction& tx) -> absl::Status {
      SLUICE_RETURN_IF_ERROR(
          db->Query("SELECT DISTINCT job FROM (SELECT job FROM groups WHERE segment = ? LIMIT ?)",
                    {file, kRecordsAtOnce}, [&](const SqlRow& row) { tx.ended_.push_back(row.Text(0)); }));
      for (const char* rows :
           {"UPDATE groups SET segment = NULL, offset = NULL, bytes = NULL WHERE (job, draw) IN "
            "(SELECT job, draw FROM groups WHERE segment = ? LIMIT ?)",
            "DELETE FROM evaluation_groups WHERE (job, step, draw) IN "
            "(SELECT job, step, draw FROM evaluation_groups WHERE segment = ? LIMIT ?)"}) {
        SLUICE_RETURN_IF_ERROR(db->Run(rows, {file, kRecordsAtOnce}));
        forgotten += db->changes();
      }
      return absl::OkStatus();
    }));
    if (forgotten > 0) return true;
    // No row refers to it, so it goes without a transaction; after a death here the next turn removes it.
    SLUICE_RETURN_IF_ERROR(groups_->Remove(file));
    retiring_ = -1;
    LogInfo("samples_removed", {{"segment", file}, {"bytes", bytes}, {"limit", options_.keep_bytes}});
    return true;
  }
  return false;
}

absl::Status Store::RemoveUnusedGroupFiles() {
  for (const auto& [file, bytes] : groups_->Files()) {
    if (file == groups_->newest()) continue;
    bool used = false;
    SLUICE_RETURN_IF_ERROR(
        db_->Query("SELECT 1 WHERE EXISTS (SELECT 1 FROM groups WHERE segment = ?1) OR EXISTS "
                   "(SELECT 1 FROM evaluation_groups WHERE segment = ?1)",
                   {file}, [&](const SqlRow&) { used = true; }));
    if (used) continue;
    SLUICE_RETURN_IF_ERROR(groups_->Remove(file));
    LogInfo("samples_removed", {{"segment", file}, {"bytes", bytes}});
  }
  return absl::OkStatus();
}

// Of a job that was deleted; in the end its files, which a death here leaves to the next time.
absl::StatusOr<bool> Store::RemoveDeletedJob() {
  JobId job;
  SLUICE_RETURN_IF_ERROR(db_->Query("SELECT job FROM deleted_jobs WHERE NOT gone LIMIT 1", {},
                                    [&](const SqlRow& row) { job = row.Text(0); }));
  if (job.empty()) return false;
  static constexpr struct {
    const char *table, *key;
  } kRows[] = {{"groups", "job, draw"},
               {"samples", "job, draw, idx"},
               {"attempts", "seq"},
               {"batch_draws", "job, version, place"},
               {"evaluation_groups", "job, step, draw"},
               {"events", "seq"},
               {"progress", "job, draw, idx"},
               {"quarantine", "job, draw, idx"},
               {"batches", "job, version"},
               {"evaluations", "job, step"},
               {"compacted_draws", "job, first"},
               {"compacted_samples", "job, name, reason"},
               {"replay_steps", "job, version"},
               {"rollbacks", "job, version"},
               {"canaries", "job, version"},
               {"ledger", "job, name"}};
  int64_t left = kRecordsAtOnce;
  SLUICE_RETURN_IF_ERROR(TransactLocked([&, db = db_.get()](StoreTransaction&) -> absl::Status {
    for (const auto& rows : kRows) {
      SLUICE_RETURN_IF_ERROR(
          db->Run(absl::StrCat("DELETE FROM ", rows.table, " WHERE (", rows.key, ") IN (SELECT ", rows.key,
                               " FROM ", rows.table, " WHERE job = ? LIMIT ?)"),
                  {job, left}));
      left -= db->changes();
      if (left <= 0) break;
    }
    return absl::OkStatus();
  }));
  if (left < kRecordsAtOnce) return true;
  SLUICE_RETURN_IF_ERROR(RemoveUnusedGroupFiles());
  std::error_code error;
  std::filesystem::remove_all(absl::StrCat(state_dir_, "/jobs/", job), error);
  if (error) LogWarning("job_folder_left", {{"job", job}, {"error", error.message()}});
  SLUICE_RETURN_IF_ERROR(TransactLocked([&, db = db_.get()](StoreTransaction&) {
    return db->Run("UPDATE deleted_jobs SET gone = 1 WHERE job = ?", {job});
  }));
  LogInfo("job_removed", {{"job", job}});
  return true;
}

// The rows of jobs that have not ended, and of a few of those that may have some to compact: what it costs
// does not grow with the jobs that ever were.
absl::StatusOr<bool> Store::TidyJobs() {
  SLUICE_ASSIGN_OR_RETURN(std::vector<JobHorizon> jobs, LoadHorizons(*db_, "j.ended IS NULL", {}));
  for (const JobHorizon& job : jobs) {
    for (const auto piece : {&Store::CompactDraws, &Store::ForgetBatchDraws}) {
      SLUICE_ASSIGN_OR_RETURN(const bool done, (this->*piece)(job));
      if (done) return true;
    }
  }
  for (int i = 0; i < kEndedJobsAtOnce && !untidied_.empty(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(jobs, LoadHorizons(*db_, "j.job = ?", {*untidied_.begin()}));
    for (const JobHorizon& job : jobs) {  // none: it was deleted
      for (const auto piece : {&Store::CompactDraws, &Store::ForgetBatchDraws}) {
        SLUICE_ASSIGN_OR_RETURN(const bool done, (this->*piece)(job));
        if (done) return true;
      }
    }
    untidied_.erase(untidied_.begin());
  }
  return !untidied_.empty();
}

absl::StatusOr<bool> Store::CompactDraws(const JobHorizon& job) {
  SLUICE_ASSIGN_OR_RETURN(int64_t last, LastCovered(*db_, job));
  last = std::min(last, static_cast<int64_t>(job.next_draw) - 1 - options_.keep_draws);
  std::vector<int64_t> draws;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT g.draw FROM groups g WHERE g.job = ?1 AND g.segment IS NULL AND g.draw <= ?2 AND NOT EXISTS "
      "(SELECT 1 FROM samples s WHERE s.job = g.job AND s.draw = g.draw AND s.ledger = 'in_flight') AND "
      "NOT EXISTS "
      "(SELECT 1 FROM batch_draws b WHERE b.job = g.job AND b.draw = g.draw AND b.version > ?3) "
      "ORDER BY g.draw LIMIT ?4",
      {job.job, last, job.covered, kDrawsAtOnce}, [&](const SqlRow& row) { draws.push_back(row.Int(0)); }));
  if (draws.empty()) return false;
  SLUICE_RETURN_IF_ERROR(TransactLocked([&, db = db_.get()](StoreTransaction&) -> absl::Status {
    for (int64_t draw : draws) SLUICE_RETURN_IF_ERROR(CompactDraw(*db, job.job, draw));
    return absl::OkStatus();
  }));
  return true;
}

// Of the oldest batch that has rows, once those of all its draws are gone: batches.draws has them as ranges.
// The last one that is covered stays, for LastCovered.
absl::StatusOr<bool> Store::ForgetBatchDraws(const JobHorizon& job) {
  int64_t version = -1;
  SLUICE_RETURN_IF_ERROR(db_->Query("SELECT version FROM batch_draws WHERE job = ? ORDER BY version LIMIT 1",
                                    {job.job}, [&](const SqlRow& row) { version = row.Int(0); }));
  if (version < 0) return false;
  bool behind = false, kept = false;
  SLUICE_RETURN_IF_ERROR(
      db_->Query("SELECT 1 FROM batches WHERE job = ?1 AND version = ?2 AND committed AND "
                 "?2 < (SELECT MAX(version) FROM batch_draws WHERE job = ?1 AND version <= ?3)",
                 {job.job, version, job.covered}, [&](const SqlRow&) { behind = true; }));
  if (!behind) return false;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT 1 FROM batch_draws b JOIN groups g ON g.job = b.job AND g.draw = b.draw WHERE b.job = ? AND "
      "b.version = ? LIMIT 1",
      {job.job, version}, [&](const SqlRow&) { kept = true; }));
  if (kept) return false;
  SLUICE_RETURN_IF_ERROR(TransactLocked([&, db = db_.get()](StoreTransaction&) {
    return db->Run("DELETE FROM batch_draws WHERE job = ? AND version = ?", {job.job, version});
  }));
  return true;
}

}  // namespace sluice
