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

absl::Status Executor::Schedule(std::function<void()> task, int64_t bytes) {
  absl::MutexLock lock(&mu_);
  if (stopping_) return absl::UnavailableError("the service is stopping");
  const bool full = static_cast<int>(threads_.size()) >= options_.max_threads;
  const bool heavy = bytes_ > 0 && bytes_ + bytes > options_.max_bytes;
  if (heavy || (full && idle_ == 0 && queue_.size() >= options_.max_queued)) {
    absl::Status refused = absl::ResourceExhaustedError(absl::StrCat("the service has ", threads_.size(),
                                                                     " calls under way and ", queue_.size(),
                                                                     " waiting, with ", bytes_, " bytes"));
    SetRetryAfter(kFullPause, refused);
    return refused;
  }
  queue_.push_back({std::move(task), bytes});
  bytes_ += bytes;
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
    int64_t bytes = 0;
    {
      const Task task = std::move(queue_.front());
      bytes = task.bytes;
      queue_.pop_front();
      ++busy_;
      mu_.Unlock();
      task.run();
    }  // what the task holds goes outside the lock
    mu_.Lock();
    --busy_;
    bytes_ -= bytes;
  }
  mu_.Unlock();
}

}  // namespace sluice
