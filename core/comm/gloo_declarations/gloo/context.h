// c10d's ProcessGroupGloo.hpp, which LibTorch's wheel ships, includes Gloo's headers, which it does not ship.
// These declarations are what that header needs to be read: names for pointers, and one base class that is
// never constructed here. No code of Gloo's is compiled; libtorch_cpu.so contains it.
#pragma once

#include <chrono>

namespace gloo {
class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};
}  // namespace gloo
