// Buffers that a forward keeps from call to call.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice {

// As many floats as asked for; grows and never shrinks, old content may be gone.
inline float* Room(std::vector<float>* buffer, int64_t floats) {
  if (static_cast<int64_t>(buffer->size()) < floats) {
    buffer->clear();  // nothing to copy to the new place
    buffer->resize(static_cast<size_t>(floats));
  }
  return buffer->data();
}

// For the kernels' optional vectors.
inline const float* OrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace sluice
