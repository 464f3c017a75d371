// STATE/run/supervisor.json: what a later supervisor needs to adopt the processes of an earlier one.
#pragma once

#include <cstdint>
#include <map>
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

// A process that did not end as it should have when the fleet was stopped.
struct UncleanEnd {
  std::string name, how;  // "learner-0", "exit code 1"
  friend bool operator==(const UncleanEnd&, const UncleanEnd&) = default;
};

// What results of a learner depend on besides the job, from this time on.
struct LearnerLayout {
  int64_t since = 0;  // unix seconds
  int ranks = 0, threads = 0;
};
// That in force then; null: not known.
const LearnerLayout* LayoutAt(const std::vector<LearnerLayout>& layouts, int64_t unix_seconds);
// What is different between the layout of a job that was recorded then and the newest, and how to have the
// old one again; empty: nothing, or it is not known.
std::string LayoutDifference(const std::vector<LearnerLayout>& layouts, int64_t recorded_at);

// By name with its dashes, for example "--rollout"; a switch that is on has no values.
using FlagValues = std::map<std::string, std::vector<std::string>>;

struct SupervisorRecord {
  int64_t self = 0;                       // pid of the supervisor
  std::vector<int64_t> gang_epochs = {};  // by gang
  int learner_ranks = 0;
  double stop_seconds = 30;                 // that its fleet takes to stop
  int64_t stop_until = 0;                   // unix seconds; a stop under way that needs longer; 0: none
  FlagValues flags = {};                    // with which the fleet was started; empty: an older program
  std::vector<LearnerLayout> layouts = {};  // oldest first, the newest is that of now
  bool stopped = false;                     // in order, or with what follows
  std::vector<UncleanEnd> unclean = {};
  std::vector<RecordedProcess> processes;
};

// For people: who did not end in order, and what becomes of their work.
std::string SayUncleanStop(const std::vector<UncleanEnd>& unclean);

absl::Status WriteSupervisorRecord(const std::string& state, const SupervisorRecord& record);
// NOT_FOUND when there was none.
absl::StatusOr<SupervisorRecord> ReadSupervisorRecord(const std::string& state);

}  // namespace sluice::cli
