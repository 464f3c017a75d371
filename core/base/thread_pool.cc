#include "core/base/thread_pool.h"

namespace sluice {

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&mu_);
    stop_ = true;
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunPieces() {
  while (loop_.next < loop_.count) {
    const int64_t piece = loop_.next++;
    const std::function<void(int64_t)>& body = *loop_.body;
    ++loop_.running;
    mu_.Unlock();
    body(piece);
    mu_.Lock();
    --loop_.running;
  }
}

void ThreadPool::Work() {
  absl::MutexLock lock(&mu_);
  while (true) {
    auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stop_ || loop_.next < loop_.count; };
    mu_.Await(absl::Condition(&ready));
    if (stop_) return;
    RunPieces();
  }
}

void ThreadPool::ParallelFor(int64_t count, const std::function<void(int64_t)>& body) {
  if (workers_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  absl::MutexLock caller(&caller_mu_);
  absl::MutexLock lock(&mu_);
  loop_ = {&body, 0, count, 0};
  RunPieces();
  auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return loop_.running == 0; };
  mu_.Await(absl::Condition(&done));
  loop_ = {};
}

}  // namespace sluice
