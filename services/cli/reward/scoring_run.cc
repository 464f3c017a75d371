#include "services/cli/reward/scoring_run.h"

#include <algorithm>
#include <deque>
#include <future>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/rl/reward_composition.h"
#include "services/wire/reward.h"
#include "services/wire/types.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kFullQueueDelay = absl::Milliseconds(50);
constexpr absl::Duration kCallMargin = absl::Seconds(30);  // for what is not judging
constexpr absl::Duration kProgressEvery = absl::Seconds(5);
constexpr int kErrorsShown = 20;

struct PendingBatch {
  std::vector<RewardRow> rows;
  std::future<absl::StatusOr<std::vector<Verdict>>> verdicts;
};

// In tokens where all rows tell them, else in Unicode characters.
std::vector<double> LengthsOf(absl::Span<const RewardRow> rows) {
  const bool tokens = std::all_of(rows.begin(), rows.end(),
                                  [](const RewardRow& row) { return row.item.completion_tokens() > 0; });
  std::vector<double> out;
  for (const RewardRow& row : rows) {
    const std::string& text = row.item.completion();
    const auto characters = std::count_if(text.begin(), text.end(),
                                          [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; });
    out.push_back(tokens ? row.item.completion_tokens() : static_cast<double>(characters));
  }
  return out;
}

// `rows` is a group, or one row without.
void CompareGroup(const RewardSpec& spec, absl::Span<const RewardRow> rows, std::vector<Verdict>& verdicts,
                  size_t first) {
  std::vector<Verdict*> of_group;
  for (size_t i = 0; i < rows.size(); ++i) of_group.push_back(&verdicts[first + i]);
  ApplyGroupTerms(spec, LengthsOf(rows), of_group);
}

// Fills in what is known only of whole groups; batches have whole groups.
void CompareGroups(const RewardSpec& spec, const std::vector<RewardRow>& rows,
                   std::vector<Verdict>& verdicts) {
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    end = begin + 1;
    while (!rows[begin].group.empty() && end < rows.size() && rows[end].group == rows[begin].group) ++end;
    CompareGroup(spec, absl::MakeSpan(rows).subspan(begin, end - begin), verdicts, begin);
  }
}

Verdict NotInTime(absl::string_view why) {
  Verdict out;
  out.kind = VerdictKind::kInfrastructure;
  out.detail = absl::StrCat("not judged in time: ", why);
  return out;
}

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
                                       static_cast<double>(summary.rows()) / std::max(seconds, 1e-9));
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
    row.error.ok() ? summary.Add(row, verdict) : summary.AddError(row);
    if (result.contains("error")) telling.BadRow(row.line, result["error"].get<std::string>());
  }
  telling.Progress(summary);
  return output.Write(text);
}

absl::Status ScoreInOrder(RowSource& source, const RowScorer& scorer, const RewardSpec& spec,
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
    const auto verdicts = pending.front().verdicts.get();
    if (!verdicts.ok() && cancel.cancelled()) return absl::OkStatus();
    SLUICE_RETURN_IF_ERROR(verdicts.status());
    SLUICE_RETURN_IF_ERROR(Finish(pending.front(), *verdicts, spec, output, summary, telling));
    pending.pop_front();
  }
}

}  // namespace

RowScorer::RowScorer(Peer peer, const RewardSpec& spec, const ScoringOptions& options,
                     const CancelToken& cancel)
    : peer_(std::move(peer)),
      stub_(v1::RewardService::NewStub(peer_.channel)),
      spec_(spec),
      spec_proto_(ToProto(spec)),
      options_(options),
      cancel_(cancel) {}

absl::StatusOr<std::vector<Verdict>> RowScorer::Call(const v1::ScoreRequest& request,
                                                     absl::Duration limit) const {
  while (true) {
    ClientCall call(peer_, absl::Now() + limit, &cancel_);
    v1::ScoreResponse response;
    const absl::Status status = call.Result(stub_->Score(call.context(), request, &response));
    if (absl::IsResourceExhausted(status) && !cancel_.cancelled()) {
      absl::SleepFor(kFullQueueDelay);
      continue;
    }
    if (!status.ok()) return status;
    if (response.verdicts_size() != request.items_size()) {
      return call.BadResponse(
          absl::StrCat(response.verdicts_size(), " verdicts for ", request.items_size(), " items"));
    }
    std::vector<Verdict> out;
    for (const v1::Verdict& proto : response.verdicts()) {
      absl::StatusOr<Verdict> verdict = FromProto(proto);
      if (!verdict.ok()) return call.BadResponse(verdict.status().message());
      out.push_back(*std::move(verdict));
    }
    return out;
  }
}

absl::Status RowScorer::Probe() const {
  v1::ScoreRequest request;
  *request.mutable_spec() = spec_proto_;
  return Call(request, kCallMargin).status();
}

absl::StatusOr<std::vector<Verdict>> RowScorer::Score(const std::vector<RewardRow>& rows) const {
  v1::ScoreRequest request;
  *request.mutable_spec() = spec_proto_;
  for (const RewardRow& row : rows) {
    if (!row.error.ok()) continue;
    *request.add_items() = row.item;
    request.mutable_items()->rbegin()->set_explain(options_.explain);
  }
  std::vector<Verdict> out(rows.size());
  if (request.items().empty()) return out;
  auto judged = Call(request, kCallMargin + request.items_size() * options_.sample_deadline);
  if (!judged.ok() && !absl::IsDeadlineExceeded(judged.status())) return judged.status();
  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].error.ok()) continue;
    out[i] = judged.ok() ? std::move((*judged)[next++]) : NotInTime(judged.status().message());
  }
  if (HasGroupTerms(spec_)) CompareGroups(spec_, rows, out);
  return out;
}

absl::Status ScoreRows(RowSource& source, const RowScorer& scorer, const RewardSpec& spec,
                       const ScoringOptions& options, const CancelToken& cancel, RowOutput& output,
                       RewardSummary& summary) {
  std::deque<PendingBatch> pending;
  const absl::Status status = ScoreInOrder(source, scorer, spec, options, cancel, output, summary, pending);
  if (!status.ok()) cancel.Cancel();  // calls that nobody waits for
  return status;
}

}  // namespace sluice::cli
