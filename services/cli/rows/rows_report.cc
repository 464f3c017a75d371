#include "services/cli/rows/rows_report.h"

#include <iostream>

#include "services/cli/exit_code.h"

namespace sluice::cli {

int ReportRows(const absl::StatusOr<RowsOutcome>& outcome) {
  if (!outcome.ok()) return Report(outcome.status());
  if (outcome->failed == 0) return kDone;
  std::cerr << "sluice: " << outcome->failed << " of " << outcome->rows
            << " rows failed; the first: " << outcome->first_error.message() << "\n";
  return kFailed;
}

}  // namespace sluice::cli
