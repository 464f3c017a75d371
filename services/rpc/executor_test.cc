#include "services/rpc/executor.h"

#include <atomic>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(Executor, RunsAsManyBlockedTasksAtOnceAsItHasThreads) {
  Executor executor({.max_threads = 4, .max_queued = 0});
  auto* barrier = new absl::Barrier(5);  // only passes when four tasks and this thread are there together
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(executor
                    .Schedule([barrier] {
                      if (barrier->Block()) delete barrier;
                    })
                    .ok());
  }
  if (barrier->Block()) delete barrier;
}

TEST(Executor, RefusesWhatItsQueueCannotHold) {
  Executor executor({.max_threads = 1, .max_queued = 1});
  absl::Notification go, started;
  ASSERT_TRUE(executor
                  .Schedule([&] {
                    started.Notify();
                    go.WaitForNotification();
                  })
                  .ok());
  started.WaitForNotification();
  std::atomic<int> ran = 0;
  EXPECT_TRUE(executor.Schedule([&] { ++ran; }).ok());
  EXPECT_EQ(executor.Schedule([&] { ran += 100; }).code(), absl::StatusCode::kResourceExhausted);
  go.Notify();
  executor.Stop();
  EXPECT_EQ(ran, 1);
}

TEST(Executor, RefusesWhatWouldHoldTooManyBytes) {
  Executor executor({.max_threads = 1, .max_queued = 100, .max_bytes = 10});
  absl::Notification go;
  EXPECT_TRUE(executor.Schedule([&] { go.WaitForNotification(); }, 20).ok()) << "one alone has its way";
  EXPECT_EQ(executor.Schedule([] {}, 1).code(), absl::StatusCode::kResourceExhausted);
  go.Notify();
  executor.Stop();
}

TEST(Executor, RunsWhatIsQueuedBeforeItStopsAndNothingAfter) {
  Executor executor({.max_threads = 2, .max_queued = 1000});
  std::atomic<int> ran = 0;
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(executor.Schedule([&] { ++ran; }).ok());
  executor.Stop();
  EXPECT_EQ(ran, 500);
  EXPECT_EQ(executor.Schedule([] {}).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sluice
