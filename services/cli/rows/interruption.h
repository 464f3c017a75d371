// Ctrl-C (SIGINT, SIGTERM) as an event, for work that keeps what it has done. A second one ends the process.
// Make it before the process has other threads: it blocks the signals in this thread and those it starts.
#pragma once

#include <atomic>
#include <functional>
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

// Calls `react` once, on a thread of its own, when the interruption comes.
class OnInterruption {
 public:
  OnInterruption(const Interruption& interruption, std::function<void()> react);
  ~OnInterruption();
  OnInterruption(const OnInterruption&) = delete;
  OnInterruption& operator=(const OnInterruption&) = delete;

 private:
  const int over_;
  std::thread wait_;
};

}  // namespace sluice::cli
