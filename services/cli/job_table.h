// What `sluice jobs` prints. Pure.
#pragma once

#include <string>
#include <vector>

#include "sluice/v1/job.pb.h"

namespace sluice::cli {

// A heading and a line for each job, in the given order. Columns are as wide as their widest cell, two spaces
// apart.
std::string RenderJobs(const std::vector<v1::Job>& jobs);

}  // namespace sluice::cli
