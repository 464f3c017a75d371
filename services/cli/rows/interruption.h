// Ctrl-C (SIGINT, SIGTERM) as an event, for work that keeps what it has done. A second one ends the process.
// Make it before the process has other threads: it blocks the signals in this thread and those it starts.
#pragma once

#include <atomic>
#include <thread>

#include "core/base/cancellation.h"

namespace sluice::cli {

class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Raised by the first signal. Thread-safe.
  const CancelToken& token() const { return token_; }
  // Becomes, and stays, readable with the first signal.
  int fd() const { return event_; }

 private:
  void Watch();

  const CancelToken token_;
  int signals_ = -1, event_ = -1, end_ = -1;
  std::thread watch_;
};

}  // namespace sluice::cli
