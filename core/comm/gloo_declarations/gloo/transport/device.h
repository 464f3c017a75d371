// See gloo/context.h.
#pragma once

namespace gloo::transport {
class Device;

// Owned through unique_ptr by classes that are only constructed and destroyed inside LibTorch.
class UnboundBuffer {
 public:
  virtual ~UnboundBuffer() = default;
};
}  // namespace gloo::transport
