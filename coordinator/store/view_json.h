// Step records and evaluations as JSON in the store's rows, and back. Pure.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/records/job_view.h"

namespace sluice {

std::string StepRecordToJson(const StepRecordView& record);
absl::StatusOr<StepRecordView> StepRecordFromJson(absl::string_view json);  // DATA_LOSS
std::string EvaluationToJson(const EvaluationView& evaluation);
absl::StatusOr<EvaluationView> EvaluationFromJson(absl::string_view json);  // DATA_LOSS
std::string ReplayStepToJson(const ReplayStepView& step);
absl::StatusOr<ReplayStepView> ReplayStepFromJson(absl::string_view json);  // DATA_LOSS

}  // namespace sluice
