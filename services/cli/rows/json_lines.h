// JSON Lines in and out. A row that is not right is an error of its own and does not stop the others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {

struct JsonLine {
  size_t number = 0;                   // in the file, from 1
  absl::StatusOr<nlohmann::json> row;  // an object, or why it is none
};

// Empty lines are skipped. Lines of more than 64 MiB, and nesting of more than 64 levels, are errors.
std::vector<JsonLine> ParseJsonLines(absl::string_view text);

// What a command makes of a file: the rows in order, each done by `work` on one of `threads` threads. `work`
// returns the output rows of one input row. A row with an error becomes {"id", "error", "line"}. Progress
// goes to standard error.
struct RowResult {
  std::vector<nlohmann::ordered_json> rows;
};
using RowWork = std::function<absl::StatusOr<RowResult>(size_t index, const nlohmann::json& row)>;

struct RowsOutcome {
  std::string output;  // JSON Lines
  size_t rows = 0, failed = 0;
  absl::Status first_error;  // "line 3: ..."
};
RowsOutcome ProcessRows(const std::vector<JsonLine>& lines, int threads, const RowWork& work);

// INVALID_ARGUMENT when `output` is the very file `input`, by whatever name.
absl::Status CheckDistinct(const std::string& input, const std::string& output);

// Reads `input`, processes it, writes `output` whole; OK also when some rows failed.
absl::StatusOr<RowsOutcome> ProcessFile(const std::string& input, const std::string& output, int threads,
                                        const RowWork& work);

}  // namespace sluice::cli
