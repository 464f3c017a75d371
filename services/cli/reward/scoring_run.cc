#include "services/cli/reward/scoring_run.h"

#include <algorithm>
#include <deque>
#include <future>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "services/wire/types.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kProgressEvery = absl::Seconds(5);
constexpr int kErrorsShown = 20;

struct PendingBatch {
  std::vector<RewardRow> rows;
  std::future<absl::StatusOr<std::vector<Verdict>>> verdicts;
};

// What a person sees while it runs: rows that cannot be judged, and now and then how far it is.
class Telling {
 public:
  Telling(std::string input, const LineReader& reader) : input_(std::move(input)), reader_(reader) {}

  void BadRow(size_t line, absl::string_view what) {
    if (++errors_ <= kErrorsShown) std::cerr << "sluice: " << input_ << ":" << line << ": " << what << "\n";
    if (errors_ == kErrorsShown + 1)
      std::cerr << "sluice: " << input_ << ": more rows have errors; the output has all of them\n";
  }

  void Progress(const RewardSummary& summary) {
    const absl::Time now = absl::Now();
    if (now < next_) return;
    next_ = now + kProgressEvery;
    const double seconds = absl::ToDoubleSeconds(now - begin_);
    std::string line = absl::StrFormat("sluice: %d rows, %.0f rows/s", summary.rows(),
                                       static_cast<double>(summary.new_rows()) / std::max(seconds, 1e-9));
    if (!summary.ShareCorrect().empty()) absl::StrAppend(&line, ", ", summary.ShareCorrect());
    if (summary.failed() > 0) absl::StrAppend(&line, ", ", summary.failed(), " failed");
    if (reader_.size() > 0) {
      absl::StrAppendFormat(&line, ", %.0f %% of the input read",
                            100.0 * static_cast<double>(reader_.bytes_read()) / reader_.size());
    }
    std::cerr << line << std::endl;
  }

 private:
  const std::string input_;
  const LineReader& reader_;
  const absl::Time begin_ = absl::Now();
  absl::Time next_ = begin_ + kProgressEvery;
  int errors_ = 0;
};

absl::Status Finish(const PendingBatch& batch, const std::vector<Verdict>& verdicts, const RewardSpec& spec,
                    RowOutput& output, RewardSummary& summary, Telling& telling) {
  std::string text;
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const RewardRow& row = batch.rows[i];
    const v1::Verdict verdict = ToProto(verdicts[i]);
    const nlohmann::ordered_json result = row.error.ok() ? VerdictRow(spec, row, verdict) : ErrorRow(row);
    absl::StrAppend(&text, result.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "\n");
    SLUICE_RETURN_IF_ERROR(summary.Add(result));
    if (result.contains("error")) telling.BadRow(row.line, result["error"].get<std::string>());
  }
  telling.Progress(summary);
  return output.Write(text);
}

absl::Status ScoreInOrder(RowSource& source, RowScorer& scorer, const RewardSpec& spec,
                          const ScoringOptions& options, const CancelToken& cancel, RowOutput& output,
                          RewardSummary& summary, std::deque<PendingBatch>& pending) {
  Telling telling(options.input_name, source.reader());
  bool ended = false;
  while (true) {
    const bool room = pending.size() < static_cast<size_t>(options.calls_at_once);
    if (!ended && !cancel.cancelled() && room && (pending.empty() || source.Ready())) {
      SLUICE_ASSIGN_OR_RETURN(std::vector<RewardRow> rows, source.NextBatch());
      ended = rows.empty() || cancel.cancelled();
      if (ended) continue;
      PendingBatch& batch = pending.emplace_back(PendingBatch{std::move(rows), {}});
      batch.verdicts = std::async(std::launch::async, [&scorer, &batch] { return scorer.Score(batch.rows); });
      continue;
    }
    if (pending.empty()) return absl::OkStatus();
    auto verdicts = pending.front().verdicts.get();
    if (!verdicts.ok() && cancel.cancelled()) return absl::OkStatus();
    if (!verdicts.ok()) {
      for (size_t i = 1; i < pending.size(); ++i) pending[i].verdicts.wait();
      verdicts = scorer.ScoreAlone(pending.front().rows, verdicts.status());
    }
    SLUICE_RETURN_IF_ERROR(verdicts.status());
    SLUICE_RETURN_IF_ERROR(Finish(pending.front(), *verdicts, spec, output, summary, telling));
    pending.pop_front();
  }
}

}  // namespace

absl::Status ScoreRows(RowSource& source, RowScorer& scorer, const RewardSpec& spec,
                       const ScoringOptions& options, const CancelToken& cancel, RowOutput& output,
                       RewardSummary& summary) {
  std::deque<PendingBatch> pending;
  const absl::Status status = ScoreInOrder(source, scorer, spec, options, cancel, output, summary, pending);
  if (!status.ok()) cancel.Cancel();  // calls that nobody waits for
  return status;
}

}  // namespace sluice::cli
