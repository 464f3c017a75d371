// What a replay under way knows of the job that it repeats, and reads of it beside the coordinator's thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/records/replay_schedule.h"
#include "coordinator/store/store.h"

namespace sluice {

// Whether this job can be replayed as the spec asks, before anything is begun: FAILED_PRECONDITION says what
// the store no longer has, INVALID_ARGUMENT what in the spec is not the recorded job's. Returns the schedule.
absl::StatusOr<std::shared_ptr<const ReplaySchedule>> CheckReplay(Store& store, const JobSpec& spec,
                                                                  const JobView& recorded);

// Names what is read; outlives the run.
struct ReplaySource {
  JobId recorded;
  std::shared_ptr<const ReplaySchedule> schedule;  // shared: it does not change
};

// A recorded step beside the replayed one, as far as the store has both.
struct RecordedStep {
  ReplayStepView step;                    // its samples are compared, and the recorded manifest is there
  std::map<std::string, double> metrics;  // recorded
};

// What was made of the batch `draws` with what was recorded. The replay's groups are durable. On any thread.
absl::StatusOr<RecordedStep> ReadRecordedStep(Store& store, const ReplaySource& source, const JobId& replay,
                                              PolicyVersion version, const std::vector<Draw>& draws);

class ReplayRun {
 public:
  static absl::StatusOr<std::unique_ptr<ReplayRun>> Open(Store& store, const JobSpec& spec);

  const ReplaySource& source() const { return source_; }
  // `manifest`: as the learner would name it in the recorded job; empty for a learner that does not say.
  absl::StatusOr<ReplayStepView> Compare(RecordedStep read, const StepRecordView& record,
                                         const std::string& manifest) const;

 private:
  ReplayRun(ReplaySource source, bool filtered) : source_(std::move(source)), filtered_(filtered) {}
  const ReplaySource source_;
  const bool filtered_;
};

}  // namespace sluice
