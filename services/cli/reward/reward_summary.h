// What `sluice reward` found over all rows. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/rl/job_spec.h"
#include "nlohmann/json.hpp"
#include "services/cli/reward/reward_row.h"

namespace sluice::cli {

class RewardSummary {
 public:
  explicit RewardSummary(const RewardSpec& spec) : spec_(spec) {}

  // A row of the output, as it was written. INVALID_ARGUMENT: it is none.
  absl::Status Add(const nlohmann::json& result);
  // The rows so far are those of an earlier run.
  void EndOfEarlier() { earlier_ = rows_; }

  int64_t rows() const { return rows_; }
  int64_t new_rows() const { return rows_ - earlier_; }
  // Rows that could not be judged, and those whose checker failed.
  int64_t failed() const { return failed_; }
  // "63.1 % correct": of the rows with a reward; empty before there are any.
  std::string ShareCorrect() const;

  // Of all rows: {"rows", "resumed", "failed", "verdicts", "classes", "mean_value", "components": {NAME:
  // {"judged", "mean_value", "classes"}}, "seconds", "rows_per_second"}; means are over what has a reward,
  // null where nothing has; seconds and speed are those of this run.
  nlohmann::ordered_json ToJson(absl::Duration taken) const;
  // The same for people, several lines.
  std::string ToText(absl::Duration taken) const;

 private:
  struct Tally {
    int64_t rewarded = 0;
    double sum = 0;
    std::map<std::string, int64_t> classes;
    // A result, or a component of one.
    void Add(const nlohmann::json& judged);
    nlohmann::ordered_json Mean() const;
  };

  RewardSpec spec_;
  int64_t rows_ = 0, earlier_ = 0, failed_ = 0;
  std::map<std::string, int64_t> verdicts_;
  Tally whole_;
  std::map<std::string, Tally> components_;
};

}  // namespace sluice::cli
