// What a replay reads of the job that it repeats, and keeps of the comparison.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/store/store.h"
#include "coordinator/store/transaction.h"
#include "coordinator/store/view_json.h"
#include "core/base/status.h"

namespace sluice {
namespace {

LedgerColumn ColumnNamed(const std::string& name) {
  for (int c = 0; c < kLedgerColumns; ++c) {
    if (name == LedgerColumnName(static_cast<LedgerColumn>(c))) return static_cast<LedgerColumn>(c);
  }
  return LedgerColumn::kCancelled;
}

}  // namespace

absl::Status Store::ReadRecordedBatches(const JobId& job, int64_t steps,
                                        std::vector<std::vector<RecordedRow>>& out) {
  std::string without_batch;
  SLUICE_RETURN_IF_ERROR(reader_->Query(
      "SELECT version FROM batches WHERE job = ? AND committed AND version BETWEEN 1 AND ? AND draws = '' "
      "ORDER BY version LIMIT 1",
      {job, steps}, [&](const SqlRow& row) { without_batch = row.Text(0); }));
  if (!without_batch.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("version ", without_batch, " of ", job,
                                                      " was made by going back to an older one, which is not "
                                                      "replayed; --steps replays the steps before it"));
  }
  out.resize(static_cast<size_t>(steps));
  SLUICE_RETURN_IF_ERROR(reader_->Query(
      "SELECT b.version, b.draw, g.segment, g.offset, g.bytes, g.oldest, g.newest FROM batch_draws b "
      "LEFT JOIN groups g ON g.job = b.job AND g.draw = b.draw WHERE b.job = ? AND b.version BETWEEN 1 AND ? "
      "ORDER BY b.version, b.place",
      {job, steps}, [&](const SqlRow& row) {
        RecordedRow& group = out[static_cast<size_t>(row.Int(0) - 1)].emplace_back();
        group.group.draw = static_cast<Draw>(row.Int(1));
        if (!row.IsNull(2)) group.record = {row.Int(2), row.Int(3), row.Int(4)};
        if (!row.IsNull(5)) group.oldest = row.Int(5);
        if (!row.IsNull(6)) group.newest = row.Int(6);
      }));
  for (size_t k = 0; k < out.size(); ++k) {
    const bool kept =
        !out[k].empty() && std::all_of(out[k].begin(), out[k].end(),
                                       [](const RecordedRow& row) { return row.record.segment >= 0; });
    if (kept) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the samples of step ", k + 1, " of ", job,
                     " are no longer kept, and a job is replayed from its first step: ",
                     "--keep-samples-bytes of the coordinator is ", options_.keep_bytes,
                     "; give it more before a job that is to be ", "replayed",
                     k > 0 ? absl::StrCat(", or replay the first ", k, " with --steps ", k) : ""));
  }
  return absl::OkStatus();
}

// Which samples of the groups were trained on, and where the others went.
absl::Status Store::ReadRecordedSamples(const JobId& job, int64_t steps,
                                        std::map<Draw, RecordedGroup*>& groups) {
  return reader_->Query(
      "SELECT s.draw, s.idx, s.ledger, COALESCE(s.reason, ''), s.step = b.version FROM batch_draws b JOIN "
      "samples s ON s.job = b.job AND "
      "s.draw = b.draw WHERE b.job = ? AND b.version BETWEEN 1 AND ?",
      {job, steps}, [&](const SqlRow& row) {
        RecordedGroup& group = *groups.at(static_cast<Draw>(row.Int(0)));
        group.samples = std::max(group.samples, row.Int(1) + 1);
        if (row.IsNull(4) || row.Int(4) == 0) {
          group.lost[static_cast<uint32_t>(row.Int(1))] = {ColumnNamed(row.Text(2)), row.Text(3)};
        }
      });
}

absl::StatusOr<std::shared_ptr<const ReplaySchedule>> Store::LoadSchedule(const JobId& job, int64_t steps) {
  std::vector<std::vector<RecordedRow>> rows;
  {
    absl::MutexLock lock(&read_mu_);
    SLUICE_RETURN_IF_ERROR(ReadRecordedBatches(job, steps, rows));
    std::map<Draw, RecordedGroup*> groups;
    for (auto& batch : rows) {
      for (RecordedRow& row : batch) groups[row.group.draw] = &row.group;
    }
    SLUICE_RETURN_IF_ERROR(ReadRecordedSamples(job, steps, groups));
  }
  std::vector<std::vector<RecordedGroup>> batches;
  for (auto& batch : rows) {
    std::vector<RecordedGroup>& out = batches.emplace_back();
    for (RecordedRow& row : batch) {
      // Completed under schema 2, or without a reward.
      if (row.newest == kNoPolicyVersion) {
        SLUICE_ASSIGN_OR_RETURN(const Group group, ReadGroup(row.record));
        std::tie(row.oldest, row.newest) = VersionsIn(group);
      }
      row.group.taken = row.oldest != row.newest;
      row.group.sampled_at = std::max<PolicyVersion>(0, row.newest);
      out.push_back(std::move(row.group));
    }
  }
  return ReplaySchedule::Create(std::move(batches));
}

absl::StatusOr<std::string> Store::LoadFilesHash(const JobId& job) {
  absl::MutexLock lock(&read_mu_);
  std::string hash;
  SLUICE_RETURN_IF_ERROR(reader_->Query("SELECT files_hash FROM jobs WHERE job = ?", {job},
                                        [&](const SqlRow& row) { hash = row.Text(0); }));
  return hash;
}

absl::StatusOr<std::optional<StepRecordView>> Store::LoadStepRecord(const JobId& job, PolicyVersion version) {
  absl::MutexLock lock(&mu_);
  std::string text;
  SLUICE_RETURN_IF_ERROR(db_->Query("SELECT metrics FROM batches WHERE job = ? AND version = ? AND committed",
                                    {job, version}, [&](const SqlRow& row) { text = row.Text(0); }));
  if (text.empty()) return std::optional<StepRecordView>();
  SLUICE_ASSIGN_OR_RETURN(StepRecordView record, StepRecordFromJson(text));
  return std::optional<StepRecordView>(std::move(record));
}

absl::StatusOr<std::vector<ReplayStepView>> Store::ListReplaySteps(const JobId& job, PolicyVersion after,
                                                                   int32_t limit) {
  absl::MutexLock lock(&read_mu_);
  std::vector<ReplayStepView> steps;
  absl::Status bad;
  SLUICE_RETURN_IF_ERROR(reader_->Query(
      "SELECT comparison FROM replay_steps WHERE job = ? AND version > ? ORDER BY version LIMIT ?",
      {job, after, int64_t{limit}}, [&](const SqlRow& row) {
        auto step = ReplayStepFromJson(row.Text(0));
        bad.Update(step.status());
        if (step.ok()) steps.push_back(*std::move(step));
      }));
  if (!bad.ok()) return bad;
  return steps;
}

absl::Status StoreTransaction::AddReplayStep(const JobId& job, const ReplayStepView& step) {
  return db_.Run("INSERT OR REPLACE INTO replay_steps VALUES (?, ?, ?)",
                 {job, step.version, ReplayStepToJson(step)});
}

}  // namespace sluice
