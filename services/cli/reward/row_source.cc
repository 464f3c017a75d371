#include "services/cli/reward/row_source.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/rl/reward_composition.h"
#include "core/spec/text/json_rows.h"

namespace sluice::cli {
namespace {

constexpr size_t kRowsOfACall = 64, kProgramsOfACall = 16;
constexpr size_t kBytesOfACall = size_t{8} << 20;
constexpr size_t kMaxItemBytes = size_t{48} << 20;  // messages end at 64 MiB
constexpr size_t kMaxGroupRows = 4096;              // of one call

constexpr char kGoOn[] = "; name another --output, or leave --resume out to judge all rows anew";

absl::StatusOr<nlohmann::json> ReadResult(absl::string_view text) {
  auto result = ParseJsonRow(text);
  if (result.ok() && result->contains("id") && result->contains("verdict")) return result;
  return absl::InvalidArgumentError("is no result; --resume goes on with the output of an earlier run");
}

// A member that is a text, else nothing.
std::string TextOf(const nlohmann::json& result, const char* name) {
  const auto it = result.find(name);
  return it != result.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

RowSource::RowSource(std::unique_ptr<LineReader> reader, const RewardSpec& spec)
    : reader_(std::move(reader)),
      judge_(FingerprintOf(spec)),
      needs_completion_(NeedsCompletion(spec)),
      compares_groups_(HasGroupTerms(spec)),
      batch_rows_(RunsPrograms(spec) ? kProgramsOfACall : kRowsOfACall) {}

absl::StatusOr<std::unique_ptr<RowSource>> RowSource::Open(const std::string& input, const RewardSpec& spec,
                                                           int stop_fd) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<LineReader> reader, LineReader::Open(input, stop_fd));
  return std::unique_ptr<RowSource>(new RowSource(std::move(reader), spec));
}

void RowSource::CheckGroup(RewardRow& row) {
  if (!compares_groups_ || row.group == group_) return;
  if (!group_.empty()) ended_groups_.insert(absl::HashOf(group_));
  group_ = row.group;
  if (row.group.empty() || !ended_groups_.contains(absl::HashOf(row.group))) return;
  row.error = absl::InvalidArgumentError(
      absl::StrCat("\"group\" ", row.group, " has ended before: the rows of a group must follow each other"));
  row.item.Clear();
  row.group.clear();
  group_.clear();
}

absl::StatusOr<std::optional<RewardRow>> RowSource::NextRow() {
  if (!ahead_.empty()) {
    std::optional<RewardRow> row = std::move(ahead_.front());
    ahead_.pop_front();
    return row;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::optional<Line> line, reader_->Next());
  if (!line) return std::nullopt;
  RewardRow row = ParseRewardRow(line->text, line->number, needs_completion_, judge_);
  if (row.item.ByteSizeLong() > kMaxItemBytes) {
    row.error = absl::InvalidArgumentError(absl::StrCat("the row has ", row.item.ByteSizeLong(),
                                                        " bytes; at most ", kMaxItemBytes, " are judged"));
    row.item.Clear();
  }
  CheckGroup(row);
  return row;
}

absl::Status RowSource::CheckResult(const nlohmann::json& result, const RewardRow& row) const {
  const std::string id = row.id.dump(), had = result.at("id").dump();
  if (had != id) {
    return absl::InvalidArgumentError(absl::StrCat("has the id ", had, " where line ", row.line,
                                                   " of the input has ", id, ", so the input has changed",
                                                   kGoOn));
  }
  const std::string judged = TextOf(result, "fingerprint");
  if (judged == row.fingerprint) return absl::OkStatus();
  if (judged.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has no \"fingerprint\", so it cannot be known what it was judged by", kGoOn));
  }
  const bool same_judge = absl::StartsWith(judged, judge_ + "-");
  return absl::InvalidArgumentError(
      same_judge ? absl::StrCat("line ", row.line, " of the input, id ", id,
                                ", has changed since it was judged", kGoOn)
                 : absl::StrCat("was judged by another reward, or another version of sluice: the spec has "
                                "changed since",
                                kGoOn));
}

absl::StatusOr<RowSource::Done> RowSource::SkipDone(const std::string& output, RewardSummary& summary) {
  Done done, before_group;
  if (!FileExists(output)) return done;
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<LineReader> results, LineReader::Open(output));
  std::deque<RewardRow> group;  // the last one's rows, as long as it may go on
  RewardSummary counted = summary, counted_before_group = summary;
  while (true) {
    SLUICE_ASSIGN_OR_RETURN(std::optional<Line> line, results->Next());
    if (!line || !line->ended) break;  // a row that was cut off is written anew
    const std::string place = absl::StrCat(output, ":", line->number);
    SLUICE_ASSIGN_OR_RETURN(std::optional<RewardRow> row, NextRow());
    if (!row) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": is beyond the input, which has ", done.rows, " rows", kGoOn));
    }
    const auto result = ReadResult(line->text);
    if (!result.ok()) return Annotate(result.status(), place);
    if (const absl::Status same = CheckResult(*result, *row); !same.ok()) return Annotate(same, place);
    if (compares_groups_ && (group.empty() || row->group.empty() || row->group != group.back().group)) {
      group.clear();
      before_group = done;
      counted_before_group = counted;
    }
    if (const absl::Status known = counted.Add(*result); !known.ok()) return Annotate(known, place);
    if (compares_groups_) group.push_back(*std::move(row));
    done = {done.rows + 1, results->bytes_read()};
  }
  summary = std::move(counted);
  if (group.empty() || group.back().group.empty()) return done;
  SLUICE_ASSIGN_OR_RETURN(std::optional<RewardRow> next, NextRow());
  if (!next) return done;
  const bool goes_on = next->group == group.back().group;
  ahead_.push_front(*std::move(next));
  if (!goes_on) return done;
  summary = std::move(counted_before_group);
  ahead_.insert(ahead_.begin(), std::make_move_iterator(group.begin()), std::make_move_iterator(group.end()));
  return before_group;
}

absl::StatusOr<std::vector<RewardRow>> RowSource::NextBatch() {
  std::vector<RewardRow> batch;
  size_t bytes = 0;
  while (true) {
    const bool in_group = compares_groups_ && !batch.empty() && !batch.back().group.empty();
    if (!in_group && (batch.size() >= batch_rows_ || bytes >= kBytesOfACall)) return batch;
    if (!in_group && !batch.empty() && !Ready()) return batch;
    SLUICE_ASSIGN_OR_RETURN(std::optional<RewardRow> row, NextRow());
    if (!row) return batch;
    const size_t size = row->item.ByteSizeLong();
    const bool new_group = in_group && row->group != batch.back().group;
    if ((new_group && batch.size() >= batch_rows_) || (!batch.empty() && bytes + size > kMaxItemBytes)) {
      ahead_.push_front(*std::move(row));
      return batch;
    }
    if (in_group && !new_group && batch.size() >= kMaxGroupRows) {
      return absl::InvalidArgumentError(absl::StrCat("line ", row->line, ": the group ", row->group,
                                                     " has more than ", kMaxGroupRows, " rows"));
    }
    bytes += size;
    batch.push_back(*std::move(row));
  }
}

}  // namespace sluice::cli
