// What a coordinator says of a job that stalls, and what it does before it stops.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using ::testing::ContainsRegex;

class CoordinatorStopsTest : public CoordinatorTest {
 protected:
  // "0" where nothing is stalled.
  std::string StallMetric(const char* kind) {
    const std::string text = prometheus::TextSerializer().Serialize(registry_.Collect());
    const std::string name = absl::StrCat("sluice_stall_seconds{waiting_for=\"", kind, "\"} ");
    const size_t at = text.find(name);
    EXPECT_NE(at, std::string::npos) << name;
    return text.substr(at + name.size(), text.find('\n', at) - at - name.size());
  }
  static int CountEvents(const JobView& view, const std::string& text) {
    return static_cast<int>(std::count_if(view.events.begin(), view.events.end(), [&](const JobEventView& e) {
      return absl::StrContains(e.text, text);
    }));
  }
};

TEST_F(CoordinatorStopsTest, TellsWhatAJobWaitsForTooLongAndWhenItGoesOn) {
  stall_ = absl::Milliseconds(50);
  Start();
  for (const char* kind : {"learner", "rollout", "reward", "weights", "registration", "store", "step"}) {
    EXPECT_EQ(StallMetric(kind), "0") << kind;
  }
  RegisterLearner();
  RegisterReward();
  const JobId job = Submit();
  const JobView stalled = Await(job, [](const JobView& view) {
    return absl::StrContains(view.stalled, "rollout worker") && !view.events.empty();
  });
  EXPECT_THAT(stalled.stalled, ContainsRegex("^a rollout worker to register since .*T.*Z$"));
  EXPECT_EQ(CountEvents(stalled, "stalled: waits for a rollout worker to register since"), 1);
  EXPECT_NE(StallMetric("registration"), "0");
  RegisterRollout(0);
  const JobView ended = AwaitEnd(job);
  EXPECT_EQ(ended.state, JobState::kSucceeded);
  EXPECT_EQ(ended.stalled, "");
  EXPECT_EQ(CountEvents(ended, "no longer stalled, after"), 1);
  EXPECT_EQ(StallMetric("registration"), "0");
}

TEST_F(CoordinatorStopsTest, ALeavingWorkerIsLostAtOnce) {
  Start();  // with a lease of an hour
  RegisterLearner();
  RegisterReward();
  const auto lease = coordinator_->RegisterWorker("rollout-0", WorkerRole::kRollout, "host:0", "incarnation");
  ASSERT_TRUE(lease.ok());
  EXPECT_TRUE(coordinator_->LeaveFleet("rollout-0", lease->epoch - 1).ok());  // of an earlier registration
  EXPECT_TRUE(coordinator_->RenewLease("rollout-0", lease->epoch).ok());
  EXPECT_TRUE(coordinator_->LeaveFleet("rollout-0", lease->epoch).ok());
  EXPECT_TRUE(coordinator_->LeaveFleet("nobody", 1).ok());
  EXPECT_FALSE(coordinator_->Workers().back().alive);
  EXPECT_EQ(coordinator_->RenewLease("rollout-0", lease->epoch).status().code(), absl::StatusCode::kAborted);
  const JobId job = Submit();
  Await(job, [](const JobView& view) { return view.waiting_for == "a rollout worker to register"; });
}

TEST_F(CoordinatorStopsTest, ADrainMakesWhatWasTrainedDurable) {
  spec_.checkpoint.every_steps = 1000;
  spec_.stop_steps = 1000;
  Start();
  RegisterAll();
  const JobId job = Submit();
  AwaitStep(job, 3);
  EXPECT_EQ(trainer_->ListCheckpoints(job)->front().version, 0);
  coordinator_->Drain(absl::Now() + absl::Minutes(1));
  const PolicyVersion saved = trainer_->ListCheckpoints(job)->front().version;
  EXPECT_GE(saved, 3);
  coordinator_->Shutdown();
  EXPECT_LE(coordinator_->Get(job)->version, saved + 1);  // at most the step that was under way
  coordinator_.reset();
  Start();
  RegisterAll();
  EXPECT_GT(AwaitStep(job, saved + 2).step, saved + 1);
}

}  // namespace
}  // namespace sluice
