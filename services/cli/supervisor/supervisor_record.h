// STATE/run/supervisor.json: what a later supervisor needs to adopt the processes of an earlier one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/cli/supervisor/process.h"

namespace sluice::cli {

struct RecordedProcess {
  std::string name;
  ProcessIdentity identity;
};

struct SupervisorRecord {
  int64_t self = 0;                       // pid of the supervisor
  std::vector<int64_t> gang_epochs = {};  // by gang
  int learner_ranks = 0;
  double stop_seconds = 30;  // that its fleet takes to stop
  std::vector<RecordedProcess> processes;
};

absl::Status WriteSupervisorRecord(const std::string& state, const SupervisorRecord& record);
// NOT_FOUND when there was none.
absl::StatusOr<SupervisorRecord> ReadSupervisorRecord(const std::string& state);

}  // namespace sluice::cli
