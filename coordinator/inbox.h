// The queue of the coordinator's actor: things to do on its thread, in order. Bounded: who brings data waits
// while it is full, who controls does not. Thread-safe.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sluice {

class Inbox {
 public:
  explicit Inbox(size_t capacity) : capacity_(capacity) {}

  // Waits while the queue is full. After Stop: nothing.
  void PostData(std::function<void()> work) {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(this, &Inbox::HasRoom));
    if (!stopped_) queue_.push_back(std::move(work));
  }
  // Does not wait; goes before data that wait. False after Stop.
  bool PostControl(std::function<void()> work) {
    absl::MutexLock lock(&mu_);
    if (!stopped_) control_.push_back(std::move(work));
    return !stopped_;
  }
  // At most `limit` things, waiting at most `timeout` (real time) for the first.
  std::vector<std::function<void()>> Take(size_t limit, absl::Duration timeout) {
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithTimeout(absl::Condition(this, &Inbox::HasWork), timeout);
    std::vector<std::function<void()>> out;
    for (auto* from : {&control_, &queue_}) {
      while (!from->empty() && out.size() < limit) {
        out.push_back(std::move(from->front()));
        from->pop_front();
      }
    }
    return out;
  }
  void Stop() {
    absl::MutexLock lock(&mu_);
    stopped_ = true;
  }
  bool stopped() const {
    absl::MutexLock lock(&mu_);
    return stopped_;
  }
  // Waits for Stop, at most `timeout`; says whether it came.
  bool AwaitStop(absl::Duration timeout) {
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithTimeout(absl::Condition(&stopped_), timeout);
  }
  size_t size() const {
    absl::MutexLock lock(&mu_);
    return queue_.size() + control_.size();
  }

 private:
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopped_ || queue_.size() < capacity_; }
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return stopped_ || !queue_.empty() || !control_.empty();
  }

  const size_t capacity_;
  mutable absl::Mutex mu_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mu_), control_ ABSL_GUARDED_BY(mu_);
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace sluice
