// Collectives between threads of one process, with true reductions. For tests and for learners that share a
// machine.
#pragma once

#include <memory>
#include <vector>

#include "core/comm/collectives.h"

namespace sluice {

// One Collectives for each rank; each is to be used by a thread of its own. They share a meeting point, which
// lives as long as any of them. Destroying one breaks the gang, as the death of a process would.
std::vector<std::unique_ptr<Collectives>> MakeThreadCollectives(int size);

}  // namespace sluice
