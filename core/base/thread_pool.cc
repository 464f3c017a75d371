#include "core/base/thread_pool.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice {
namespace {

// Of all pools in this process: workers not asleep, and callers inside ParallelFor.
std::atomic<int> awake{0};

bool Crowded() {
  static const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return awake.load(std::memory_order_relaxed) > processors;
}

// Watches for `news` for at most `limit`; whether it came. Other processes' threads get their turn by
// yielding after the first few microseconds.
template <typename News>
bool Spin(absl::Duration limit, const News& news) {
  const auto start = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds most(absl::ToInt64Nanoseconds(limit));
  for (int round = 0;; ++round) {
    for (int i = 0; i < 32; ++i) {
      if (news()) return true;
#if defined(__x86_64__)
      _mm_pause();
#endif
    }
    if (Crowded() || std::chrono::steady_clock::now() - start >= most) return news();
    if (round >= 16) std::this_thread::yield();
  }
}

}  // namespace

ThreadPool::ThreadPool(int threads, ThreadPoolOptions options) : options_(options) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { Work(); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  {
    absl::MutexLock lock(&sleep_mu_);
    news_.SignalAll();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::RunPieces() {
  for (int64_t i = next_++; i < count_; i = next_++) (*body_)(i);
}

bool ThreadPool::IsNews(uint64_t seen) const {
  const uint64_t loop = loop_;
  return stop_ || (loop % 2 == 1 && loop != seen);
}

void ThreadPool::AwaitNews(uint64_t seen) {
  if (Spin(options_.spin, [&] { return IsNews(seen); })) return;
  --awake;
  {
    absl::MutexLock lock(&sleep_mu_);
    ++sleeping_;
    while (!IsNews(seen)) news_.Wait(&sleep_mu_);
    --sleeping_;
  }
  ++awake;
}

void ThreadPool::Leave() {
  if (--inside_ == 0 && caller_waits_) {
    absl::MutexLock lock(&sleep_mu_);
    workers_left_.Signal();
  }
}

void ThreadPool::Work() {
  ++awake;
  uint64_t seen = 0;
  while (!stop_) {
    AwaitNews(seen);
    ++inside_;
    const uint64_t loop = loop_;
    if (loop % 2 == 1) {
      RunPieces();
      seen = loop;
    }
    Leave();
  }
  --awake;
}

void ThreadPool::AwaitWorkers() {
  if (Spin(options_.spin, [&] { return inside_ == 0; })) return;
  absl::MutexLock lock(&sleep_mu_);
  caller_waits_ = true;
  while (inside_ != 0) workers_left_.Wait(&sleep_mu_);
  caller_waits_ = false;
}

void ThreadPool::ParallelFor(int64_t count, absl::FunctionRef<void(int64_t)> body) {
  if (workers_.empty() || count <= 1) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  absl::MutexLock caller(&caller_mu_);
  ++awake;
  body_ = &body;
  count_ = count;
  next_ = 0;
  ++loop_;  // open
  if (sleeping_ > 0) {
    absl::MutexLock lock(&sleep_mu_);
    for (int64_t i = std::min<int64_t>(count - 1, sleeping_); i > 0; --i) news_.Signal();
  }
  RunPieces();
  ++loop_;  // closed
  AwaitWorkers();
  --awake;
}

}  // namespace sluice
