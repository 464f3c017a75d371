#include "services/cli/rows/rows_report.h"

#include <iostream>

#include "services/cli/exit_code.h"

namespace sluice::cli {

int ReportRows(const absl::StatusOr<RowsOutcome>& outcome) {
  if (!outcome.ok()) return Report(outcome.status());
  if (outcome->done < outcome->rows) {
    std::cerr << "sluice: interrupted after " << outcome->done << " of " << outcome->rows
              << " rows, which are in " << outcome->output << "; the same command with --resume goes on\n";
    return kInterrupted;
  }
  if (outcome->failed == 0) return kDone;
  std::cerr << "sluice: " << outcome->failed << " of " << outcome->rows
            << " rows failed; the first: " << outcome->first_error.message() << "\n";
  return kFailed;
}

}  // namespace sluice::cli
