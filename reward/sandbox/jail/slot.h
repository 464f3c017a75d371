// A slot: holds one box at a time and starts its runs, in control group, mount and network namespaces of its
// own.
#pragma once

#include "reward/sandbox/jail/protocol.h"
#include "reward/sandbox/jail/run.h"

namespace sluice::jail {

// Serves orders from `socket` until the service hangs up, then ends the process. Returns in a Python run's
// process.
PythonRun ServeSlot(int socket, const SlotOrder& order, const Setup& setup);

}  // namespace sluice::jail
