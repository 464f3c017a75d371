#include "core/base/thread_pool.h"

#include <atomic>

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

}  // namespace
}  // namespace sluice
