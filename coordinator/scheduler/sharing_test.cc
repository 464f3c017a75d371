// One of several jobs on a fleet: its workers are given to others and come back, and it makes room for others
// on its learner.
#include <set>
#include <utility>

#include "coordinator/scheduler/testing_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

WorkerDown GivenAway(const std::string& name, uint64_t epoch) {
  return {.name = name, .epoch = epoch, .reason = "given to another", .given_away = true};
}

TEST_F(SchedulerTest, AGivenWorkerIsNoSamplesFault) {
  s_.plan.max_attempts = 1;
  Begin();
  for (int i = 0; i < 20; ++i) {
    ASSERT_FALSE(TakeAll<StartGenerate>().empty()) << "round " << i;
    Send(GivenAway("r0", 2));
    EXPECT_FALSE(TakeAll<CancelGenerate>().empty());
    Send(RolloutUp{"r0", 2});  // under the lease that it has all the time
    LoadAll();
  }
  EXPECT_THAT(All<SettleSample>(), IsEmpty());
  for (const auto& [key, group] : s_.groups) {
    for (const SampleSlot& slot : group.samples) EXPECT_EQ(slot.losses + slot.failures, 0);
  }
  for (const Note& note : All<Note>()) EXPECT_EQ(note.text.find("lost"), std::string::npos) << note.text;
}

TEST_F(SchedulerTest, ALostWorkerCountsAsBefore) {
  Begin();
  Send(WorkerDown{"r0", 2, "its lease ran out"});
  EXPECT_EQ(s_.groups.begin()->second.samples[0].losses, 1);
  ASSERT_THAT(All<Note>(), SizeIs(1));
}

TEST_F(SchedulerTest, WhoYieldsMakesACheckpointAndNoFurtherStep) {
  Begin();
  CompleteAll(0);
  while (s_.learner.busy && s_.learner.op == LearnerOp::kAddGroups) AnswerLearner();
  ASSERT_EQ(s_.learner.op, LearnerOp::kStep);
  s_.yields = true;
  Send(TickEvent{});
  EXPECT_FALSE(CanStandDown(s_)) << "the step is under way";
  AnswerLearner();
  ASSERT_EQ(s_.version, 1);
  ASSERT_TRUE(s_.learner.busy);
  EXPECT_EQ(s_.learner.op, LearnerOp::kCheckpoint);
  AnswerLearner();
  EXPECT_EQ(s_.checkpointed, 1);
  EXPECT_TRUE(CanStandDown(s_));
  LoadAll();
  CompleteAll(1);
  EXPECT_FALSE(s_.learner.busy) << "no step begins";
  s_.yields = false;  // whom it was for is gone
  Send(TickEvent{});
  EXPECT_TRUE(s_.learner.busy);
}

TEST_F(SchedulerTest, TheFirstVersionIsMadeBeforeAJobYields) {
  s_.yields = true;
  Send(LearnerUp{"learner", 1});
  EXPECT_FALSE(s_.learner.busy);
  EXPECT_TRUE(CanStandDown(s_)) << "it has nothing there";
  s_.yields = false;
  Send(TickEvent{});
  s_.yields = true;
  AnswerLearner();  // opened
  ASSERT_TRUE(s_.learner.busy);
  EXPECT_EQ(s_.learner.op, LearnerOp::kPublishFirst);
  EXPECT_FALSE(CanStandDown(s_));
  AnswerLearner();
  EXPECT_TRUE(CanStandDown(s_));
}

TEST_F(SchedulerTest, WhoStandsDownGivesUpWhatIsUnderWayAndDoesNothingMore) {
  Begin();
  const auto started = TakeAll<StartGenerate>();
  ASSERT_FALSE(started.empty());
  log_.clear();
  Send(StandDownEvent{});
  EXPECT_THAT(All<CancelGenerate>(), SizeIs(started.size()));
  EXPECT_THAT(s_.attempts, IsEmpty());
  log_.clear();
  Send(TickEvent{});
  Send(RolloutUp{"r1", 9});
  for (const StartGenerate& start : started) Send(GenerateEnded{start.attempt, absl::CancelledError("")});
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_THAT(s_.groups, testing::Not(IsEmpty())) << "they go on when it has its turn";
}

}  // namespace
}  // namespace sluice
