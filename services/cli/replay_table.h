// What `sluice replay` prints. Pure.
#pragma once

#include <string>
#include <vector>

#include "sluice/v1/job.pb.h"

namespace sluice::cli {

// The columns' names, with the line end.
std::string ReplayHeading();
// One step: weights, samples and metrics, equal or not.
std::string RenderReplayStep(const v1::ReplayStep& step);
// Whether all is equal, else what differs first; what was taken over; the kernel paths where they are not the
// same.
std::string RenderReplaySummary(const std::string& recorded, const std::vector<v1::ReplayStep>& steps);
bool AllEqual(const std::vector<v1::ReplayStep>& steps);

}  // namespace sluice::cli
