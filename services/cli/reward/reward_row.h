// Rows of `sluice reward`:
//   {"id"? (or "task_id"), "group"?, "prompt"?, "completion", "completion_tokens"?, and what the reward
//   needs: "answer", "tests", "gold", "prediction", ...}
//   ->  {"id", "verdict", "value", "class", "components", "detail", "seconds", "fingerprint"}, and of a row
//       that cannot be judged "error" and "line"
// Pure.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/rl/job_spec.h"
#include "nlohmann/json.hpp"
#include "sluice/v1/reward.pb.h"

namespace sluice::cli {

struct RewardRow {
  size_t line = 0;
  nlohmann::ordered_json id;  // the line's number where the row has none
  std::string group;          // empty: none
  absl::Status error;         // why it cannot be judged; the item is empty then
  v1::ScoreItem item;
  std::string fingerprint;  // of what judges and of the row's text: --resume knows by it what has changed
};

// Of a reward as this version of Sluice judges it: equal for specs that mean the same. 16 hexadecimal digits.
std::string FingerprintOf(const RewardSpec& spec);

// `judge` is the reward's fingerprint. Members that are no strings go on as JSON text, as they are written;
// null counts as absent.
RewardRow ParseRewardRow(absl::string_view line, size_t number, bool needs_completion,
                         absl::string_view judge = "");

// Only PAIR judges without one.
bool NeedsCompletion(const RewardSpec& spec);
// Whether the sandbox is needed.
bool RunsPrograms(const RewardSpec& spec);

// The class of the component that decided: the one behind which the whole has no reward, else a gate that is
// closed, else of a product or minimum the smallest, else the one that weighs most.
std::string DecidingClass(const RewardSpec& spec, const v1::Verdict& verdict);

// "value" is null where there is no reward.
nlohmann::ordered_json VerdictRow(const RewardSpec& spec, const RewardRow& row, const v1::Verdict& verdict);
nlohmann::ordered_json ErrorRow(const RewardRow& row);

// The class of rows that cannot be judged.
constexpr char kInvalidRow[] = "invalid_row";

}  // namespace sluice::cli
