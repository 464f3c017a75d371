// The tables of sluice.db, and how those of an older program become today's. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "coordinator/store/database.h"

namespace sluice {

constexpr int64_t kSchemaVersion = 7;

// What makes version `version` of the one before it; the first makes it of an empty file.
struct SchemaStep {
  int64_t version = 0;
  const char* sql = "";
};
absl::Span<const SchemaStep> SchemaSteps();

// Takes the steps that the file has not had yet. Each is one transaction that also records its number: after
// a kill or an error at any place the file is whole at some version, and the next call goes on from there.
// FAILED_PRECONDITION: the file is of a newer program.
absl::Status UpgradeSchema(Database& db, absl::Span<const SchemaStep> steps = SchemaSteps());

}  // namespace sluice
