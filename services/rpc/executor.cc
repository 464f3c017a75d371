#include "services/rpc/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/retry.h"

namespace sluice {
namespace {

constexpr absl::Duration kFullPause = absl::Milliseconds(250);  // that a refused caller is asked to wait

}  // namespace

Executor::Executor(const ExecutorOptions& options) : options_(options) {}

Executor::~Executor() { Stop(); }

absl::Status Executor::Schedule(std::function<void()> task) {
  absl::MutexLock lock(&mu_);
  if (stopping_) return absl::UnavailableError("the service is stopping");
  const bool full = static_cast<int>(threads_.size()) >= options_.max_threads;
  if (full && idle_ == 0 && queue_.size() >= options_.max_queued) {
    absl::Status refused = absl::ResourceExhaustedError(absl::StrCat(
        "the service has ", threads_.size(), " calls under way and ", queue_.size(), " waiting"));
    SetRetryAfter(kFullPause, refused);
    return refused;
  }
  queue_.push_back(std::move(task));
  if (!full && static_cast<size_t>(idle_) < queue_.size()) threads_.emplace_back([this] { Work(); });
  return absl::OkStatus();
}

void Executor::Stop() {
  std::vector<std::thread> threads;
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

int Executor::busy() const {
  absl::MutexLock lock(&mu_);
  return busy_;
}

void Executor::Work() {
  mu_.Lock();
  while (true) {
    ++idle_;
    mu_.Await(absl::Condition(this, &Executor::HasWork));
    --idle_;
    if (queue_.empty()) break;  // stopping
    {
      std::function<void()> task = std::move(queue_.front());
      queue_.pop_front();
      ++busy_;
      mu_.Unlock();
      task();
    }  // what the task holds goes outside the lock
    mu_.Lock();
    --busy_;
  }
  mu_.Unlock();
}

}  // namespace sluice
