// JSON Lines in and out. A row that is not right is an error of its own and does not stop the others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/cancellation.h"
#include "nlohmann/json.hpp"

namespace sluice::cli {

struct JsonLine {
  size_t number = 0;                   // in the file, from 1
  absl::StatusOr<nlohmann::json> row;  // an object, or why it is none
};

// Empty lines are skipped. Lines of more than 64 MiB, and nesting of more than 64 levels, are errors.
std::vector<JsonLine> ParseJsonLines(absl::string_view text);

// What a command makes of a file: the rows, each done by `work` on one of `threads` threads. `work` returns
// the output rows of one input row. A row with an error becomes {"id", "error", "line"}. Progress goes to
// standard error.
struct RowResult {
  std::vector<nlohmann::ordered_json> rows;
};
using RowWork = std::function<absl::StatusOr<RowResult>(size_t index, const nlohmann::json& row)>;

struct RowsOptions {
  int threads = 1;
  CancelToken cancel;   // raised: no further row is begun, and those under way are finished
  bool resume = false;  // of a file: goes on behind what an earlier run wrote
  // How many lines `work` makes of a row that is right; one where it is not given.
  std::function<size_t(size_t index, const nlohmann::json& row)> lines_of_row = nullptr;
};

struct RowsOutcome {
  size_t rows = 0, done = 0, failed = 0;  // done: failed ones, and those of an earlier run, included
  absl::Status first_error;               // "line 3: ..."
  std::string output;                     // the file's path
};

// Gives the lines of each row to `write`, in the order of the rows, as soon as those before are there; not on
// two threads at once. Rows before `first` are done already. Fails when `write` does.
using WriteLines = std::function<absl::Status(absl::string_view lines)>;
absl::StatusOr<RowsOutcome> ProcessRows(const std::vector<JsonLine>& lines, size_t first,
                                        const RowsOptions& options, const RowWork& work,
                                        const WriteLines& write);

// How much of an output is done: whole rows, in their order.
struct DoneRows {
  size_t rows = 0, failed = 0;
  int64_t bytes = 0;  // of the output
};
// INVALID_ARGUMENT when the output is not of this input.
absl::StatusOr<DoneRows> FindDoneRows(const std::vector<JsonLine>& lines, const RowsOptions& options,
                                      absl::string_view output);

// INVALID_ARGUMENT when `output` is the very file `input`, by whatever name.
absl::Status CheckDistinct(const std::string& input, const std::string& output);

// Reads `input`, processes it, and writes each row to `output` as soon as those before are there; OK also
// when some rows failed, or when it was cancelled.
absl::StatusOr<RowsOutcome> ProcessFile(const std::string& input, const std::string& output,
                                        const RowsOptions& options, const RowWork& work);

}  // namespace sluice::cli
