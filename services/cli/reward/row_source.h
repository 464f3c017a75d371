// The rows of an input in batches that one call judges. Memory does not grow with the input, but for eight
// bytes a group. Not thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "core/rl/job_spec.h"
#include "services/cli/reward/reward_row.h"
#include "services/cli/reward/reward_summary.h"
#include "services/cli/rows/line_reader.h"

namespace sluice::cli {

class RowSource {
 public:
  // `stop_fd` as in LineReader.
  static absl::StatusOr<std::unique_ptr<RowSource>> Open(const std::string& input, const RewardSpec& spec,
                                                         int stop_fd);

  struct Done {
    int64_t rows = 0, bytes = 0;
  };
  // Leaves out the rows whose results `output`, of an earlier run, has, counts these in `summary`, and says
  // how much of it is to be kept: whole rows and, where the reward has group terms, whole groups.
  // INVALID_ARGUMENT where a result is not the row's, or the row or the reward has changed since.
  absl::StatusOr<Done> SkipDone(const std::string& output, RewardSummary& summary);

  // Rows of one call; empty at the end of the input. A group that the reward compares is never split.
  absl::StatusOr<std::vector<RewardRow>> NextBatch();
  // Whether NextBatch would not wait for the other end of a pipe.
  bool Ready() const { return !ahead_.empty() || reader_->Ready(); }
  const LineReader& reader() const { return *reader_; }

 private:
  RowSource(std::unique_ptr<LineReader> reader, const RewardSpec& spec);
  absl::StatusOr<std::optional<RewardRow>> NextRow();
  absl::Status CheckResult(const nlohmann::json& result, const RewardRow& row) const;
  // Rows of a group stand together: one that comes later is an error of its own.
  void CheckGroup(RewardRow& row);

  const std::unique_ptr<LineReader> reader_;
  const std::string judge_;  // the reward's fingerprint
  const bool needs_completion_, compares_groups_;
  const size_t batch_rows_;
  std::deque<RewardRow> ahead_;                 // read, and not given yet
  std::string group_;                           // of the last row
  absl::flat_hash_set<uint64_t> ended_groups_;  // their hashes
};

}  // namespace sluice::cli
