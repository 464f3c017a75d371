#include "services/cli/reward/row_source.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/rl/reward_composition.h"
#include "core/spec/json_rows.h"

namespace sluice::cli {
namespace {

constexpr size_t kRowsOfACall = 64, kProgramsOfACall = 16;
constexpr size_t kBytesOfACall = size_t{8} << 20;
constexpr size_t kMaxItemBytes = size_t{48} << 20;  // messages end at 64 MiB
constexpr size_t kMaxGroupRows = 4096;              // of one call

absl::Status CheckResult(const Line& line, const RewardRow& row, const std::string& output) {
  const std::string place = absl::StrCat(output, ":", line.number);
  const auto result = ParseJsonRow(line.text);
  if (!result.ok() || !result->contains("id") || !result->contains("verdict")) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": is no result; --resume goes on with the output of an earlier run"));
  }
  if (result->at("id").dump() == row.id.dump()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(place, ": has the id ", result->at("id").dump(),
                                                 " where line ", row.line, " of the input has ",
                                                 row.id.dump(), "; --resume needs the same input as before"));
}

}  // namespace

RowSource::RowSource(std::unique_ptr<LineReader> reader, const RewardSpec& spec)
    : reader_(std::move(reader)),
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
  RewardRow row = ParseRewardRow(line->text, line->number, needs_completion_);
  if (row.item.ByteSizeLong() > kMaxItemBytes) {
    row.error = absl::InvalidArgumentError(absl::StrCat("the row has ", row.item.ByteSizeLong(),
                                                        " bytes; at most ", kMaxItemBytes, " are judged"));
    row.item.Clear();
  }
  CheckGroup(row);
  return row;
}

absl::StatusOr<RowSource::Done> RowSource::SkipDone(const std::string& output) {
  Done done, before_group;
  if (!FileExists(output)) return done;
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<LineReader> results, LineReader::Open(output));
  std::deque<RewardRow> group;  // the last one's rows, as long as it may go on
  while (true) {
    SLUICE_ASSIGN_OR_RETURN(std::optional<Line> line, results->Next());
    if (!line || !line->ended) break;  // a row that was cut off is written anew
    SLUICE_ASSIGN_OR_RETURN(std::optional<RewardRow> row, NextRow());
    if (!row) {
      return absl::InvalidArgumentError(
          absl::StrCat(output, ":", line->number, ": is beyond the input, which has ", done.rows, " rows"));
    }
    SLUICE_RETURN_IF_ERROR(CheckResult(*line, *row, output));
    if (compares_groups_ && (group.empty() || row->group.empty() || row->group != group.back().group)) {
      group.clear();
      before_group = done;
    }
    if (compares_groups_) group.push_back(*std::move(row));
    done = {done.rows + 1, results->bytes_read()};
  }
  if (group.empty() || group.back().group.empty()) return done;
  SLUICE_ASSIGN_OR_RETURN(std::optional<RewardRow> next, NextRow());
  if (!next) return done;
  const bool goes_on = next->group == group.back().group;
  ahead_.push_front(*std::move(next));
  if (!goes_on) return done;
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
