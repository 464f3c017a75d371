#include "coordinator/workers/call_pool.h"

#include <thread>
#include <utility>

#include "core/base/log.h"

namespace sluice {

CallPool::CallPool(int max_threads) : max_threads_(max_threads), shared_(std::make_shared<Shared>()) {}

CallPool::~CallPool() { Stop(absl::Seconds(5)); }

void CallPool::Run(std::function<void()> call) {
  absl::MutexLock lock(&shared_->mu);
  if (shared_->stopped) return;
  shared_->waiting.push_back(std::move(call));
  if (shared_->idle >= static_cast<int>(shared_->waiting.size()) || shared_->threads >= max_threads_) return;
  ++shared_->threads;
  std::thread([shared = shared_] { Work(shared); }).detach();
}

void CallPool::Work(const std::shared_ptr<Shared>& shared) {
  absl::MutexLock lock(&shared->mu);
  while (true) {
    ++shared->idle;
    shared->mu.Await(absl::Condition(
        +[](Shared* s) ABSL_NO_THREAD_SAFETY_ANALYSIS { return s->stopped || !s->waiting.empty(); },
        shared.get()));
    --shared->idle;
    if (shared->stopped) break;
    std::function<void()> call = std::move(shared->waiting.front());
    shared->waiting.pop_front();
    shared->mu.Unlock();
    call();
    call = nullptr;
    shared->mu.Lock();
  }
  --shared->threads;
}

void CallPool::Stop(absl::Duration patience) {
  std::deque<std::function<void()>> dropped;
  absl::MutexLock lock(&shared_->mu);
  shared_->stopped = true;
  dropped.swap(shared_->waiting);
  const bool done = shared_->mu.AwaitWithTimeout(
      absl::Condition(
          +[](Shared* s) ABSL_NO_THREAD_SAFETY_ANALYSIS { return s->threads == 0; }, shared_.get()),
      patience);
  if (!done) LogWarning("calls_left_behind", {{"threads", shared_->threads}});
}

}  // namespace sluice
