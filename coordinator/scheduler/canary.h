// Whether a version that one worker has tried may be loaded by all. Pure.
#pragma once

#include <string>
#include <vector>

#include "coordinator/scheduler/scheduler.h"

namespace sluice {

// Why the version is refused; empty: it passes. `before`: of the versions that it was made of, oldest first;
// the best of them counts, from the last that a person took on. Version 0 passes: there is nothing to go back
// to.
std::string WhyRefused(const CanarySpec& canary, const std::vector<CanaryRecord>& before,
                       PolicyVersion version, double score);

// Of a state that is restored otherwise. `records`: all, oldest first; `forks`: all that are committed.
void RestoreCanary(const std::vector<CanaryRecord>& records, const std::vector<Fork>& forks,
                   SchedulerState& state);

}  // namespace sluice
