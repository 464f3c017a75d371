#include "coordinator/scheduler/testing_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DeterministicSchedulerTest : public SchedulerTest {
 protected:
  void SetUp() override {
    SchedulerTest::SetUp();
    s_.plan.deterministic = true;
    s_.plan.drop_on_deadline = false;
  }
  // Adds the groups that are complete and takes the step that is then asked for.
  void TakeStep() {
    while (s_.learner.busy && s_.learner.op == LearnerOp::kAddGroups) AnswerLearner();
    ASSERT_EQ(s_.learner.op, LearnerOp::kStep);
    AnswerLearner();
  }
  void Judge(const StartScore& score, const Judged& judged) {
    Send(ScoreEnded{score.call, absl::OkStatus(), std::vector<Judged>(score.items.size(), judged)});
  }
};

TEST_F(DeterministicSchedulerTest, DrawsHaveTheirBatchAndTheirVersion) {
  JobPlan plan;
  plan.groups_per_step = 2;
  struct Row {
    int64_t bound;
    Draw draw;
    PolicyVersion batch, version;
  };
  for (const Row& row : std::vector<Row>{{0, 0, 0, 0},
                                         {0, 1, 0, 0},
                                         {0, 2, 1, 1},
                                         {1, 3, 1, 0},
                                         {1, 4, 2, 1},
                                         {2, 5, 2, 0},
                                         {2, 6, 3, 1},
                                         {2, 21, 10, 8}}) {
    plan.max_versions = row.bound;
    SchedulerState state;
    state.plan = plan;
    EXPECT_EQ(BatchOf(state, row.draw), row.batch) << row.draw;
    EXPECT_EQ(SampledAt(state, row.draw), row.version) << row.draw;
    EXPECT_LE(FirstDrawOf(state, row.batch), row.draw);
    EXPECT_GT(FirstDrawOf(state, row.batch + 1), row.draw);
    // Behind a rollback the same begins anew.
    state.fork = {.version = 7, .parent = 4, .first_draw = 100};
    EXPECT_EQ(BatchOf(state, row.draw + 100), row.batch + 7) << row.draw;
    EXPECT_EQ(SampledAt(state, row.draw + 100), row.version + 7) << row.draw;
    EXPECT_LE(FirstDrawOf(state, row.batch + 7), row.draw + 100);
  }
}

TEST_F(DeterministicSchedulerTest, TakesBatchesByDrawHoweverTheyComplete) {
  Begin();
  auto starts = TakeAll<StartGenerate>();
  ASSERT_EQ(starts.size(), 4u);
  for (int i : {3, 2, 1}) Generate(starts[i], 0);
  JudgeAll();
  EXPECT_TRUE(All<RecordBatch>().empty()) << "draw 0 is not complete";
  EXPECT_EQ(s_.learner.op_draws, std::vector<Draw>{1}) << "of this batch only";
  Generate(starts[0], 0);
  JudgeAll();
  TakeStep();
  TakeStep();
  ASSERT_EQ(All<RecordBatch>().size(), 2u);
  EXPECT_THAT(All<RecordBatch>()[0].draws, ElementsAre(0, 1));
  EXPECT_THAT(All<RecordBatch>()[1].draws, ElementsAre(2, 3));
}

TEST_F(DeterministicSchedulerTest, WorkersStayUntilAllDrawsOfTheirVersionAreComplete) {
  Begin();
  Send(RolloutUp{"r1", 5});
  LoadAll();
  auto starts = TakeAll<StartGenerate>();
  for (int i : {0, 1, 2}) Generate(starts[i], 0);
  JudgeAll();
  TakeStep();
  ASSERT_EQ(s_.version, 1);
  EXPECT_TRUE(All<StartLoad>().empty()) << "draw 3 of version 0 is not complete";
  EXPECT_TRUE(All<StartGenerate>().empty()) << "draw 4 is of version 1";
  Generate(starts[3], 0);
  EXPECT_TRUE(All<StartLoad>().empty()) << "it has to be judged";
  JudgeAll();
  const auto loads = TakeAll<StartLoad>();
  ASSERT_EQ(loads.size(), 2u);
  for (const StartLoad& load : loads) EXPECT_EQ(load.policy, Ref(1));
  for (const StartLoad& load : loads)
    Send(PolicyLoaded{load.worker, load.epoch, load.policy.version, absl::OkStatus()});
  EXPECT_EQ(All<StartGenerate>().size(), 2u) << "draws 4 and 5; those after are of version 2";
}

TEST_F(DeterministicSchedulerTest, RestartedWorkerLoadsTheOldestVersionThatIsNeeded) {
  Begin();
  auto starts = TakeAll<StartGenerate>();
  for (int i : {0, 1, 2}) Generate(starts[i], 0);
  JudgeAll();
  TakeStep();
  ASSERT_EQ(s_.version, 1);
  Send(WorkerDown{"r0", 2, "killed"});
  Send(RolloutUp{"r0", 9});
  ASSERT_EQ(All<StartLoad>().size(), 1u);
  EXPECT_EQ(All<StartLoad>()[0].policy, Ref(0));
  LoadAll();
  ASSERT_EQ(All<StartGenerate>().size(), 1u);
  EXPECT_EQ(All<StartGenerate>()[0].group.draw, 3u);
}

TEST_F(DeterministicSchedulerTest, LoadsOlderVersionsFromWhereTheLearnerIsNow) {
  s_.version = 3;
  s_.policy = Ref(3);
  s_.checkpointed = 3;
  s_.next_draw = 8;
  for (PolicyVersion v : {2, 3}) AddManifest(s_, v, Ref(v).manifest_hash);
  for (Draw draw : {6, 7}) {
    GroupState& group = s_.groups[GroupKey{false, draw}];
    group.train_by = 3;
    group.samples.resize(2);
  }
  Send(LearnerUp{"learner", 1});
  TrainerState state;
  state.version = 3;
  state.policy = Ref(3);
  state.policy.source = "moved";
  AnswerLearner(state);
  Send(RolloutUp{"r0", 2});
  ASSERT_EQ(All<StartLoad>().size(), 1u);
  EXPECT_EQ(All<StartLoad>()[0].policy, (PolicyRef{"job", 2, "hash2", "moved"}));
}

TEST_F(DeterministicSchedulerTest, RefusesSamplesOfAnotherVersion) {
  s_.plan.max_versions = 2;
  Begin();
  const StartGenerate start = TakeAll<StartGenerate>()[0];
  s_.version = 1;
  Send(SampleArrived{start.attempt, 0, 1, 1});
  EXPECT_EQ(s_.groups.at(start.group).samples[0].status, SampleStatus::kGenerating);
  Send(SampleArrived{start.attempt, 0, 0, 1});
  EXPECT_EQ(s_.groups.at(start.group).samples[0].status, SampleStatus::kGenerating);
  Send(SampleArrived{start.attempt, 0, 0, 0});
  EXPECT_EQ(s_.groups.at(start.group).samples[0].status, SampleStatus::kGenerated);
}

TEST_F(DeterministicSchedulerTest, TriesWithoutLimitAndSaysSoOnce) {
  Begin();
  for (int i = 0; i < 5 * s_.plan.max_attempts; ++i) {
    for (const StartGenerate& start : TakeAll<StartGenerate>()) {
      if (start.group.draw == 0) Send(GenerateEnded{start.attempt, absl::InternalError("broken\nengine")});
    }
    EXPECT_TRUE(All<StartGenerate>().empty()) << "not at once";
    now_ += absl::Seconds(6);
    Send(TickEvent{});
  }
  EXPECT_TRUE(All<SettleSample>().empty());
  EXPECT_TRUE(All<DropGroup>().empty());
  int told = 0;
  for (const Note& note : All<Note>()) {
    told += note.text == "draw 0, sample 1 fails again and again and is tried on: broken engine";
  }
  EXPECT_EQ(told, 1);
  EXPECT_EQ(s_.end, JobEnd::kNone);
}

TEST_F(DeterministicSchedulerTest, AsksACheckerThatFailsAgainWithoutLimit) {
  Begin();
  Generate(TakeAll<StartGenerate>()[0], 0);
  for (int i = 0; i < 5 * s_.plan.max_attempts; ++i) {
    const auto scores = TakeAll<StartScore>();
    ASSERT_EQ(scores.size(), 1u) << i;
    Judge(scores[0], {Judgement::kInfrastructure, 0, "no sandbox"});
    EXPECT_TRUE(All<StartScore>().empty()) << "not at once";
    now_ += absl::Seconds(6);
    Send(TickEvent{});
  }
  EXPECT_TRUE(All<SettleSample>().empty());
  JudgeAll();
  EXPECT_EQ(All<GroupComplete>().size(), 1u);
}

TEST_F(DeterministicSchedulerTest, GroupWithoutRewardsStaysInItsBatch) {
  Begin();
  const auto starts = TakeAll<StartGenerate>();
  Generate(starts[0], 0);
  const StartScore score = TakeAll<StartScore>()[0];
  Send(ScoreEnded{
      score.call, absl::OkStatus(), {{Judgement::kReward, 1}, {Judgement::kUndecided, 0, "not a number"}}});
  EXPECT_TRUE(All<DropGroup>().empty());
  ASSERT_EQ(All<SettleSample>().size(), 2u);
  for (const SettleSample& settle : All<SettleSample>()) {
    EXPECT_EQ(settle.column, LedgerColumn::kDroppedFailed);
    EXPECT_THAT(settle.reason, HasSubstr("not a number"));
  }
  EXPECT_EQ(All<GroupComplete>().size(), 1u);
  for (int i : {1, 2, 3}) Generate(starts[i], 0);
  JudgeAll();
  TakeStep();
  ASSERT_FALSE(All<RecordBatch>().empty());
  EXPECT_THAT(All<RecordBatch>()[0].draws, ElementsAre(0, 1));
}

TEST_F(DeterministicSchedulerTest, SettlesSamplesWithoutARewardOnlyWithTheirGroup) {
  s_.plan.group_size = 3;
  Begin();
  Generate(TakeAll<StartGenerate>()[0], 0);
  const StartScore score = TakeAll<StartScore>()[0];
  Send(ScoreEnded{score.call,
                  absl::OkStatus(),
                  {{Judgement::kReward, 1}, {Judgement::kUndecided, 0, "x"}, {Judgement::kInfrastructure}}});
  EXPECT_TRUE(All<SettleSample>().empty());
  now_ += absl::Seconds(6);
  Send(TickEvent{});
  JudgeAll();
  ASSERT_EQ(All<SettleSample>().size(), 1u);
  EXPECT_EQ(All<SettleSample>()[0].sample.index, 1u);
  EXPECT_EQ(All<GroupComplete>().size(), 1u);
}

// With a bound above 0 the workers are behind the version that is to be evaluated: they finish the draws of
// theirs first, while the learner waits.
TEST_F(DeterministicSchedulerTest, EvaluatesEachVersionOnceAndDoesNotLockUp) {
  for (int64_t bound = 0; bound <= 3; ++bound) {
    s_ = SchedulerState();
    log_.clear();
    SetUp();
    s_.plan.max_versions = bound;
    s_.plan.evaluation_every = 1;
    s_.plan.evaluation_prompts = 3;
    Begin();
    for (int i = 0; i < 400 && s_.end == JobEnd::kNone; ++i) {
      for (const StartGenerate& start : TakeAll<StartGenerate>()) {
        EXPECT_TRUE(!start.group.evaluation || s_.rollout.at(start.worker).version == s_.version);
        Generate(start, s_.rollout.at(start.worker).version);
      }
      JudgeAll();
      if (s_.learner.busy) AnswerLearner();
      LoadAll();
    }
    EXPECT_EQ(s_.end, JobEnd::kSucceeded) << "bound " << bound << ": " << WaitingFor(s_);
    EXPECT_EQ(All<FinishEvaluation>().size(), 11u);
    for (size_t i = 0; i < All<RecordBatch>().size(); ++i)
      EXPECT_THAT(All<RecordBatch>()[i].draws, ElementsAre(2 * i, 2 * i + 1));
  }
}

}  // namespace
}  // namespace sluice
