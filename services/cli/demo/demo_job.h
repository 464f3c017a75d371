// The demonstration's job. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "services/cli/demo/demo_settings.h"
#include "sluice/v1/job.pb.h"

namespace sluice::cli {

// Files that the demonstration writes and its job reads.
struct DemoFiles {
  explicit DemoFiles(const std::string& folder);
  std::string folder, model, train, held_out, warm, job;
};

v1::JobSpec MakeDemoJob(const DemoFiles& files, const DemoHyperparameters& settings, uint64_t seed);

}  // namespace sluice::cli
