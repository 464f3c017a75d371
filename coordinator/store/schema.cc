#include "coordinator/store/schema.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status.h"

namespace sluice {
namespace {

// IF NOT EXISTS: the program of that time did not make its tables in one transaction.
constexpr char kFirst[] = R"sql(
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

// groups.oldest: the oldest version that a sample with a reward was sampled at; NULL: not complete, or
// completed
//   under version 1.
// batches.draws, .trained, .oldest: of a committed batch, as ranges ("0-3,7"); its samples that became
// trained; the
//   least of its groups' oldest. They stay when the rows of its draws are gone.
// batches.ledger: the job's columns as of the commit ("in_flight=4 issued=8 ...").
// compacted_draws: draws whose rows are gone, all their samples settled; their samples are counted in
//   compacted_samples. Ranges do not touch.
constexpr char kSecond[] = R"sql(
ALTER TABLE groups ADD COLUMN oldest INTEGER;
CREATE INDEX groups_by_segment ON groups (segment, offset) WHERE segment IS NOT NULL;
CREATE INDEX groups_without_record ON groups (job, draw) WHERE segment IS NULL;
CREATE INDEX evaluation_groups_by_segment ON evaluation_groups (segment, offset) WHERE segment IS NOT NULL;

ALTER TABLE batches ADD COLUMN draws TEXT NOT NULL DEFAULT '';
ALTER TABLE batches ADD COLUMN trained INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN oldest INTEGER;
ALTER TABLE batches ADD COLUMN ledger TEXT NOT NULL DEFAULT '';
CREATE INDEX batch_draws_by_draw ON batch_draws (job, draw);
UPDATE batches SET draws = d.draws FROM
  (SELECT job, version, group_concat(draw) AS draws FROM
    (SELECT job, version, draw FROM batch_draws ORDER BY job, version, draw) GROUP BY job, version) AS d
  WHERE batches.committed AND batches.job = d.job AND batches.version = d.version;
UPDATE batches SET trained = t.samples FROM
  (SELECT job, step, COUNT(*) AS samples FROM samples WHERE ledger = 'trained' GROUP BY job, step) AS t
  WHERE batches.job = t.job AND batches.version = t.step;

CREATE TABLE compacted_draws (job TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY (job, first)) WITHOUT ROWID;
CREATE TABLE compacted_samples (job TEXT NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL,
  samples INTEGER NOT NULL, PRIMARY KEY (job, name, reason)) WITHOUT ROWID;

CREATE TABLE progress (job TEXT NOT NULL, draw INTEGER NOT NULL, idx INTEGER NOT NULL,
  segment INTEGER NOT NULL, offset INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (job, draw, idx)) WITHOUT ROWID;
CREATE INDEX progress_by_segment ON progress (segment, offset);

ALTER TABLE attempts RENAME TO attempts_1;
CREATE TABLE attempts (seq INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, draw INTEGER NOT NULL,
  number INTEGER NOT NULL, worker TEXT NOT NULL, epoch INTEGER, samples INTEGER NOT NULL, started INTEGER NOT NULL,
  ended INTEGER, outcome TEXT, tokens INTEGER NOT NULL DEFAULT 0);
INSERT INTO attempts (job, draw, number, worker, samples, started)
  SELECT job, draw, number, worker, samples, started FROM attempts_1 ORDER BY rowid;
UPDATE attempts SET outcome = 'unknown', ended = started;
DROP TABLE attempts_1;
CREATE INDEX attempts_by_draw ON attempts (job, draw, number);
CREATE INDEX attempts_under_way ON attempts (job) WHERE ended IS NULL;
)sql";

// quarantine: samples that were given up on; they stay when the rows of their draws are gone. prompt_row:
// from 0; NULL
//   under version 2. released: their prompt is handed out again.
// groups.newest: the newest version, as groups.oldest is the oldest; NULL also where completed under
// version 2. replay_steps: how the steps of a replay compare with those recorded.
// jobs.learner: the name of the learner that has the job's checkpoints; empty: none yet, or not recorded.
// jobs.promoted: the version that was promoted last; -1: none.
// rollbacks: versions whose weights are those of `parent`. first_draw: the first that was not issued before.
// Whether it is committed is in batches.
constexpr char kThird[] = R"sql(
ALTER TABLE jobs ADD COLUMN learner TEXT NOT NULL DEFAULT '';

CREATE TABLE quarantine (job TEXT NOT NULL, draw INTEGER NOT NULL, idx INTEGER NOT NULL, prompt_row INTEGER,
  prompt_uid TEXT NOT NULL, reason TEXT NOT NULL, attempts INTEGER NOT NULL, time INTEGER,
  released INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (job, draw, idx)) WITHOUT ROWID;
CREATE INDEX quarantine_by_row ON quarantine (job, prompt_row) WHERE NOT released;
INSERT INTO quarantine (job, draw, idx, prompt_uid, reason, attempts)
  SELECT job, draw, idx, '', COALESCE(reason, ''),
    (SELECT COUNT(*) FROM attempts a WHERE a.job = s.job AND a.draw = s.draw)
  FROM samples s WHERE ledger = 'quarantined';

ALTER TABLE groups ADD COLUMN newest INTEGER;
CREATE TABLE replay_steps (job TEXT NOT NULL, version INTEGER NOT NULL, comparison TEXT NOT NULL,
  PRIMARY KEY (job, version)) WITHOUT ROWID;

ALTER TABLE jobs ADD COLUMN promoted INTEGER NOT NULL DEFAULT -1;
CREATE TABLE rollbacks (job TEXT NOT NULL, version INTEGER NOT NULL, parent INTEGER NOT NULL,
  first_draw INTEGER NOT NULL, reason TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (job, version)) WITHOUT ROWID;
)sql";

// canaries: what became of the versions that were tried on one worker: "passed", "refused" or "taken". score:
// NULL where no sample has a reward.
constexpr char kFourth[] = R"sql(
CREATE TABLE canaries (job TEXT NOT NULL, version INTEGER NOT NULL, verdict TEXT NOT NULL, score REAL,
  worker TEXT NOT NULL, reason TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (job, version)) WITHOUT ROWID;
)sql";

// deleted_jobs: jobs that are gone from `jobs`. Until `gone` rows of theirs are left, which are removed piece
// by piece.
constexpr char kFifth[] = R"sql(
CREATE TABLE deleted_jobs (job TEXT PRIMARY KEY, time INTEGER NOT NULL, gone INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX deleted_jobs_left ON deleted_jobs (job) WHERE NOT gone;
CREATE INDEX jobs_under_way ON jobs (job) WHERE ended IS NULL;
)sql";

// deleted_jobs.learner: that still has files of it; empty: none has, or it was deleted under version 5.
// Jobs that have ended are listed in the order of their submission, and not read for a start.
constexpr char kSixth[] = R"sql(
CREATE INDEX jobs_ended ON jobs (created, job) WHERE ended IS NOT NULL;
ALTER TABLE deleted_jobs ADD COLUMN learner TEXT NOT NULL DEFAULT '';
CREATE INDEX deleted_jobs_kept ON deleted_jobs (learner, job) WHERE learner <> '';
)sql";

// rollbacks.by_guard: 0 where the learner could not redo what it had done; those do not count towards
// guard.max_rollbacks.
constexpr char kSeventh[] = R"sql(
ALTER TABLE rollbacks ADD COLUMN by_guard INTEGER NOT NULL DEFAULT 1;
)sql";

constexpr SchemaStep kSteps[] = {{1, kFirst}, {2, kSecond}, {3, kThird},  {4, kFourth},
                                 {5, kFifth}, {6, kSixth},  {7, kSeventh}};
static_assert(kSteps[std::size(kSteps) - 1].version == kSchemaVersion);

absl::Status TakeStep(Database& db, const SchemaStep& step) {
  SLUICE_RETURN_IF_ERROR(db.Run("BEGIN IMMEDIATE"));
  absl::Status status = db.Script(step.sql);
  if (status.ok()) {
    status = db.Run("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", {step.version});
  }
  if (status.ok()) status = db.Run("COMMIT");
  if (!status.ok()) (void)db.Run("ROLLBACK");  // fails where SQLite rolled back itself
  return Annotate(status, absl::StrCat("making schema version ", step.version));
}

}  // namespace

absl::Span<const SchemaStep> SchemaSteps() { return kSteps; }

absl::Status UpgradeSchema(Database& db, absl::Span<const SchemaStep> steps) {
  SLUICE_RETURN_IF_ERROR(
      db.Script("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"));
  int64_t found = 0;
  SLUICE_RETURN_IF_ERROR(db.Query("SELECT value FROM meta WHERE key = 'schema_version'", {},
                                  [&](const SqlRow& row) { found = row.Int(0); }));
  const int64_t known = steps.empty() ? 0 : steps.back().version;
  if (found > known) {
    return absl::FailedPreconditionError(
        absl::StrCat("the state directory has schema version ", found,
                     ", written by a newer program; this one knows up to ", known,
                     ": run the newer program, or give another state directory"));
  }
  for (const SchemaStep& step : steps) {
    if (step.version <= found) continue;
    SLUICE_RETURN_IF_ERROR(TakeStep(db, step));
    if (found > 0) LogInfo("schema_upgraded", {{"from", found}, {"to", step.version}});
  }
  return absl::OkStatus();
}

}  // namespace sluice
