// Keys that prove one thing once.
#pragma once

#include <string>

namespace sluice {

// 32 bytes of the kernel's randomness.
std::string FreshSecret();

}  // namespace sluice
