// The jail's outermost process: leaves the host's namespaces and becomes, as pid 1 of its own, the parent of
// the slots.
#pragma once

#include "reward/sandbox/jail/run.h"

namespace sluice::jail {

// Speaks with the service on `control` until it hangs up, which ends the process and with it everything in
// the jail. Returns only in the processes that are a run's: a Python one, with its limits set and everything
// given up.
PythonRun Enclose(int control);

}  // namespace sluice::jail
