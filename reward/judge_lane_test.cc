#include "reward/judge_lane.h"

#include <atomic>
#include <string>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// What ran, in order.
class Trace {
 public:
  LaneWork Work(const std::string& name, size_t count, absl::BlockingCounter& left,
                JudgePriority priority = JudgePriority::kNormal) {
    return {count,
            [this, name, &left](size_t i) {
              {
                absl::MutexLock lock(&mu_);
                ran_ += name + std::to_string(i) + " ";
              }
              left.DecrementCount();
            },
            priority};
  }
  std::string ran() const {
    absl::MutexLock lock(&mu_);
    return ran_;
  }

 private:
  mutable absl::Mutex mu_;
  std::string ran_ ABSL_GUARDED_BY(mu_);
};

TEST(JudgeLane, CallsTakeTurnsAndBackgroundComesLast) {
  Trace trace;
  absl::Notification gate, begun;
  absl::BlockingCounter left(6);
  JudgeLane lane(1);
  lane.Add({1, [&](size_t) {
              begun.Notify();
              gate.WaitForNotification();
            }});
  begun.WaitForNotification();
  lane.Add(trace.Work("z", 1, left, JudgePriority::kBackground));
  lane.Add(trace.Work("a", 3, left));
  lane.Add(trace.Work("b", 2, left));
  lane.Add({0, nullptr});
  EXPECT_EQ(lane.waiting(), 6u);
  gate.Notify();
  left.Wait();
  EXPECT_EQ(trace.ran(), "a0 b0 a1 b1 a2 z0 ");
  EXPECT_EQ(lane.waiting(), 0u);
}

TEST(JudgeLane, ReplacedThreadLetsOthersGoOn) {
  absl::Notification gate, begun;
  std::thread::id hung;
  JudgeLane lane(1);
  lane.Add({1, [&](size_t) {
              hung = std::this_thread::get_id();
              begun.Notify();
              gate.WaitForNotification();
            }});
  begun.WaitForNotification();
  lane.ReplaceThread(hung);
  lane.ReplaceThread(hung);  // once is enough
  Trace trace;
  absl::BlockingCounter left(2);
  lane.Add(trace.Work("a", 2, left));
  left.Wait();
  EXPECT_EQ(trace.ran(), "a0 a1 ");
  gate.Notify();
}

TEST(JudgeLane, RunsEveryPieceOnceOnManyThreads) {
  std::atomic<int> sum{0};
  absl::BlockingCounter left(2000);
  JudgeLane lane(4);
  for (int call = 0; call < 20; ++call) {
    lane.Add({100, [&](size_t i) {
                sum += static_cast<int>(i);
                left.DecrementCount();
              }});
  }
  left.Wait();
  EXPECT_EQ(sum, 20 * 4950);
}

}  // namespace
}  // namespace sluice
