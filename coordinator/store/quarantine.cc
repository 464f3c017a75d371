// Who tried what, and what was given up on.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/store/store.h"
#include "coordinator/store/transaction.h"
#include "core/base/status.h"

namespace sluice {
namespace {

AttemptView AttemptAt(const SqlRow& row) {
  AttemptView out;
  out.draw = static_cast<Draw>(row.Int(0));
  out.number = static_cast<uint32_t>(row.Int(1));
  out.worker = row.Text(2);
  if (!row.IsNull(3)) out.epoch = static_cast<uint64_t>(row.Int(3));
  out.samples = row.Int(4);
  out.started = absl::FromUnixMicros(row.Int(5));
  if (!row.IsNull(6)) out.ended = absl::FromUnixMicros(row.Int(6));
  if (!row.IsNull(7)) out.outcome = row.Text(7);
  out.tokens = row.Int(8);
  return out;
}

QuarantineView QuarantineAt(const SqlRow& row) {
  QuarantineView out;
  out.sample = {static_cast<Draw>(row.Int(0)), static_cast<uint32_t>(row.Int(1))};
  if (!row.IsNull(2)) out.prompt_row = row.Int(2);
  out.prompt_uid = row.Text(3);
  out.reason = row.Text(4);
  out.attempts = row.Int(5);
  if (!row.IsNull(6)) out.time = absl::FromUnixMicros(row.Int(6));
  out.released = row.Int(7) != 0;
  return out;
}

}  // namespace

absl::StatusOr<std::vector<AttemptView>> Store::ListAttempts(const JobId& job, std::optional<Draw> draw,
                                                             int32_t limit) {
  // In the order of their index, so that what is not listed is not read.
  const std::string sql = absl::StrCat(
      "SELECT draw, number, worker, epoch, samples, started, ended, outcome, tokens FROM attempts "
      "INDEXED BY attempts_by_draw WHERE job = ?1 ",
      draw ? "AND draw = ?3 " : "", "ORDER BY draw DESC, number DESC LIMIT ?2");
  std::vector<SqlValue> values = {job, int64_t{limit}};
  if (draw) values.emplace_back(SqlInteger(*draw));
  std::vector<AttemptView> attempts;
  absl::MutexLock lock(&read_mu_);
  SLUICE_RETURN_IF_ERROR(
      reader_->Query(sql, values, [&](const SqlRow& row) { attempts.push_back(AttemptAt(row)); }));
  return attempts;
}

absl::StatusOr<std::vector<QuarantineView>> Store::ListQuarantine(const JobId& job, int32_t limit) {
  absl::MutexLock lock(&read_mu_);
  std::vector<QuarantineView> samples;
  SLUICE_RETURN_IF_ERROR(reader_->Query(
      "SELECT draw, idx, prompt_row, prompt_uid, reason, attempts, time, released FROM quarantine "
      "WHERE job = ? ORDER BY draw DESC, idx LIMIT ?",
      {job, int64_t{limit}}, [&](const SqlRow& row) { samples.push_back(QuarantineAt(row)); }));
  return samples;
}

absl::StatusOr<std::vector<uint64_t>> Store::LoadQuarantinedRows(const JobId& job) {
  absl::MutexLock lock(&mu_);
  std::vector<uint64_t> rows;
  SLUICE_RETURN_IF_ERROR(db_->Query(
      "SELECT DISTINCT prompt_row FROM quarantine WHERE job = ? AND prompt_row IS NOT NULL AND NOT released",
      {job}, [&](const SqlRow& row) { rows.push_back(static_cast<uint64_t>(row.Int(0))); }));
  return rows;
}

absl::Status StoreTransaction::Quarantine(const JobId& job, const QuarantineView& sample) {
  return db_.Run(
      "INSERT OR REPLACE INTO quarantine (job, draw, idx, prompt_row, prompt_uid, reason, attempts, time) "
      "VALUES "
      "(?1, ?2, ?3, ?4, ?5, ?6, MAX(?8, (SELECT COUNT(*) FROM attempts WHERE job = ?1 AND draw = ?2)), ?7)",
      {job, SqlInteger(sample.sample.draw), int64_t{sample.sample.index}, sample.prompt_row,
       sample.prompt_uid, sample.reason, absl::ToUnixMicros(sample.time), sample.attempts});
}

absl::StatusOr<int64_t> StoreTransaction::ReleaseQuarantine(const JobId& job,
                                                            const std::vector<uint64_t>& rows) {
  const std::string which = "WHERE job = ?1 AND NOT released AND (?2 IS NULL OR prompt_row = ?2)";
  std::vector<SqlValue> chosen(rows.empty() ? 1 : 0, nullptr);
  for (uint64_t row : rows) chosen.push_back(SqlInteger(row));
  int64_t prompts = 0;
  for (const SqlValue& row : chosen) {
    SLUICE_RETURN_IF_ERROR(db_.Query("SELECT COUNT(DISTINCT prompt_row) FROM quarantine " + which, {job, row},
                                     [&](const SqlRow& found) { prompts += found.Int(0); }));
    SLUICE_RETURN_IF_ERROR(db_.Run("UPDATE quarantine SET released = 1 " + which, {job, row}));
  }
  return prompts;
}

}  // namespace sluice
