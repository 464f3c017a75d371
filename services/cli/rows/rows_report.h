// How the row commands end: one line on standard error, and the exit code.
#pragma once

#include <string>

#include "services/cli/rows/json_lines.h"

namespace sluice::cli {

// 0 when all rows are done, 1 when some failed (the first is named), 130 when it was interrupted; a status
// maps as ExitCodeOf.
int ReportRows(const absl::StatusOr<RowsOutcome>& outcome);

}  // namespace sluice::cli
