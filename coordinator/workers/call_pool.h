// Threads for calls that block: at most so many at once, the rest wait in order. Owned by whoever makes the
// calls. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sluice {

class CallPool {
 public:
  explicit CallPool(int max_threads);
  ~CallPool();
  // Ignored after Stop. `call` must own what it uses: a call that outlives Stop's patience is left behind.
  void Run(std::function<void()> call);
  // Drops calls that have not begun and waits for the others, at most `patience` (real time).
  void Stop(absl::Duration patience);

 private:
  struct Shared {  // shared with the threads, which may outlive the pool
    absl::Mutex mu;
    std::deque<std::function<void()>> waiting ABSL_GUARDED_BY(mu);
    int threads ABSL_GUARDED_BY(mu) = 0, idle ABSL_GUARDED_BY(mu) = 0;
    bool stopped ABSL_GUARDED_BY(mu) = false;
  };
  static void Work(const std::shared_ptr<Shared>& shared);

  const int max_threads_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace sluice
