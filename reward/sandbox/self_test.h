// What the sandbox finds out about itself before it runs anyone's code.
#pragma once

#include <vector>

#include "reward/sandbox/control_group.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

// Tries to break out in each way that a property is to prevent, from inside a box, and names what held.
std::vector<SandboxProperty> TestSandbox(Sandbox& sandbox, const ControlGroups& groups);

}  // namespace sluice
