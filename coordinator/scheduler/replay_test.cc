// Replays: schedules made of records, and the scheduler that follows them in a world of faults.
#include "coordinator/records/replay_schedule.h"
#include "coordinator/scheduler/testing_world.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RecordedGroup GroupOf(Draw draw, PolicyVersion sampled_at) {
  RecordedGroup out;
  out.draw = draw;
  out.sampled_at = sampled_at;
  out.samples = 2;
  return out;
}

TEST(ReplaySchedule, OrdersDrawsByVersionAndKeepsTheBatches) {
  const auto made = ReplaySchedule::Create({{GroupOf(3, 0), GroupOf(0, 0)}, {GroupOf(5, 1), GroupOf(1, 0)}});
  ASSERT_TRUE(made.ok()) << made.status();
  const ReplaySchedule& schedule = **made;
  std::vector<Draw> order;
  for (uint64_t place = 0; place < schedule.size(); ++place) order.push_back(schedule.At(place).draw);
  EXPECT_THAT(order, ElementsAre(0, 1, 3, 5));
  EXPECT_EQ(schedule.steps(), 2);
  EXPECT_THAT(schedule.Batch(0), ElementsAre(3, 0));
  EXPECT_THAT(schedule.Batch(1), ElementsAre(5, 1));
  EXPECT_EQ(schedule.Of(5).batch, 1);
  EXPECT_EQ(schedule.Of(1).sampled_at, 0);
  EXPECT_FALSE(schedule.Has(2));
}

TEST(ReplaySchedule, RefusesWhatCannotHaveHappened) {
  EXPECT_THAT(std::string(ReplaySchedule::Create({{GroupOf(0, 1)}}).status().message()),
              HasSubstr("draw 0 was sampled at version 1 and trained on at version 0"));
  EXPECT_THAT(std::string(ReplaySchedule::Create({{GroupOf(0, 0)}, {GroupOf(0, 0)}}).status().message()),
              HasSubstr("draw 0 was trained on twice"));
}

JobPlan Recorded(int64_t bound, bool filter) {
  JobPlan plan;
  plan.groups_per_step = 2;
  plan.group_size = 3;
  plan.max_versions = bound;
  plan.stop_steps = 6;
  plan.drop_on_deadline = true;
  plan.filter_ties = filter;
  plan.generate_timeout = absl::Seconds(20);
  plan.score_timeout = absl::Seconds(10);
  plan.load_timeout = absl::Seconds(20);
  return plan;
}

constexpr Faults kFaults = {.kill = 5,
                            .coordinator_restart = 2,
                            .lose = 5,
                            .repeat = 5,
                            .fail = 10,
                            .pause = 1,
                            .clock = 5,
                            .cancel = 0};

// A job with faults is recorded and replayed with others: the same batches, versions and weights come of it.
void RecordAndReplay(uint64_t seed, int64_t& taken) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  JobPlan plan = Recorded(static_cast<int64_t>(seed % 4), seed % 3 == 0);
  SimulatedWorld recorded(plan, seed, 1 + static_cast<int>(seed % 3));
  for (int i = 0; i < 150; ++i) recorded.Play(kFaults);
  ASSERT_LT(recorded.PlayOut(600), 600) << WaitingFor(recorded.state());
  ASSERT_EQ(recorded.state().end, JobEnd::kSucceeded) << recorded.state().error;
  const auto schedule = ReplaySchedule::Create(recorded.Record());
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  taken += (*schedule)->taken();
  FollowRecord(plan, *schedule);
  SimulatedWorld replay(plan, seed + 1, 1 + static_cast<int>(seed % 2));
  for (int i = 0; i < 150; ++i) replay.Play(kFaults);
  ASSERT_LT(replay.PlayOut(600), 600) << WaitingFor(replay.state()) << ", version " << replay.state().version;
  EXPECT_EQ(replay.state().end, JobEnd::kSucceeded) << replay.state().error;
  EXPECT_EQ(replay.weights(), recorded.weights());
  for (const auto& [version, batch] : recorded.store().batches()) {
    ASSERT_EQ(replay.store().batches().count(version), 1u);
    EXPECT_EQ(replay.store().batches().at(version).draws, batch.draws) << "version " << version;
  }
  for (const auto& [draw, group] : replay.store().groups()) {
    EXPECT_EQ(group.columns, recorded.store().groups().at(draw).columns) << "draw " << draw;
  }
}

TEST(SchedulerReplay, DoesWhatWasRecordedWhateverDies) {
  int64_t taken = 0;
  for (uint64_t seed = 1; seed <= 400 && !testing::Test::HasFailure(); ++seed) RecordAndReplay(seed, taken);
  EXPECT_GT(taken, 0) << "no seed had a group that was sampled across versions";
}

TEST(SchedulerReplay, FollowsADeterministicJobToo) {
  for (int64_t bound = 0; bound <= 3; ++bound) {
    JobPlan plan = Recorded(bound, false);
    plan.deterministic = true;
    plan.drop_on_deadline = false;
    SimulatedWorld recorded(plan, 3);
    ASSERT_LT(recorded.PlayOut(600), 600);
    FollowRecord(plan, *ReplaySchedule::Create(recorded.Record()));
    SimulatedWorld replay(plan, 4, 3);
    ASSERT_LT(replay.PlayOut(600), 600) << WaitingFor(replay.state());
    EXPECT_EQ(replay.weights(), recorded.weights());
  }
}

TEST(SchedulerReplay, StopsAfterTheStepsThatAreAskedFor) {
  JobPlan plan = Recorded(2, false);
  SimulatedWorld recorded(plan, 5);
  ASSERT_LT(recorded.PlayOut(600), 600);
  auto batches = recorded.Record();
  batches.resize(2);
  FollowRecord(plan, *ReplaySchedule::Create(std::move(batches)));
  SimulatedWorld replay(plan, 6);
  ASSERT_LT(replay.PlayOut(600), 600) << WaitingFor(replay.state());
  EXPECT_EQ(replay.state().version, 2);
  EXPECT_EQ(replay.weights(), recorded.store().batches().at(2).hash);
}

}  // namespace
}  // namespace sluice
