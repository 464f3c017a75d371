// What the sandbox finds out about itself before it runs anyone's code.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "reward/sandbox/control_group.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

// Tries, from inside a box, what each property is to prevent, and names what held.
std::vector<SandboxProperty> TestSandbox(Sandbox& sandbox, const ControlGroups& groups);

// What is missing when `property` does not hold, for a reader who has to provide it. `seen`: what the test
// saw.
std::string Remedy(absl::string_view property, absl::string_view seen);

}  // namespace sluice
