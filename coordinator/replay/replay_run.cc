#include "coordinator/replay/replay_run.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/replay/replay_check.h"
#include "coordinator/store/spec_json.h"
#include "coordinator/store/view_json.h"
#include "core/base/status.h"

namespace sluice {

absl::StatusOr<std::shared_ptr<const ReplaySchedule>> CheckReplay(Store& store, const JobSpec& spec,
                                                                  const JobView& recorded) {
  if (!recorded.spec.replay.job.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("replay.job: ", recorded.job, " is a replay itself; replay ", recorded.spec.replay.job));
  }
  JobSpec same = spec;
  same.replay = {};
  if (SpecToJson(same) != SpecToJson(recorded.spec)) {
    return absl::InvalidArgumentError(absl::StrCat("replay.job: a replay has the spec of ", recorded.job,
                                                   " and nothing else; use `sluice replay ", recorded.job,
                                                   "`"));
  }
  if (spec.replay.steps > recorded.version) {
    return absl::InvalidArgumentError(absl::StrCat("replay.steps: ", recorded.job, " has ", recorded.version,
                                                   " steps so far, not ", spec.replay.steps));
  }
  return store.LoadSchedule(recorded.job, spec.replay.steps);
}

absl::StatusOr<std::unique_ptr<ReplayRun>> ReplayRun::Open(Store& store, const JobSpec& spec) {
  SLUICE_ASSIGN_OR_RETURN(auto schedule, store.LoadSchedule(spec.replay.job, spec.replay.steps));
  return std::unique_ptr<ReplayRun>(
      new ReplayRun({spec.replay.job, std::move(schedule)}, spec.grpo.filter_ties));
}

absl::StatusOr<RecordedStep> ReadRecordedStep(Store& store, const ReplaySource& source, const JobId& replay,
                                              PolicyVersion version, const std::vector<Draw>& draws) {
  RecordedStep read;
  read.step.version = version;
  SLUICE_ASSIGN_OR_RETURN(const std::optional<StoredBatch> batch, store.LoadBatch(source.recorded, version));
  SLUICE_ASSIGN_OR_RETURN(const auto before, store.LoadStepRecord(source.recorded, version));
  if (!batch || !before) {
    return absl::DataLossError(
        absl::StrCat("step ", version, " of ", source.recorded, " is not in the store"));
  }
  read.step.recorded_manifest = batch->manifest_hash;
  read.metrics = before->metrics;
  for (Draw draw : draws) {
    SLUICE_ASSIGN_OR_RETURN(const Group recorded, store.LoadGroup(source.recorded, draw));
    SLUICE_ASSIGN_OR_RETURN(const Group replayed, store.LoadGroup(replay, draw));
    CompareGroup(source.schedule->Of(draw), recorded, replayed, read.step);
  }
  return read;
}

absl::StatusOr<ReplayStepView> ReplayRun::Compare(RecordedStep read, const StepRecordView& record,
                                                  const std::string& manifest) const {
  read.step.manifest = manifest;
  // As the store will give it back, as it does what was recorded.
  SLUICE_ASSIGN_OR_RETURN(const StepRecordView stored, StepRecordFromJson(StepRecordToJson(record)));
  if (record.version > 0) CompareMetrics(read.metrics, stored.metrics, filtered_, read.step);
  return std::move(read.step);
}

}  // namespace sluice
