// Threads that judge, and the pieces of work that wait for them. Calls take turns, a piece each, so that a
// large one does not hold up a small one; background work is done only when no other waits. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sluice {

enum class JudgePriority { kNormal, kBackground };

// The pieces of one call: run(i) for each i below `count`, each on any thread of the lane.
struct LaneWork {
  size_t count = 0;
  std::function<void(size_t)> run;
  JudgePriority priority = JudgePriority::kNormal;
};

class JudgeLane {
 public:
  explicit JudgeLane(int threads);
  // Pieces that have not begun are not run. Waits for those that have.
  ~JudgeLane();
  JudgeLane(const JudgeLane&) = delete;
  JudgeLane& operator=(const JudgeLane&) = delete;

  void Add(LaneWork work);
  // For a piece that was given up while it runs on `hung`, a thread of the lane: another takes its place, and
  // it ends when the piece returns. At most as many at a time as the lane has threads, so that memory is
  // bounded.
  void ReplaceThread(std::thread::id hung);
  // Pieces that have not begun.
  size_t waiting() const;

 private:
  struct Turn {
    LaneWork work;
    size_t next = 0;
  };
  void Run();
  // The queue whose turn it is; not empty.
  std::deque<std::shared_ptr<Turn>>& NextQueue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return stopping_ || !normal_.empty() || !background_.empty();
  }

  const size_t size_;
  mutable absl::Mutex mu_;
  std::deque<std::shared_ptr<Turn>> normal_ ABSL_GUARDED_BY(mu_), background_ ABSL_GUARDED_BY(mu_);
  int in_a_row_ ABSL_GUARDED_BY(mu_) = 0;  // normal pieces while background work waited
  size_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
  std::set<std::thread::id> replaced_ ABSL_GUARDED_BY(mu_);  // they end when their piece returns
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
