// The flags of `sluice up` as data: what the state directory remembers of the last start, and what is
// different now. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/cli/supervisor/fleet.h"
#include "services/cli/supervisor/supervisor_record.h"

namespace sluice::cli {

// All flags of the shape that are set; what is off or left to a default of the services is not among them.
FlagValues FlagsOf(const FleetShape& shape);
// The other way round. Flags that are not known (of a newer program) are left out; INVALID_ARGUMENT names one
// with a value that is none.
absl::StatusOr<FleetShape> ShapeOf(const FlagValues& flags);
// On a command line.
std::vector<std::string> ArgumentsOf(const FlagValues& flags);

// What `up` starts with: the flags `given` on the command line, for the others those of the last start.
// `given` names flags also where they switch something off.
FlagValues WithRemembered(FlagValues now, const std::vector<std::string>& given,
                          const FlagValues& remembered);

// For people, a line each: "--rollout 4, was 2". Says where a running job's results depend on it.
std::vector<std::string> Differences(const FlagValues& before, const FlagValues& now);

}  // namespace sluice::cli
