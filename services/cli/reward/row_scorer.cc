#include "services/cli/reward/row_scorer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "core/base/retry.h"
#include "core/base/status.h"
#include "core/rl/reward_composition.h"
#include "services/wire/reward.h"
#include "services/wire/types.h"

namespace sluice::cli {
namespace {

constexpr absl::Duration kFullQueueDelay = absl::Milliseconds(50);
constexpr absl::Duration kCallMargin = absl::Seconds(30);  // for what is not judging
constexpr int kMaxRestarts = 100;

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

Verdict NotJudged(absl::string_view why) {
  Verdict out;
  out.kind = VerdictKind::kInfrastructure;
  out.detail = std::string(why);
  return out;
}

// gRPC calls a message that is over the limit by the same code as a queue that is full.
bool IsTooLarge(const absl::Status& status) {
  return absl::IsResourceExhausted(status) && absl::StrContains(status.message(), "larger than max");
}

}  // namespace

RowScorer::RowScorer(Peer peer, const RewardSpec& spec, const ScoringOptions& options,
                     const CancelToken& cancel, Restart restart)
    : peer_(std::move(peer)),
      stub_(v1::RewardService::NewStub(peer_.channel)),
      spec_(spec),
      spec_proto_(ToProto(spec)),
      options_(options),
      cancel_(cancel),
      restart_(std::move(restart)) {}

absl::StatusOr<std::vector<Verdict>> RowScorer::Call(const std::vector<const RewardRow*>& rows,
                                                     absl::Duration limit) const {
  v1::ScoreRequest request;
  *request.mutable_spec() = spec_proto_;
  for (const RewardRow* row : rows) {
    *request.add_items() = row->item;
    request.mutable_items()->rbegin()->set_explain(options_.explain);
  }
  const absl::Time deadline = absl::Now() + limit;
  while (true) {
    ClientCall call(peer_, deadline, &cancel_);
    v1::ScoreResponse response;
    const absl::Status status = call.Result(stub_->Score(call.context(), request, &response));
    if (absl::IsResourceExhausted(status) && !IsTooLarge(status) && !cancel_.cancelled()) {
      const absl::Duration pause = RetryAfter(status).value_or(kFullQueueDelay);
      if (PauseBeforeRetry(pause, deadline, cancel_)) continue;
    }
    if (!status.ok()) return status;
    if (static_cast<size_t>(response.verdicts_size()) != rows.size())
      return call.BadResponse(
          absl::StrCat(response.verdicts_size(), " verdicts for ", rows.size(), " items"));
    std::vector<Verdict> out;
    for (const v1::Verdict& proto : response.verdicts()) {
      absl::StatusOr<Verdict> verdict = FromProto(proto);
      if (!verdict.ok()) return call.BadResponse(verdict.status().message());
      out.push_back(*std::move(verdict));
    }
    return out;
  }
}

absl::Status RowScorer::Probe() const { return Call({}, kCallMargin).status(); }

absl::StatusOr<std::vector<Verdict>> RowScorer::Score(const std::vector<RewardRow>& rows) const {
  std::vector<const RewardRow*> right;
  for (const RewardRow& row : rows) {
    if (row.error.ok()) right.push_back(&row);
  }
  std::vector<Verdict> out(rows.size());
  if (right.empty()) return out;
  auto judged = Call(right, kCallMargin + right.size() * options_.sample_deadline);
  if (!judged.ok() && !absl::IsDeadlineExceeded(judged.status())) return judged.status();
  size_t next = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].error.ok()) continue;
    out[i] = judged.ok() ? std::move((*judged)[next++])
                         : NotJudged(absl::StrCat("not judged in time: ", judged.status().message()));
  }
  if (HasGroupTerms(spec_)) CompareGroups(spec_, rows, out);
  return out;
}

absl::Status RowScorer::Reconnect() {
  if (!restart_) return absl::UnavailableError("the service is away");
  if (++restarts_ > kMaxRestarts)
    return absl::InternalError(absl::StrCat("the reward worker has ended ", restarts_, " times"));
  SLUICE_ASSIGN_OR_RETURN(peer_, restart_());
  stub_ = v1::RewardService::NewStub(peer_.channel);
  return absl::OkStatus();
}

// The first call may only find that the service has ended before.
absl::StatusOr<Verdict> RowScorer::CallForOne(const RewardRow& row) {
  absl::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto judged = Call({&row}, kCallMargin + options_.sample_deadline);
    if (judged.ok()) return std::move((*judged)[0]);
    status = judged.status();
    if (absl::IsDeadlineExceeded(status) || IsTooLarge(status)) break;
    if (!absl::IsUnavailable(status)) return status;
    SLUICE_RETURN_IF_ERROR(Reconnect());
  }
  if (absl::IsUnavailable(status)) return NotJudged("the reward worker ended while it judged this row");
  return NotJudged(absl::StrCat("not judged: ", status.message()));
}

absl::StatusOr<std::vector<Verdict>> RowScorer::ScoreAlone(const std::vector<RewardRow>& rows,
                                                           const absl::Status& failed) {
  const bool ended = absl::IsUnavailable(failed) && restart_;
  if (!ended && !IsTooLarge(failed)) return failed;
  std::vector<Verdict> out(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].error.ok()) continue;
    SLUICE_ASSIGN_OR_RETURN(out[i], CallForOne(rows[i]));
  }
  if (HasGroupTerms(spec_)) CompareGroups(spec_, rows, out);
  return out;
}

}  // namespace sluice::cli
