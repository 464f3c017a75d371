// Names one start of a process, for registrations.
#pragma once

#include <string>

namespace sluice {

// 32 hexadecimal digits, random.
std::string NewIncarnation();

}  // namespace sluice
