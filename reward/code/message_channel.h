// Messages over a run's descriptor 3: four bytes of length, little-endian, and an encoded value. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "reward/code/typed_value.h"

namespace sluice {

// Whether a message is a tuple of at least so many parts, the first of which is this name.
bool Says(const TypedValue& message, absl::string_view name, size_t parts);
// A part of a message; empty where it is not there or no text.
std::string TextAt(const TypedValue& message, size_t index);

class MessageChannel {
 public:
  // `fd`: a non-blocking stream socket, borrowed. Longer messages are refused before they are read.
  explicit MessageChannel(int fd, size_t max_bytes = size_t{32} << 20) : fd_(fd), max_bytes_(max_bytes) {}

  // UNAVAILABLE: the other side is gone. DEADLINE_EXCEEDED.
  absl::Status Send(const TypedValue& message, absl::Time deadline);
  // As Send, and RESOURCE_EXHAUSTED: too long; INVALID_ARGUMENT: no message.
  absl::StatusOr<TypedValue> Receive(absl::Time deadline);

 private:
  absl::Status Fill(size_t bytes, absl::Time deadline);

  int fd_;
  size_t max_bytes_;
  std::string pending_;
};

}  // namespace sluice
