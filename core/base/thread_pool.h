// A fixed set of threads that run independent pieces of one loop. ParallelFor returns when all pieces ran.
// Which thread runs a piece is not fixed, so a piece must not depend on others. Safe from several threads at
// once (calls take turns). Not re-entrant.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sluice {

class ThreadPool {
 public:
  // `threads` counts the caller; 1 means no thread is started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Calls body(i) for each i in [0, count).
  void ParallelFor(int64_t count, const std::function<void(int64_t)>& body);

 private:
  struct Loop {
    const std::function<void(int64_t)>* body = nullptr;
    int64_t next = 0, count = 0, running = 0;
  };
  void Work();
  void RunPieces() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex caller_mu_;  // one loop at a time
  absl::Mutex mu_;
  Loop loop_ ABSL_GUARDED_BY(mu_);
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace sluice
