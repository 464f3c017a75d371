// Threads for work that blocks, so that gRPC's own threads never do. A thread is started when a task finds
// none idle, up to a limit; further tasks wait in a queue with a limit. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace sluice {

struct ExecutorOptions {
  int max_threads = 64;
  size_t max_queued = 1024;
  int64_t max_bytes = int64_t{1} << 30;  // that tasks under way and queued hold; one alone may hold more
};

class Executor {
 public:
  explicit Executor(const ExecutorOptions& options = {});
  // Stops as Stop() does.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // RESOURCE_EXHAUSTED when the queue is full or too much is held, UNAVAILABLE after Stop(); the task is not
  // run then. `bytes`: that it holds until it is done.
  absl::Status Schedule(std::function<void()> task, int64_t bytes = 0);
  // Takes no more tasks, runs those that are queued, joins all threads. Not from a task.
  void Stop();
  // Tasks that run now.
  int busy() const;

 private:
  void Work();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !queue_.empty(); }

  const ExecutorOptions options_;
  mutable absl::Mutex mu_;
  struct Task {
    std::function<void()> run;
    int64_t bytes = 0;
  };
  std::deque<Task> queue_ ABSL_GUARDED_BY(mu_);
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of tasks under way and queued
  int idle_ ABSL_GUARDED_BY(mu_) = 0, busy_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
