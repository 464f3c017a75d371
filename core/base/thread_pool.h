// A fixed set of threads that run independent pieces of one loop. ParallelFor returns when all pieces ran.
// Which thread runs a piece is not fixed, so a piece must not depend on others, nor throw. Safe from several
// threads at once (calls take turns). Not re-entrant.
//
// A loop costs about a microsecond where loops follow each other closely: a worker watches for the next one
// for ThreadPoolOptions::spin before it sleeps. It does not while the pools of this process keep more threads
// awake than there are processors, so that watching never takes the place of work.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sluice {

struct ThreadPoolOptions {
  // How long a worker without a loop, or a caller whose last pieces run elsewhere, watches before it sleeps.
  absl::Duration spin = absl::Microseconds(200);
};

class ThreadPool {
 public:
  // `threads` counts the caller; 1 means no thread is started.
  explicit ThreadPool(int threads, ThreadPoolOptions options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Threads that wait for a loop without using the processor.
  int sleeping() const { return sleeping_; }
  // Calls body(i) for each i in [0, count).
  void ParallelFor(int64_t count, absl::FunctionRef<void(int64_t)> body);

 private:
  void Work();
  void RunPieces();
  bool IsNews(uint64_t seen) const;  // an open loop other than the one that was `seen`, or the end
  void AwaitNews(uint64_t seen);
  void AwaitWorkers();
  void Leave();

  const ThreadPoolOptions options_;
  absl::Mutex caller_mu_;  // one loop at a time

  // The loop. Written by its caller while closed and nobody is inside.
  const absl::FunctionRef<void(int64_t)>* body_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};

  // Odd while a loop is open to workers. A worker goes inside_ first and then looks whether the loop is open;
  // the caller closes it first and then waits until nobody is inside_. One of the two sees the other, so a
  // loop's fields outlive their readers. Sleeping and waking follow the same pattern with sleeping_ and
  // caller_waits_. All four are sequentially consistent for that reason.
  std::atomic<uint64_t> loop_{0};
  std::atomic<int> inside_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> caller_waits_{false};
  std::atomic<bool> stop_{false};

  absl::Mutex sleep_mu_;  // guards nothing: what is waited for is atomic
  absl::CondVar news_, workers_left_;
  std::vector<std::thread> workers_;
};

}  // namespace sluice
