#include "core/base/thread_pool.h"

#include <atomic>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(ThreadPool, RunsEachPieceOnce) {
  for (int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      pool.ParallelFor(count, [&](int64_t i) { ++seen[static_cast<size_t>(i)]; });
      for (const auto& n : seen) EXPECT_EQ(n.load(), 1);
    }
  }
}

TEST(ThreadPool, ServesSeveralCallersAtOnce) {
  ThreadPool pool(2);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      for (int r = 0; r < 50; ++r) pool.ParallelFor(10, [&](int64_t) { ++total; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 1500);
}

// Pools that never sleep, and pools that always do: loops right after each other and after a pause.
TEST(ThreadPool, RunsLoopsOfAnyLengthAwakeOrAsleep) {
  for (const absl::Duration spin : {absl::ZeroDuration(), absl::Milliseconds(50)}) {
    ThreadPool pool(3, {spin});
    std::atomic<int64_t> sum{0};
    int64_t expected = 0;
    for (int64_t loop = 0; loop < 3000; ++loop) {
      const int64_t count = loop % 7;
      pool.ParallelFor(count, [&](int64_t i) { sum += i + loop; });
      for (int64_t i = 0; i < count; ++i) expected += i + loop;
      ASSERT_EQ(sum, expected);
    }
  }
}

// More threads than processors, each pool with its own caller.
TEST(ThreadPool, ManyPoolsAtOnceFinish) {
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&] {
      ThreadPool pool(4);
      for (int loop = 0; loop < 200; ++loop) pool.ParallelFor(5, [&](int64_t) { ++total; });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 8 * 200 * 5);
}

TEST(ThreadPool, SleepsWhenIdle) {
  ThreadPool pool(4, {absl::Milliseconds(1)});
  pool.ParallelFor(8, [](int64_t) {});
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (pool.sleeping() < pool.threads() - 1 && absl::Now() < deadline) std::this_thread::yield();
  EXPECT_EQ(pool.sleeping(), pool.threads() - 1);
}

// What a piece wrote is seen after the loop, and what was written before it is seen by the pieces.
TEST(ThreadPool, OrdersWritesAroundALoop) {
  ThreadPool pool(2);
  std::vector<int64_t> values(64, 0);
  for (int64_t loop = 1; loop <= 500; ++loop) {
    pool.ParallelFor(64, [&](int64_t i) { ++values[static_cast<size_t>(i)]; });
    for (const int64_t value : values) ASSERT_EQ(value, loop);
  }
}

}  // namespace
}  // namespace sluice
