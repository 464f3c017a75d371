// What a replay under way knows of the job that it repeats. Used by the coordinator's actor thread only.
#pragma once

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

class ReplayRun {
 public:
  static absl::StatusOr<std::unique_ptr<ReplayRun>> Open(Store& store, const JobSpec& spec);

  const std::shared_ptr<const ReplaySchedule>& schedule() const { return schedule_; }
  // As it was recorded; DATA_LOSS when its file is damaged, NOT_FOUND when it is gone.
  absl::StatusOr<Group> Recorded(Draw draw) const { return store_.LoadGroup(recorded_, draw); }
  // What was made of the batch `draws` with what was recorded. The replay's groups are durable. `manifest`:
  // as the learner would name it in the recorded job; empty for a learner that does not say.
  absl::StatusOr<ReplayStepView> Compare(const JobId& replay, const StepRecordView& record,
                                         const std::string& manifest, const std::vector<Draw>& draws) const;

 private:
  ReplayRun(Store& store, JobId recorded, bool filtered, std::shared_ptr<const ReplaySchedule> schedule)
      : store_(store), recorded_(std::move(recorded)), filtered_(filtered), schedule_(std::move(schedule)) {}
  Store& store_;
  const JobId recorded_;
  const bool filtered_;
  const std::shared_ptr<const ReplaySchedule> schedule_;
};

}  // namespace sluice
