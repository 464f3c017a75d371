// Hedges, the time limit of groups, over-sampling.
#include "coordinator/scheduler/testing_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StragglersTest : public SchedulerTest {
 protected:
  // Four groups under way at r0, the first with a sample there; then r1 joins.
  void BeginHedging() {
    s_.plan.hedge_after = absl::Seconds(3);
    Begin();
    first_ = TakeAll<StartGenerate>();
    ASSERT_EQ(first_.size(), 4u);
    Send(SampleArrived{first_[0].attempt, 1, 0});
    Send(RolloutUp{"r1", 7});
    LoadAll();
  }
  std::vector<StartGenerate> Hedge() {
    Pass(absl::Seconds(3));
    return TakeAll<StartGenerate>();
  }
  void Pass(absl::Duration time) {
    now_ += time;
    Send(TickEvent{});
  }
  std::vector<std::pair<uint64_t, AttemptOutcome>> TakeOver() {
    std::vector<std::pair<uint64_t, AttemptOutcome>> out;
    for (const AttemptOver& over : TakeAll<AttemptOver>()) out.emplace_back(over.attempt, over.outcome);
    return out;
  }
  std::vector<Straggling> TakeTallies() {
    std::vector<Straggling> out;
    for (const Tally& tally : TakeAll<Tally>()) out.push_back(tally.what);
    return out;
  }
  SampleStatus StatusOf(const GroupKey& group, uint32_t index) {
    return s_.groups.at(group).samples[index].status;
  }

  std::vector<StartGenerate> first_;
};

TEST_F(StragglersTest, HedgesWhatASlowAttemptMissesOnAnotherWorkerOnce) {
  BeginHedging();
  Pass(absl::Milliseconds(2999));
  EXPECT_TRUE(All<StartGenerate>().empty());
  const auto hedges = Hedge();
  ASSERT_EQ(hedges.size(), 4u);
  EXPECT_EQ(hedges[0].group, first_[0].group);
  EXPECT_EQ(hedges[0].worker, "r1");
  EXPECT_THAT(hedges[0].indices, ElementsAre(0));
  EXPECT_EQ(hedges[0].number, 1u);
  EXPECT_THAT(hedges[1].indices, ElementsAre(0, 1));
  EXPECT_EQ(TakeTallies(), std::vector<Straggling>(4, Straggling::kHedgeStarted));
  Pass(absl::Seconds(4));
  EXPECT_TRUE(All<StartGenerate>().empty()) << "one hedge for each group at a time";
}

TEST_F(StragglersTest, NeverHedgesOnTheSameWorkerOrAVersionThatTheGroupMayNotHave) {
  s_.plan.hedge_after = absl::Seconds(3);
  Begin();
  EXPECT_EQ(TakeAll<StartGenerate>().size(), 4u);
  Send(RolloutUp{"r1", 7});  // it has no policy
  EXPECT_TRUE(Hedge().empty());
}

TEST_F(StragglersTest, TheFirstCompletionCountsAndWhoHasNothingLeftToBringIsCancelled) {
  BeginHedging();
  const auto hedges = Hedge();
  log_.clear();
  // The second is first.
  Send(SampleArrived{hedges[0].attempt, 0, 0});
  EXPECT_THAT(TakeOver(), ElementsAre(std::pair(first_[0].attempt, AttemptOutcome::kHedgeLost)));
  ASSERT_EQ(All<CancelGenerate>().size(), 1u);
  EXPECT_EQ(TakeAll<CancelGenerate>()[0].attempt, first_[0].attempt);
  EXPECT_THAT(TakeTallies(), ElementsAre(Straggling::kHedgeWon));
  Send(SampleArrived{first_[0].attempt, 0, 0});
  Send(GenerateEnded{hedges[0].attempt, absl::OkStatus()});
  EXPECT_THAT(TakeOver(), ElementsAre(std::pair(hedges[0].attempt, AttemptOutcome::kDone)));
  // Each brings one of the next: the last one decides.
  Send(SampleArrived{hedges[1].attempt, 0, 0});
  Send(SampleArrived{first_[1].attempt, 0, 0});
  EXPECT_TRUE(TakeOver().empty());
  Send(SampleArrived{first_[1].attempt, 1, 0});
  EXPECT_THAT(TakeOver(), ElementsAre(std::pair(hedges[1].attempt, AttemptOutcome::kHedgeLost)));
  EXPECT_THAT(TakeTallies(), ElementsAre(Straggling::kHedgeLost));
  JudgeAll();
  EXPECT_EQ(All<GroupComplete>().size(), 2u);
}

TEST_F(StragglersTest, WhatTheOtherStillBringsIsNoFailure) {
  BeginHedging();
  const auto hedges = Hedge();
  Send(GenerateEnded{first_[1].attempt, absl::InternalError("broken")});
  EXPECT_TRUE(All<StartGenerate>().empty());
  for (uint32_t i : {0, 1}) {
    EXPECT_EQ(StatusOf(first_[1].group, i), SampleStatus::kGenerating);
    EXPECT_EQ(s_.groups.at(first_[1].group).samples[i].failures, 0);
  }
  Send(WorkerDown{"r1", 7, "killed"});
  const auto again = TakeAll<StartGenerate>();
  ASSERT_EQ(again.size(), 1u) << "the others are still with r0";
  EXPECT_EQ(again[0].group, first_[1].group);
  EXPECT_EQ(again[0].worker, "r0");
}

TEST_F(StragglersTest, ALateGroupGoesOnWithWhatThereIs) {
  s_.plan.group_size = 3;
  s_.plan.group_timeout = absl::Seconds(8);
  Begin();
  const auto starts = TakeAll<StartGenerate>();
  for (uint32_t i : {0, 2}) Send(SampleArrived{starts[0].attempt, i, 0});
  Send(SampleArrived{starts[1].attempt, 0, 0});
  Pass(absl::Milliseconds(7999));
  EXPECT_TRUE(TakeOver().empty());
  Pass(absl::Milliseconds(1));
  EXPECT_EQ(TakeOver().size(), 4u);
  EXPECT_EQ(TakeTallies(), std::vector<Straggling>(4, Straggling::kGroupLate));
  EXPECT_EQ(TakeAll<DropGroup>().size(), 2u) << "nothing of draws 2 and 3 is there";
  TakeAll<SettleSample>();
  JudgeAll();
  ASSERT_EQ(All<GroupComplete>().size(), 1u);
  EXPECT_EQ(All<GroupComplete>()[0].group, starts[0].group);
  ASSERT_EQ(All<DropGroup>().size(), 1u);
  EXPECT_EQ(All<DropGroup>()[0].draw, 1u) << "one reward compares with nothing";
  ASSERT_EQ(All<SettleSample>().size(), 3u);
  for (const SettleSample& settle : All<SettleSample>()) {
    EXPECT_EQ(settle.column, LedgerColumn::kDroppedFailed);
    EXPECT_EQ(settle.reason, "not sampled within timeout.group_seconds (8s)");
  }
}

TEST_F(StragglersTest, AGroupsTimeBeginsAnewWithARestartAndAResume) {
  s_.plan.group_timeout = absl::Seconds(8);
  s_.version = 0;
  s_.policy = Ref(0);
  GroupState& group = s_.groups[GroupKey{false, 0}];
  group.train_by = 1;
  group.samples.resize(2);
  s_.next_draw = 1;
  Pass(absl::ZeroDuration());
  EXPECT_EQ(s_.groups.at({false, 0}).deadline, now_ + absl::Seconds(8));
  Pass(absl::Seconds(7));
  Send(PauseEvent{});
  Pass(absl::Hours(9));
  EXPECT_EQ(s_.groups.size(), 1u);
  Send(ResumeEvent{});
  Pass(absl::Seconds(7));
  EXPECT_EQ(s_.groups.size(), 1u);
  Pass(absl::Seconds(1));
  EXPECT_TRUE(s_.groups.empty());
  EXPECT_EQ(All<DropGroup>().size(), 1u);
}

class OverSamplingTest : public StragglersTest {
 protected:
  void Finish(const StartGenerate& start, PolicyVersion version) {
    Generate(start, version);
    JudgeAll();
    while (s_.learner.busy && s_.learner.op == LearnerOp::kAddGroups) AnswerLearner();
  }
};

TEST_F(OverSamplingTest, ABatchClosesWithoutThoseThatAreDueAndTheyAreCancelled) {
  s_.plan.max_versions = 0;
  s_.plan.extra_groups = 1;
  Begin();
  const auto starts = TakeAll<StartGenerate>();
  ASSERT_EQ(starts.size(), 3u);
  for (int i : {2, 0}) Finish(starts[i], 0);
  ASSERT_EQ(All<RecordBatch>().size(), 1u);
  EXPECT_THAT(All<RecordBatch>()[0].draws, ElementsAre(0, 2));
  ASSERT_EQ(All<DropGroup>().size(), 1u);
  EXPECT_EQ(All<DropGroup>()[0].draw, 1u);
  EXPECT_EQ(All<DropGroup>()[0].column, LedgerColumn::kCancelled);
  EXPECT_EQ(All<DropGroup>()[0].reason, "over-sampled: the batch was full without it");
  EXPECT_EQ(All<CancelGenerate>().back().attempt, starts[1].attempt);
  EXPECT_THAT(TakeTallies(), ElementsAre(Straggling::kGroupOverSampled));
  EXPECT_TRUE(TakeAll<StartGenerate>().empty()) << "what begins now would be too old for the next batch";
  AnswerLearner();
  LoadAll();
  EXPECT_EQ(All<StartGenerate>().size(), 3u);
}

// With a bound above 0 those that are due may be more than the share: the batch waits for the others.
TEST_F(OverSamplingTest, LeavesNoMoreBehindThanItsShare) {
  s_.plan.extra_groups = 1;
  s_.plan.drop_on_deadline = false;
  Begin();
  const auto old = TakeAll<StartGenerate>();  // to be trained on by 1
  ASSERT_EQ(old.size(), 5u);
  for (int i : {0, 1}) Finish(old[i], 0);
  EXPECT_TRUE(All<DropGroup>().empty()) << "the others have a place at version 1";
  AnswerLearner();
  LoadAll();
  const auto young = TakeAll<StartGenerate>();  // by 2
  ASSERT_EQ(young.size(), 2u);
  for (int i : {0, 1}) Finish(young[i], 1);
  EXPECT_EQ(All<RecordBatch>().size(), 1u) << "three are due, one may be left";
  Finish(old[3], 0);
  EXPECT_EQ(All<RecordBatch>().size(), 1u);
  Finish(old[2], 0);
  ASSERT_EQ(All<RecordBatch>().size(), 2u);
  EXPECT_THAT(All<RecordBatch>()[1].draws, ElementsAre(2, 3));
  ASSERT_EQ(All<DropGroup>().size(), 1u);
  EXPECT_EQ(All<DropGroup>()[0].draw, 4u);
}

}  // namespace
}  // namespace sluice
