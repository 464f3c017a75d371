#include "coordinator/store/transaction.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "coordinator/store/group_codec.h"
#include "coordinator/store/spec_json.h"
#include "coordinator/store/view_json.h"
#include "core/base/fail_point.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr int64_t kEventRowsKept = 1000;  // of a job

SqlValue VersionOrNull(PolicyVersion version) {
  return version == kNoPolicyVersion ? SqlValue(nullptr) : SqlValue(int64_t{version});
}

// "0-3,7": in order, whatever the order they are given in.
std::string DrawRanges(std::vector<Draw> draws) {
  std::sort(draws.begin(), draws.end());
  std::string out;
  for (size_t i = 0; i < draws.size();) {
    size_t end = i + 1;
    while (end < draws.size() && draws[end] == draws[end - 1] + 1) ++end;
    absl::StrAppend(&out, out.empty() ? "" : ",", draws[i]);
    if (end - i > 1) absl::StrAppend(&out, "-", draws[end - 1]);
    i = end;
  }
  return out;
}

}  // namespace

std::pair<PolicyVersion, PolicyVersion> VersionsIn(const Group& group) {
  std::pair<PolicyVersion, PolicyVersion> out{kNoPolicyVersion, kNoPolicyVersion};
  for (const ScoredSample& sample : group.samples) {
    if (!sample.verdict.HasReward()) continue;
    for (const VersionSpan& span : sample.trajectory.spans) {
      out.first = out.first == kNoPolicyVersion ? span.version : std::min(out.first, span.version);
      out.second = std::max(out.second, span.version);
    }
  }
  return out;
}

const char* AttemptOutcomeName(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::kDone:
      return "done";
    case AttemptOutcome::kLost:
      return "lost";
    case AttemptOutcome::kFailed:
      return "failed";
    case AttemptOutcome::kCancelled:
      return "cancelled";
    case AttemptOutcome::kHedgeLost:
      return "hedge_lost";
  }
  return "?";
}

absl::Status StoreTransaction::InsertJob(const JobRow& row, const std::string& request_id) {
  SLUICE_FAIL_POINT("coordinator.job_inserting");
  SLUICE_RETURN_IF_ERROR(
      db_.Run("INSERT INTO jobs (job, spec, files_hash, state, paused, error, step, version, "
              "warm_start_step, next_draw, "
              "manifest_hash, source, checkpointed, last_step, created, max_staleness, exact_compared, "
              "exact_max_difference, promoted, learner) "
              "VALUES (?, ?, ?, ?, 0, '', 0, -1, 0, 0, '', '', -1, '', ?, 0, 0, 0, -1, ?)",
              {row.view.job, SpecToJson(row.view.spec), row.files_hash, static_cast<int64_t>(row.view.state),
               absl::ToUnixMicros(row.view.create_time), row.view.learner}));
  for (const char* name : {"issued", "in_flight"}) SLUICE_RETURN_IF_ERROR(Count(row.view.job, name, 0));
  if (request_id.empty()) return absl::OkStatus();
  return db_.Run("INSERT INTO request_ids VALUES (?, ?)", {request_id, row.view.job});
}

absl::StatusOr<JobId> StoreTransaction::FindRequest(const std::string& request_id) {
  JobId job;
  if (request_id.empty()) return job;
  SLUICE_RETURN_IF_ERROR(db_.Query("SELECT job FROM request_ids WHERE request_id = ?", {request_id},
                                   [&](const SqlRow& row) { job = row.Text(0); }));
  return job;
}

absl::Status StoreTransaction::NeedJob(const JobId& job) {
  bool there = false;
  SLUICE_RETURN_IF_ERROR(
      db_.Query("SELECT 1 FROM jobs WHERE job = ?", {job}, [&](const SqlRow&) { there = true; }));
  return there ? absl::OkStatus() : absl::NotFoundError(absl::StrCat("there is no job \"", job, "\""));
}

absl::Status StoreTransaction::DeleteJob(const JobId& job, absl::Time now) {
  std::string learner;
  SLUICE_RETURN_IF_ERROR(db_.Query("SELECT learner FROM jobs WHERE job = ?", {job},
                                   [&](const SqlRow& row) { learner = row.Text(0); }));
  SLUICE_RETURN_IF_ERROR(db_.Run("DELETE FROM jobs WHERE job = ? AND ended IS NOT NULL", {job}));
  if (db_.changes() == 0) return absl::FailedPreconditionError(absl::StrCat("job ", job, " has not ended"));
  SLUICE_RETURN_IF_ERROR(db_.Run("DELETE FROM request_ids WHERE job = ?", {job}));
  return db_.Run("INSERT INTO deleted_jobs (job, time, learner) VALUES (?, ?, ?)",
                 {job, absl::ToUnixMicros(now), learner});
}

absl::Status StoreTransaction::LearnerForgot(const JobId& job) {
  return db_.Run("UPDATE deleted_jobs SET learner = '' WHERE job = ?", {job});
}

absl::Status StoreTransaction::UpdateJob(const JobRow& row) {
  const JobView& v = row.view;
  if (v.end_time != absl::InfiniteFuture()) ended_.push_back(v.job);
  const SqlValue ended =
      v.end_time == absl::InfiniteFuture() ? SqlValue(nullptr) : SqlValue(absl::ToUnixMicros(v.end_time));
  return db_.Run(
      "UPDATE jobs SET state = ?2, paused = ?3, error = ?4, step = ?5, version = ?6, warm_start_step = ?7, "
      "next_draw = ?8, manifest_hash = ?9, source = ?10, checkpointed = ?11, last_step = ?12, ended = ?13, "
      "max_staleness = ?14, exact_compared = ?15, exact_max_difference = ?16, learner = ?17, promoted = ?18 "
      "WHERE job = ?1",
      {v.job, static_cast<int64_t>(v.state), int64_t{row.paused}, v.error, v.step, v.version,
       v.warm_start_step, SqlInteger(row.next_draw), row.policy.manifest_hash, row.policy.source,
       row.checkpointed, v.last_step.step > 0 ? StepRecordToJson(v.last_step) : std::string(), ended,
       v.max_staleness, v.exact_compared, v.exact_max_difference, v.learner, v.promoted});
}

absl::Status StoreTransaction::UpdateSpec(const JobId& job, const JobSpec& spec) {
  return db_.Run("UPDATE jobs SET spec = ?2 WHERE job = ?1", {job, SpecToJson(spec)});
}

absl::Status StoreTransaction::Count(const JobId& job, const char* column, int64_t by) {
  return db_.Run(
      "INSERT INTO ledger VALUES (?1, ?2, ?3) ON CONFLICT (job, name) DO UPDATE SET samples = samples + ?3",
      {job, std::string(column), by});
}

absl::Status StoreTransaction::IssueGroup(const JobId& job, Draw draw, PolicyVersion train_by,
                                          int64_t samples) {
  SLUICE_FAIL_POINT("coordinator.group_issuing");
  bool compacted = false;
  SLUICE_RETURN_IF_ERROR(db_.Query(
      "SELECT last FROM compacted_draws WHERE job = ? AND first <= ? ORDER BY first DESC LIMIT 1",
      {job, SqlInteger(draw)}, [&](const SqlRow& row) { compacted = row.Int(0) >= SqlInteger(draw); }));
  if (compacted) {
    return absl::FailedPreconditionError(absl::StrCat("draw ", draw, " of ", job, " was issued before"));
  }
  SLUICE_RETURN_IF_ERROR(db_.Run("INSERT INTO groups (job, draw, train_by) VALUES (?, ?, ?)",
                                 {job, SqlInteger(draw), train_by}));
  for (int64_t i = 0; i < samples; ++i) {
    SLUICE_RETURN_IF_ERROR(
        db_.Run("INSERT INTO samples (job, draw, idx, ledger) VALUES (?, ?, ?, 'in_flight')",
                {job, SqlInteger(draw), i}));
  }
  SLUICE_RETURN_IF_ERROR(Count(job, "issued", samples));
  return Count(job, "in_flight", samples);
}

absl::StatusOr<SegmentRef> StoreTransaction::Append(const Group& group) {
  appended_ = true;
  return groups_.Append(EncodeGroup(group));
}

absl::Status StoreTransaction::CompleteGroup(const JobId& job, const Group& group) {
  SLUICE_ASSIGN_OR_RETURN(const SegmentRef ref, Append(group));
  SLUICE_FAIL_POINT("coordinator.group_appended");
  const auto [oldest, newest] = VersionsIn(group);
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE groups SET segment = ?, offset = ?, bytes = ?, oldest = ?, newest = ? WHERE job = ? "
              "AND draw = ?",
              {ref.segment, ref.offset, ref.bytes, VersionOrNull(oldest), VersionOrNull(newest), job,
               SqlInteger(group.draw)}));
  if (db_.changes() != 1) {
    return absl::FailedPreconditionError(absl::StrCat("draw ", group.draw, " of ", job, " was not issued"));
  }
  return ForgetProgress(job, group.draw);
}

absl::Status StoreTransaction::SaveProgress(const JobId& job, const Trajectory& trajectory) {
  const SampleKey& key = trajectory.key;
  bool in_flight = false;
  SLUICE_RETURN_IF_ERROR(
      db_.Query("SELECT 1 FROM samples WHERE job = ? AND draw = ? AND idx = ? AND ledger = 'in_flight'",
                {job, SqlInteger(key.draw), int64_t{key.index}}, [&](const SqlRow&) { in_flight = true; }));
  const std::string bytes = EncodeProgress({job, trajectory});
  if (!in_flight || static_cast<int64_t>(bytes.size()) > kMaxProgressBytes) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(const SegmentRef ref, progress_.Append(bytes));
  SLUICE_FAIL_POINT("coordinator.progress_appended");
  return db_.Run("INSERT OR REPLACE INTO progress VALUES (?, ?, ?, ?, ?, ?)",
                 {job, SqlInteger(key.draw), int64_t{key.index}, ref.segment, ref.offset, ref.bytes});
}

absl::Status StoreTransaction::ForgetProgress(const JobId& job, Draw draw) {
  return db_.Run("DELETE FROM progress WHERE job = ? AND draw = ?", {job, SqlInteger(draw)});
}

absl::Status StoreTransaction::SettleSample(const JobId& job, const SampleKey& sample, LedgerColumn column,
                                            const std::string& reason) {
  const std::string name = LedgerColumnName(column);
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE samples SET ledger = ?, reason = ? WHERE job = ? AND draw = ? AND idx = ? AND ledger = "
              "'in_flight'",
              {name, reason, job, SqlInteger(sample.draw), int64_t{sample.index}}));
  if (db_.changes() != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("sample ", sample.draw, "/", sample.index, " of ", job, " is not in flight"));
  }
  SLUICE_RETURN_IF_ERROR(db_.Run("DELETE FROM progress WHERE job = ? AND draw = ? AND idx = ?",
                                 {job, SqlInteger(sample.draw), int64_t{sample.index}}));
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -1));
  return Count(job, name.c_str(), 1);
}

absl::Status StoreTransaction::DropGroup(const JobId& job, Draw draw, LedgerColumn column,
                                         const std::string& reason) {
  const std::string name = LedgerColumnName(column);
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE samples SET ledger = ?, reason = ? WHERE job = ? AND draw = ? AND ledger = 'in_flight'",
              {name, reason, job, SqlInteger(draw)}));
  const int64_t moved = db_.changes();
  SLUICE_RETURN_IF_ERROR(ForgetProgress(job, draw));
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -moved));
  return Count(job, name.c_str(), moved);
}

absl::Status StoreTransaction::CancelInFlight(const JobId& job, const std::string& reason) {
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE samples SET ledger = 'cancelled', reason = ? WHERE job = ? AND ledger = 'in_flight'",
              {reason, job}));
  const int64_t moved = db_.changes();
  SLUICE_RETURN_IF_ERROR(db_.Run("DELETE FROM progress WHERE job = ?", {job}));
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE attempts SET outcome = ?, ended = ? WHERE job = ? AND ended IS NULL",
              {AttemptOutcomeName(AttemptOutcome::kCancelled), absl::ToUnixMicros(absl::Now()), job}));
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -moved));
  return Count(job, "cancelled", moved);
}

absl::Status StoreTransaction::RecordBatch(const JobId& job, PolicyVersion version,
                                           const std::vector<Draw>& draws) {
  SLUICE_FAIL_POINT("coordinator.batch_recording");
  SLUICE_RETURN_IF_ERROR(db_.Run(
      "INSERT INTO batches (job, version, committed, manifest_hash, metrics) VALUES (?, ?, 0, '', '')",
      {job, version}));
  int64_t place = 0;
  for (Draw draw : draws) {
    SLUICE_RETURN_IF_ERROR(
        db_.Run("INSERT INTO batch_draws VALUES (?, ?, ?, ?)", {job, version, place++, SqlInteger(draw)}));
  }
  return absl::OkStatus();
}

absl::Status StoreTransaction::CommitBatch(const JobId& job, const PolicyRef& policy,
                                           const std::vector<Draw>& draws, const StepRecordView& record) {
  SLUICE_FAIL_POINT("coordinator.version_committing");
  int64_t trained = 0;
  SqlValue oldest = nullptr;
  for (Draw draw : draws) {
    SLUICE_RETURN_IF_ERROR(db_.Run(
        "UPDATE samples SET ledger = 'trained', step = ? WHERE job = ? AND draw = ? AND ledger = 'in_flight'",
        {policy.version, job, SqlInteger(draw)}));
    trained += db_.changes();
    SLUICE_RETURN_IF_ERROR(ForgetProgress(job, draw));
    SLUICE_RETURN_IF_ERROR(db_.Query("SELECT oldest FROM groups WHERE job = ? AND draw = ?",
                                     {job, SqlInteger(draw)}, [&](const SqlRow& row) {
                                       const auto* least = std::get_if<int64_t>(&oldest);
                                       if (!row.IsNull(0))
                                         oldest =
                                             least == nullptr ? row.Int(0) : std::min(*least, row.Int(0));
                                     }));
  }
  SLUICE_RETURN_IF_ERROR(db_.Run(
      "INSERT OR REPLACE INTO batches (job, version, committed, manifest_hash, metrics, draws, trained, "
      "oldest) VALUES (?, ?, 1, ?, ?, ?, ?, ?)",
      {job, policy.version, policy.manifest_hash, StepRecordToJson(record), DrawRanges(draws), trained,
       oldest}));
  SLUICE_RETURN_IF_ERROR(Count(job, "in_flight", -trained));
  SLUICE_RETURN_IF_ERROR(Count(job, "trained", trained));
  return db_.Run(
      "UPDATE batches SET ledger = (SELECT group_concat(name || '=' || samples, ' ') FROM "
      "(SELECT name, samples FROM ledger WHERE job = ?1 ORDER BY name)) WHERE job = ?1 AND version = ?2",
      {job, policy.version});
}

absl::Status StoreTransaction::RecordRollBack(const JobId& job, const StoredRollback& rollback) {
  SLUICE_FAIL_POINT("coordinator.rollback_recording");
  SLUICE_RETURN_IF_ERROR(WithdrawBatch(job, rollback.version));
  SLUICE_RETURN_IF_ERROR(RecordBatch(job, rollback.version, {}));
  return db_.Run(
      "INSERT INTO rollbacks (job, version, parent, first_draw, reason, time, by_guard) VALUES (?, ?, ?, ?, "
      "?, ?, ?)",
      {job, rollback.version, rollback.parent, SqlInteger(rollback.first_draw), rollback.reason,
       absl::ToUnixMicros(rollback.time), int64_t{rollback.by_guard}});
}

absl::Status StoreTransaction::WithdrawBatch(const JobId& job, PolicyVersion version) {
  bool withdrawn = false;
  SLUICE_RETURN_IF_ERROR(
      db_.Query("SELECT 1 FROM batches WHERE job = ?1 AND version = ?2 AND committed = 0 AND NOT EXISTS "
                "(SELECT 1 FROM rollbacks WHERE job = ?1 AND version = ?2)",
                {job, version}, [&](const SqlRow&) { withdrawn = true; }));
  if (!withdrawn) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(db_.Run("DELETE FROM batch_draws WHERE job = ? AND version = ?", {job, version}));
  return db_.Run("DELETE FROM batches WHERE job = ? AND version = ?", {job, version});
}

absl::Status StoreTransaction::RollBackDraws(const JobId& job, Draw first, const std::string& reason) {
  std::vector<std::pair<std::string, int64_t>> counts;
  int64_t moved = 0;
  SLUICE_RETURN_IF_ERROR(db_.Query(
      "SELECT ledger, COUNT(*) FROM samples WHERE job = ? AND draw >= ? GROUP BY 1", {job, SqlInteger(first)},
      [&](const SqlRow& row) { counts.emplace_back(row.Text(0), row.Int(1)); }));
  for (const auto& [column, samples] : counts) {
    if (column == "trained") {
      return absl::FailedPreconditionError(
          absl::StrCat("samples of draws from ", first, " on are trained: ", samples));
    }
    SLUICE_RETURN_IF_ERROR(Count(job, column.c_str(), -samples));
    moved += samples;
  }
  SLUICE_RETURN_IF_ERROR(
      db_.Run("UPDATE samples SET ledger = 'rolled_back', reason = ? WHERE job = ? AND draw >= ?",
              {reason, job, SqlInteger(first)}));
  SLUICE_RETURN_IF_ERROR(
      db_.Run("DELETE FROM progress WHERE job = ? AND draw >= ?", {job, SqlInteger(first)}));
  return Count(job, "rolled_back", moved);
}

absl::Status StoreTransaction::AddEvaluationGroup(const JobId& job, int64_t step, const Group& group) {
  SLUICE_FAIL_POINT("coordinator.evaluation_group_adding");
  SLUICE_ASSIGN_OR_RETURN(const SegmentRef ref, Append(group));
  return db_.Run("INSERT OR REPLACE INTO evaluation_groups VALUES (?, ?, ?, ?, ?, ?)",
                 {job, step, SqlInteger(group.draw), ref.segment, ref.offset, ref.bytes});
}

absl::Status StoreTransaction::AddEvaluation(const JobId& job, const EvaluationView& evaluation) {
  SLUICE_FAIL_POINT("coordinator.evaluation_adding");
  return db_.Run("INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?)",
                 {job, evaluation.step, EvaluationToJson(evaluation)});
}

absl::Status StoreTransaction::RecordCanary(const JobId& job, const CanaryView& canary) {
  SLUICE_FAIL_POINT("coordinator.canary_recording");
  const CanaryRecord& r = canary.record;
  const SqlValue score = std::isfinite(r.score) ? SqlValue(r.score) : SqlValue(nullptr);
  return db_.Run("INSERT OR REPLACE INTO canaries VALUES (?, ?, ?, ?, ?, ?, ?)",
                 {job, r.version, CanaryVerdictName(r.verdict), score, r.worker, r.why,
                  absl::ToUnixMicros(canary.time)});
}

absl::Status StoreTransaction::AddEvent(const JobId& job, const JobEventView& event) {
  SLUICE_RETURN_IF_ERROR(db_.Run("INSERT INTO events (job, time, text) VALUES (?, ?, ?)",
                                 {job, absl::ToUnixMicros(event.time), event.text}));
  return db_.Run(
      "DELETE FROM events WHERE job = ?1 AND seq <= "
      "(SELECT seq FROM events WHERE job = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
      {job, kEventRowsKept});
}

absl::Status StoreTransaction::AddAttempt(const JobId& job, const AttemptStart& a) {
  SLUICE_FAIL_POINT("coordinator.attempt_adding");
  return db_.Run(
      "INSERT INTO attempts (job, draw, number, worker, epoch, samples, started) VALUES (?, ?, ?, ?, ?, ?, "
      "?)",
      {job, SqlInteger(a.draw), int64_t{a.number}, a.worker, SqlInteger(a.epoch), a.samples,
       absl::ToUnixMicros(a.started)});
}

absl::Status StoreTransaction::EndAttempt(const JobId& job, Draw draw, uint32_t number,
                                          AttemptOutcome outcome, int64_t tokens, absl::Time ended) {
  SLUICE_FAIL_POINT("coordinator.attempt_ending");
  return db_.Run(
      "UPDATE attempts SET outcome = ?, tokens = ?, ended = ? WHERE job = ? AND draw = ? AND number = ? AND "
      "ended IS NULL",
      {AttemptOutcomeName(outcome), tokens, absl::ToUnixMicros(ended), job, SqlInteger(draw),
       int64_t{number}});
}

}  // namespace sluice
