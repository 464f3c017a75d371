#include "coordinator/scheduler/scheduler.h"

#include "coordinator/scheduler/testing_scheduler.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST_F(SchedulerTest, IssuesOnlyWhatFindsAPlaceInABatchInTime) {
  Begin();
  // groups_per_step x (max_versions + 1)
  EXPECT_EQ(All<IssueGroup>().size(), 4u);
  for (const IssueGroup& issue : All<IssueGroup>()) EXPECT_EQ(issue.train_by, 1);
}

TEST_F(SchedulerTest, IssuesOneBatchAtATimeWhenSynchronous) {
  s_.plan.max_versions = 0;
  Begin();
  EXPECT_EQ(TakeAll<IssueGroup>().size(), 2u);
  CompleteAll(0);
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();  // groups added
  EXPECT_TRUE(TakeAll<IssueGroup>().empty());
  AnswerLearner();
  EXPECT_EQ(s_.version, 1);
  EXPECT_TRUE(All<IssueGroup>().empty()) << "the worker still serves version 0";
  LoadAll();
  EXPECT_EQ(All<IssueGroup>().size(), 2u);
}

TEST_F(SchedulerTest, WritesTheIssueBeforeItGenerates) {
  Begin();
  std::set<Draw> issued;
  for (const Action& action : log_) {
    if (const auto* issue = std::get_if<IssueGroup>(&action)) issued.insert(issue->draw);
    if (const auto* start = std::get_if<StartGenerate>(&action)) {
      EXPECT_TRUE(issued.count(start->group.draw));
    }
  }
  EXPECT_EQ(issued.size(), 4u);
}

TEST_F(SchedulerTest, TakesTheBatchByTrainByAndDraw) {
  Begin();
  const auto starts = TakeAll<StartGenerate>();
  for (int i : {3, 1, 2}) Generate(starts[i], 0);
  ScoreAll();
  while (s_.learner.busy && s_.learner.op == LearnerOp::kAddGroups) AnswerLearner();
  ScoreAll();
  ASSERT_FALSE(All<RecordBatch>().empty());
  // Nothing is due at version 0, so the first two that are complete are taken, in order of their draws.
  EXPECT_EQ(All<RecordBatch>()[0].draws.size(), 2u);
  EXPECT_LT(All<RecordBatch>()[0].draws[0], All<RecordBatch>()[0].draws[1]);
}

TEST_F(SchedulerTest, DoesNotStepPastADueGroupUntilItsDeadline) {
  Begin();
  auto starts = TakeAll<StartGenerate>();
  for (int i : {1, 2, 3}) Generate(starts[i], 0);
  ScoreAll();
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  AnswerLearner();
  ASSERT_EQ(s_.version, 1);
  LoadAll();
  TakeAll<RecordBatch>();
  CompleteAll(1);  // the groups issued since; draw 0 is due now and not complete
  while (s_.learner.busy) AnswerLearner();
  EXPECT_TRUE(All<RecordBatch>().empty());
  // Its attempt fails at its deadline, the next too; then it is stale.
  for (int i = 0; i < 40 && All<RecordBatch>().empty(); ++i) {
    now_ += absl::Seconds(1);
    Send(TickEvent{});
    while (s_.learner.busy && s_.learner.op == LearnerOp::kAddGroups) AnswerLearner();
  }
  ASSERT_EQ(All<RecordBatch>().size(), 1u);
  ASSERT_EQ(All<DropGroup>().size(), 1u);
  EXPECT_EQ(All<DropGroup>()[0].draw, starts[0].group.draw);
  EXPECT_EQ(All<DropGroup>()[0].column, LedgerColumn::kDroppedStale);
}

TEST_F(SchedulerTest, IgnoresSamplesThatAreLateOrSentTwice) {
  Begin();
  const StartGenerate start = TakeAll<StartGenerate>()[0];
  Send(SampleArrived{start.attempt, 0, 0});
  Send(SampleArrived{start.attempt, 0, 0});
  Send(SampleArrived{start.attempt, 1, 0});
  Send(SampleArrived{start.attempt + 1000, 1, 0});
  Send(GenerateEnded{start.attempt, absl::OkStatus()});
  Send(GenerateEnded{start.attempt, absl::OkStatus()});
  const auto scores = TakeAll<StartScore>();
  ASSERT_EQ(scores.size(), 1u);
  EXPECT_EQ(scores[0].items.size(), 2u);
  ScoreEnded ended{scores[0].call, absl::OkStatus(), {{Judgement::kReward, 1}, {Judgement::kReward, 0}}};
  Send(ended);
  Send(ended);
  EXPECT_EQ(All<GroupComplete>().size(), 1u);
}

TEST_F(SchedulerTest, RefusesSamplesOlderThanTheBound) {
  s_.version = 5;
  s_.policy = Ref(5);
  s_.checkpointed = 5;
  Send(LearnerUp{"learner", 1});
  TrainerState state;
  state.version = 5;
  state.policy = Ref(5);
  AnswerLearner(state, "hash5");
  Send(RolloutUp{"r0", 2});
  LoadAll();
  const StartGenerate start = TakeAll<StartGenerate>()[0];
  Send(SampleArrived{start.attempt, 0, 4});  // train_by is 6: 4 would be 2 versions old then
  EXPECT_EQ(s_.groups.at(start.group).samples[0].status, SampleStatus::kGenerating);
  Send(SampleArrived{start.attempt, 0, 5});
  EXPECT_EQ(s_.groups.at(start.group).samples[0].status, SampleStatus::kGenerated);
}

TEST_F(SchedulerTest, GivesOnlyMissingSamplesToAnotherWorkerWhenOneIsLost) {
  Begin();
  const StartGenerate start = TakeAll<StartGenerate>()[0];
  Send(SampleArrived{start.attempt, 1, 0});
  Send(RolloutUp{"r1", 7});
  LoadAll();
  TakeAll<StartGenerate>();
  Send(WorkerDown{"r0", 2, "its lease ran out"});
  bool found = false;
  for (const StartGenerate& again : All<StartGenerate>()) {
    if (again.group != start.group) continue;
    found = true;
    EXPECT_EQ(again.worker, "r1");
    EXPECT_EQ(again.indices, std::vector<uint32_t>{0});
    EXPECT_EQ(again.number, 1u);
  }
  EXPECT_TRUE(found);
  // What the lost one still says is not heard.
  Send(SampleArrived{start.attempt, 0, 0});
  EXPECT_EQ(s_.groups.at(start.group).samples[0].status, SampleStatus::kGenerating);
}

TEST_F(SchedulerTest, QuarantinesASampleAfterItsLastAttempt) {
  Begin();
  for (int i = 0; i < s_.plan.max_attempts; ++i) {
    for (const StartGenerate& start : TakeAll<StartGenerate>()) {
      if (start.group.draw != 0) continue;
      Send(GenerateEnded{start.attempt, absl::InternalError("broken")});
    }
  }
  EXPECT_EQ(All<SettleSample>().size(), 2u);
  for (const SettleSample& settle : All<SettleSample>()) EXPECT_EQ(settle.column, LedgerColumn::kQuarantined);
  ASSERT_EQ(All<DropGroup>().size(), 1u);
  EXPECT_EQ(s_.groups.count(GroupKey{false, 0}), 0u);
}

TEST_F(SchedulerTest, TriesTheCheckerAgainAndNeverMakesItsFailureAReward) {
  s_.plan.max_attempts = 2;
  Begin();
  Generate(TakeAll<StartGenerate>()[0], 0);
  ScoreAll(Judgement::kInfrastructure);
  EXPECT_TRUE(All<SettleSample>().empty());
  ScoreAll(Judgement::kInfrastructure);
  EXPECT_EQ(All<SettleSample>().size(), 2u);
  ASSERT_EQ(All<DropGroup>().size(), 1u);
  EXPECT_EQ(All<DropGroup>()[0].column, LedgerColumn::kDroppedFailed);
}

TEST_F(SchedulerTest, DropsTiedGroupsOnlyWhenAskedTo) {
  for (bool filter : {false, true}) {
    s_ = SchedulerState();
    log_.clear();
    SetUp();
    s_.plan.filter_ties = filter;
    Begin();
    Generate(TakeAll<StartGenerate>()[0], 0);
    const StartScore score = TakeAll<StartScore>()[0];
    Send(ScoreEnded{score.call, absl::OkStatus(), {{Judgement::kReward, 1}, {Judgement::kReward, 1}}});
    EXPECT_EQ(All<DropGroup>().size(), filter ? 1u : 0u);
    EXPECT_EQ(All<GroupComplete>().size(), filter ? 0u : 1u);
  }
}

TEST_F(SchedulerTest, RedoesCommittedStepsAfterTheLearnersRestart) {
  s_.version = 3;
  s_.policy = Ref(3);
  Send(LearnerUp{"learner", 1});
  TrainerState state;
  state.version = 1;
  state.policy = Ref(1);
  AnswerLearner(state, "hash1");
  ASSERT_EQ(s_.learner.op, LearnerOp::kRedo);
  EXPECT_EQ(s_.learner.op_version, 2);
  AnswerLearner({}, "hash2");
  EXPECT_EQ(s_.learner.op_version, 3);
  AnswerLearner({}, "hash3");
  EXPECT_EQ(s_.learner.version, 3);
  EXPECT_TRUE(All<CommitVersion>().empty());
  EXPECT_EQ(s_.end, JobEnd::kNone);
}

TEST_F(SchedulerTest, GoesBackToTheCheckpointWhenARedoneStepComesOutDifferent) {
  s_.version = 3;
  s_.checkpointed = 2;
  s_.batch = {7, 8};
  Send(LearnerUp{"learner", 1});
  TrainerState state;
  state.version = 2;
  state.policy = Ref(2);
  AnswerLearner(state, "hash2");
  AnswerLearner({}, "another");
  ASSERT_EQ(s_.learner.op, LearnerOp::kFindCheckpoint);
  LearnerDone found;
  found.call = *s_.learner.busy;
  found.found = 2;
  Send(found);
  ASSERT_EQ(s_.learner.op, LearnerOp::kRollBack);
  EXPECT_TRUE(s_.batch.empty());
  const Fork fork = All<RecordRollBack>().at(0).fork;
  EXPECT_EQ(fork.version, 4);
  EXPECT_EQ(fork.parent, 2);
  EXPECT_NE(fork.reason.find("came out different"), std::string::npos) << fork.reason;
  AnswerLearner();
  EXPECT_EQ(s_.version, 4);
  EXPECT_EQ(s_.end, JobEnd::kNone);
}

TEST_F(SchedulerTest, PausesWhenAStepCannotBeRedoneAndACheckpointIsMissing) {
  s_.version = 5;
  s_.checkpointed = 4;
  Send(LearnerUp{"learner", 1});
  TrainerState state;
  state.version = 2;
  state.policy = Ref(2);
  AnswerLearner(state, "hash2");
  FailLearner(absl::AlreadyExistsError("version 3 came out different"));
  now_ += absl::Seconds(1);
  Send(TickEvent{});
  LearnerDone found;
  ASSERT_EQ(s_.learner.op, LearnerOp::kFindCheckpoint);
  found.call = *s_.learner.busy;
  found.found = 2;
  Send(found);
  EXPECT_TRUE(s_.paused);
  EXPECT_NE(s_.error.find("the checkpoint of version 4 is missing in the state folder of learner learner"),
            std::string::npos)
      << s_.error;
  EXPECT_TRUE(All<RecordRollBack>().empty());
  EXPECT_EQ(s_.end, JobEnd::kNone);
}

TEST_F(SchedulerTest, WaitsForWhatTheLearnerNeedsToOpenTheJob) {
  s_.version = 1;
  s_.checkpointed = 0;
  Send(LearnerUp{"learner", 1});
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(s_.learner.op, LearnerOp::kOpen);
    FailLearner(i % 2 == 0 ? absl::NotFoundError("/model: no such folder")
                           : absl::InvalidArgumentError("/model: no such folder"));
    EXPECT_FALSE(s_.paused);
    EXPECT_EQ(WaitingFor(s_),
              "learner learner to open the job, which is tried again and again: /model: no such folder");
    now_ += absl::Seconds(6);
    Send(TickEvent{});
  }
  EXPECT_EQ(s_.end, JobEnd::kNone);
  TrainerState state;
  state.version = 1;
  state.policy = Ref(1);
  AnswerLearner(state);
  EXPECT_EQ(WaitingFor(s_), "a rollout worker to register");
}

TEST_F(SchedulerTest, AsksAgainForTheStepWhoseAnswerWasLost) {
  Begin();
  CompleteAll(0);
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  FailLearner(absl::UnavailableError("gone"));
  now_ += absl::Seconds(10);
  Send(TickEvent{});
  ASSERT_EQ(s_.learner.op, LearnerOp::kOpen);
  TrainerState state;
  state.version = 1;  // it was made
  state.policy = Ref(1);
  AnswerLearner(state);
  while (s_.learner.op == LearnerOp::kAddGroups && s_.learner.busy) AnswerLearner();
  ASSERT_EQ(s_.learner.op, LearnerOp::kStep);
  AnswerLearner();
  EXPECT_EQ(s_.version, 1);
  EXPECT_EQ(All<RecordBatch>().size(), 1u);
}

TEST_F(SchedulerTest, LearnerThatIsKilledAgainAndAgainDoesNotFailTheJob) {
  Begin();
  for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, 0);
  ScoreAll();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(s_.learner.op, LearnerOp::kAddGroups);
    FailLearner(absl::FailedPreconditionError("job is not open"));
    ASSERT_EQ(s_.end, JobEnd::kNone) << "killed " << i + 1 << " times";
    now_ += absl::Seconds(6);
    Send(TickEvent{});
    ASSERT_EQ(s_.learner.op, LearnerOp::kOpen);
    TrainerState state;
    state.incarnation = std::to_string(i);
    state.version = 0;
    state.policy = Ref(0);
    AnswerLearner(state);
  }
}

TEST_F(SchedulerTest, LearnerThatRefusesAgainAndAgainPausesTheJob) {
  Begin();
  CompleteAll(0);
  for (int i = 0; i < 10 && !s_.paused; ++i) {
    if (s_.learner.op == LearnerOp::kOpen) {
      TrainerState state;
      state.version = 0;
      state.policy = Ref(0);
      AnswerLearner(state);
    }
    FailLearner(absl::FailedPreconditionError("a group for version 7"));
    now_ += absl::Seconds(6);
    Send(TickEvent{});
  }
  EXPECT_TRUE(s_.paused);
  EXPECT_EQ(s_.error, "learner: a group for version 7; `sluice resume` tries again");
}

TEST_F(SchedulerTest, PausesWhenTheLearnerIsAheadOfTheStore) {
  s_.version = 1;
  Send(LearnerUp{"learner", 1});
  TrainerState state;
  state.version = 2;
  state.policy = Ref(2);
  AnswerLearner(state);
  EXPECT_TRUE(s_.paused);
  EXPECT_NE(s_.error.find("do not belong together"), std::string::npos) << s_.error;
  EXPECT_FALSE(s_.learner.busy) << "not at once again";
}

TEST_F(SchedulerTest, IgnoresTheAnswerOfALearnerThatWasReplaced) {
  Begin();
  CompleteAll(0);
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  Send(LearnerUp{"learner", 50});
  AnswerLearner();  // of the one before
  EXPECT_EQ(s_.version, 0);
  EXPECT_EQ(s_.learner.op, LearnerOp::kOpen);
  EXPECT_TRUE(s_.learner.busy.has_value());
}

TEST_F(SchedulerTest, EvaluatesBehindABarrier) {
  s_.plan.evaluation_every = 1;
  s_.plan.evaluation_prompts = 3;
  s_.plan.evaluation_samples = 2;
  Begin();
  EXPECT_TRUE(All<IssueGroup>().empty());
  auto starts = TakeAll<StartGenerate>();
  ASSERT_EQ(starts.size(), 3u);
  for (const auto& start : starts) EXPECT_TRUE(start.group.evaluation);
  for (const auto& start : starts) Generate(start, 0);
  ScoreAll();
  ScoreAll();
  EXPECT_EQ(All<FinishEvaluation>().size(), 1u);
  EXPECT_EQ(All<IssueGroup>().size(), 4u);
  EXPECT_TRUE(All<SettleSample>().empty()) << "evaluation samples are not in the ledger";
}

TEST_F(SchedulerTest, EvaluatesWhatElseIsDueInTheSameRun) {
  s_.plan.evaluation_every = 1;
  s_.plan.evaluation_prompts = 3;
  s_.plan.more_evaluations = {{.every = 4, .prompts = 2, .samples = 1},
                              {.every = 1, .prompts = 1, .samples = 3}};
  s_.evaluated_step = 0;  // version 0, where all are due
  Begin();
  CompleteAll(0);
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  log_.clear();
  AnswerLearner();
  LoadAll();
  std::vector<std::pair<Draw, size_t>> rows;
  for (const auto& start : TakeAll<StartGenerate>()) {
    if (start.group.evaluation) rows.emplace_back(start.group.draw, start.indices.size());
  }
  const std::vector<std::pair<Draw, size_t>> due = {{0, 1}, {1, 1}, {2, 1}, {5, 3}};
  EXPECT_EQ(rows, due) << "rows 3 and 4 are of the one that comes with every fourth step";
}

TEST_F(SchedulerTest, HandsOutNothingWhilePausedAndGoesOnAfter) {
  Begin();
  Send(PauseEvent{});
  CompleteAll(0);
  EXPECT_NE(s_.learner.op, LearnerOp::kStep);
  EXPECT_EQ(All<IssueGroup>().size(), 4u);
  EXPECT_EQ(WaitingFor(s_), "`sluice resume` (paused)");
  if (s_.learner.busy) AnswerLearner();
  Send(ResumeEvent{});
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  AnswerLearner();
  EXPECT_EQ(s_.version, 1);
}

TEST_F(SchedulerTest, SettlesEverythingWhenCancelled) {
  Begin();
  Send(CancelEvent{});
  EXPECT_EQ(All<DropGroup>().size(), 4u);
  for (const DropGroup& drop : All<DropGroup>()) EXPECT_EQ(drop.column, LedgerColumn::kCancelled);
  EXPECT_EQ(All<CancelGenerate>().size(), 4u);
  EXPECT_TRUE(s_.groups.empty());
  log_.clear();
  Send(TickEvent{});
  Send(RolloutUp{"r9", 99});
  EXPECT_TRUE(log_.empty());
}

TEST_F(SchedulerTest, SaysWhatItWaitsFor) {
  EXPECT_EQ(WaitingFor(s_), "a learner to register");
  Send(LearnerUp{"learner", 1});
  EXPECT_EQ(WaitingFor(s_), "the learner to open the job");
  AnswerLearner();
  AnswerLearner();
  EXPECT_EQ(WaitingFor(s_), "a rollout worker to register");
  Send(RolloutUp{"r0", 2});
  EXPECT_EQ(WaitingFor(s_), "a reward worker to register");
  Send(RewardUp{"reward", 3});
  EXPECT_EQ(WaitingFor(s_), "rollout workers to load version 0");
  LoadAll();
  EXPECT_EQ(WaitingFor(s_), "the groups of step 1: 0 of 2 complete");
}

TEST_F(SchedulerTest, FailsAtOnceOnWhatNoRetryMends) {
  Send(LearnerUp{"learner", 1});
  FailLearner(absl::InvalidArgumentError("model.path: no such folder"));
  EXPECT_EQ(s_.end, JobEnd::kFailed);
  EXPECT_NE(s_.error.find("no such folder"), std::string::npos);
}

TEST_F(SchedulerTest, PausesWhenTheLearnersDiskIsFull) {
  Begin();
  CompleteAll(0);
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  FailLearner(absl::ResourceExhaustedError("no space left on device"));
  EXPECT_TRUE(s_.paused);
  EXPECT_NE(s_.error.find("no space left on device; make room, then `sluice resume`"), std::string::npos)
      << s_.error;
  now_ += absl::Minutes(1);
  Send(ResumeEvent{});
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  AnswerLearner();
  EXPECT_EQ(s_.version, 1);
}

TEST_F(SchedulerTest, SaysHowManyGroupsAreAhead) {
  Begin();
  CompleteAll(0);
  ScoreAll();
  ASSERT_EQ(s_.learner.op, LearnerOp::kAddGroups);
  EXPECT_EQ(WaitingFor(s_), "the groups of step 1: 2 of 2 complete (2 ahead)");
}

TEST_F(SchedulerTest, PausesWhenNoGroupHasAnythingToLearnFrom) {
  Begin();
  const auto drop_until_paused = [&] {
    for (int64_t i = 0; i < 2 * DropsToPause(s_.plan) && !s_.paused; ++i) {
      for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, 0);
      for (const StartScore& score : TakeAll<StartScore>()) {
        const Judged undecided{Judgement::kUndecided, 0, "\"x\" is not a number"};
        Send(ScoreEnded{score.call, absl::OkStatus(), std::vector<Judged>(score.items.size(), undecided)});
        if (s_.drops_since_step == 1) {
          EXPECT_EQ(
              WaitingFor(s_),
              "the groups of step 1: 0 of 2 complete; 1 group dropped since the last step: fewer than two "
              "samples have a reward: the checker cannot decide: \"x\" is not a number");
        }
      }
    }
  };
  drop_until_paused();
  ASSERT_TRUE(s_.paused);
  EXPECT_EQ(s_.end, JobEnd::kNone);
  EXPECT_GE(static_cast<int64_t>(All<DropGroup>().size()), DropsToPause(s_.plan));
  EXPECT_LE(static_cast<int64_t>(All<DropGroup>().size()), DropsToPause(s_.plan) + 4) << "4 are under way";
  EXPECT_NE(s_.error.find("the last 64 groups had no reward to learn from; last reason: "), std::string::npos)
      << s_.error;
  EXPECT_NE(s_.error.find("\"x\" is not a number"), std::string::npos) << s_.error;
  EXPECT_EQ(TakeAll<Note>().back().text, s_.error);
  // Groups that were under way do not pause it a second time.
  CompleteAll(0);
  EXPECT_TRUE(TakeAll<Note>().empty());
  // Resumed, it has the whole bound again; a group with rewards begins the count anew.
  TakeAll<DropGroup>();
  Send(ResumeEvent{});
  EXPECT_TRUE(s_.error.empty());
  EXPECT_EQ(s_.drops_in_a_row, 0);
  drop_until_paused();
  EXPECT_TRUE(s_.paused);
  EXPECT_GE(static_cast<int64_t>(All<DropGroup>().size()), DropsToPause(s_.plan));
  EXPECT_LE(static_cast<int64_t>(All<DropGroup>().size()), DropsToPause(s_.plan) + 4) << "4 are under way";
  Send(ResumeEvent{});
  Generate(TakeAll<StartGenerate>()[0], 0);
  ScoreAll(Judgement::kUndecided);
  EXPECT_GT(s_.drops_in_a_row, 0);
  Generate(TakeAll<StartGenerate>()[0], 0);
  ScoreAll();
  EXPECT_EQ(s_.drops_in_a_row, 0);
}

TEST_F(SchedulerTest, DropsNoMoreTiedGroupsForAStepThanItMay) {
  s_.plan.filter_ties = true;
  s_.plan.max_filtered_groups = 3;
  Begin();
  const auto tie_all = [&] {
    for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, s_.version);
    for (const StartScore& score : TakeAll<StartScore>())
      Send(ScoreEnded{score.call, absl::OkStatus(), std::vector<Judged>(score.items.size())});
  };
  for (int i = 0; i < 10 && s_.learner.op != LearnerOp::kStep; ++i) {
    tie_all();
    while (s_.learner.busy && s_.learner.op == LearnerOp::kAddGroups) AnswerLearner();
  }
  ASSERT_EQ(s_.learner.op, LearnerOp::kStep);
  EXPECT_EQ(All<DropGroup>().size(), 3u);
  AnswerLearner();
  LoadAll();
  for (int i = 0; i < 10; ++i) tie_all();
  EXPECT_EQ(All<DropGroup>().size(), 6u) << "the next step has as many again";
}

TEST_F(SchedulerTest, PausesWhenAllRewardsTieAndTiesAreFiltered) {
  s_.plan.filter_ties = true;
  s_.plan.groups_per_step = 5;
  Begin();
  for (int64_t i = 0; i < 2 * DropsToPause(s_.plan) && !s_.paused; ++i) {
    for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, 0);
    for (const StartScore& score : TakeAll<StartScore>()) {
      Send(ScoreEnded{score.call, absl::OkStatus(), std::vector<Judged>(score.items.size())});
    }
  }
  EXPECT_TRUE(s_.paused);
  EXPECT_GE(All<DropGroup>().size(), 100u);  // 20 steps of 5
  EXPECT_NE(s_.error.find("all rewards tie"), std::string::npos) << s_.error;
}

// Rewards that tie until group terms tell their samples apart.
TEST_F(SchedulerTest, ComparedRewardsDecideWhetherAGroupTies) {
  s_.plan.filter_ties = true;
  Begin();
  for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, 0);
  size_t groups = 0;
  for (const StartScore& score : TakeAll<StartScore>()) {
    ScoreEnded ended{score.call, absl::OkStatus(), std::vector<Judged>(score.items.size())};
    for (const SampleRef& ref : score.items) {
      ended.compared.emplace_back(ref, ref.index);
      groups += ref.index == 0;
    }
    Send(ended);
  }
  EXPECT_GT(groups, 0u);
  EXPECT_TRUE(All<DropGroup>().empty());
  EXPECT_EQ(All<GroupComplete>().size(), groups);
}

TEST_F(SchedulerTest, WaitsWhileTheRewardCannotBeHad) {
  Begin();
  for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, 0);
  const auto scores = TakeAll<StartScore>();
  ASSERT_FALSE(scores.empty());
  Send(ScoreEnded{scores[0].call, absl::FailedPreconditionError("no sandbox: get one"), {}});
  EXPECT_EQ(s_.end, JobEnd::kNone);
  EXPECT_EQ(WaitingFor(s_), "verdicts: reward does not judge: no sandbox: get one");
  Send(RolloutUp{"r1", 9});
  LoadAll();
  EXPECT_TRUE(All<StartGenerate>().empty()) << "nothing new is drawn";
  Send(RewardUp{"reward-1", 10});
  EXPECT_FALSE(TakeAll<StartScore>().empty()) << "another one may have it";
}

TEST_F(SchedulerTest, CancelKeepsWhatWasGivenUpApart) {
  s_.plan.group_size = 3;
  s_.plan.max_attempts = 1;
  Begin();
  const StartGenerate start = TakeAll<StartGenerate>()[0];
  Send(SampleArrived{start.attempt, 0, 0});
  Send(GenerateEnded{start.attempt, absl::InternalError("broken")});
  ASSERT_EQ(s_.groups.at(start.group).lost.size(), 2u);
  Send(CancelEvent{});
  EXPECT_EQ(All<SettleSample>().size(), 2u);
  for (const SettleSample& settle : All<SettleSample>()) EXPECT_EQ(settle.column, LedgerColumn::kQuarantined);
}

// Groups of an earlier train_by that are not complete would not all find a place later: the batch waits.
TEST_F(SchedulerTest, DoesNotCloseOverMoreStragglersThanLaterBatchesHavePlacesFor) {
  s_.plan.max_versions = 2;
  s_.plan.drop_on_deadline = false;
  Begin();
  auto old = TakeAll<StartGenerate>();  // draws 0 to 5, to be trained on by 2
  ASSERT_EQ(old.size(), 6u);
  for (int i : {4, 5}) Generate(old[i], 0);
  JudgeAll();
  while (s_.learner.op != LearnerOp::kStep) AnswerLearner();
  AnswerLearner();
  ASSERT_EQ(s_.version, 1);
  LoadAll();
  for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, 1);  // by 3
  JudgeAll();
  while (s_.learner.busy && s_.learner.op == LearnerOp::kAddGroups) AnswerLearner();
  EXPECT_EQ(All<RecordBatch>().size(), 1u) << "four are left for the two places at version 2";
  for (int i : {0, 1, 2, 3}) Generate(old[i], 0);
  JudgeAll();
  for (int i = 0; i < 100 && s_.version < 3; ++i) AnswerLearner();
  ASSERT_GE(All<RecordBatch>().size(), 3u);
  EXPECT_EQ(All<RecordBatch>()[1].draws, (std::vector<Draw>{0, 1}));
  EXPECT_EQ(All<RecordBatch>()[2].draws, (std::vector<Draw>{2, 3}));
  EXPECT_TRUE(All<DropGroup>().empty());
}

// Each attempt at a worker that is called takes a thread; one over a worker's stream takes none.
TEST_F(SchedulerTest, GivesAStreamedWorkerAsManyGroupsAsItTakes) {
  s_.plan.groups_per_step = 50;
  s_.plan.groups_in_flight = 5;
  s_.plan.groups_per_worker = 3;
  Begin();
  Send(RolloutUp{"r1", 5});
  Send(RolloutUp{"streamed", 6, 20});
  LoadAll();
  std::map<std::string, int> groups;
  for (const StartGenerate& start : All<StartGenerate>()) ++groups[start.worker];
  EXPECT_EQ(groups["streamed"], 20);
  EXPECT_EQ(groups["r0"], 3);
  EXPECT_EQ(groups["r1"], 2);
}

TEST_F(SchedulerTest, SaysHowEachAttemptEnded) {
  s_.plan.max_attempts = 100;
  const auto outcome_by = [&](decltype(Event::body) body) {
    log_.clear();
    Send(std::move(body));
    const auto over = All<AttemptOver>();
    return over.size() == 1 ? over[0].outcome : AttemptOutcome::kHedgeLost;
  };
  s_.plan.groups_per_step = s_.plan.groups_in_flight = 1;
  Begin();
  const auto attempt = [&] { return s_.attempts.begin()->first; };
  const auto ended = [&](absl::Status status) {
    if (s_.attempts.empty()) {
      now_ += absl::Minutes(1);
      Send(TickEvent{});
    }
    return outcome_by(GenerateEnded{attempt(), std::move(status)});
  };
  EXPECT_EQ(ended(absl::InternalError("")), AttemptOutcome::kFailed);
  EXPECT_EQ(ended(absl::UnavailableError("")), AttemptOutcome::kLost);
  EXPECT_EQ(ended(absl::CancelledError("")), AttemptOutcome::kCancelled);
  now_ += absl::Minutes(1);
  Send(TickEvent{});
  EXPECT_EQ(outcome_by(WorkerDown{"r0", 2, ""}), AttemptOutcome::kLost);
  Send(RolloutUp{"r0", 7});
  LoadAll();
  EXPECT_EQ(outcome_by(RolloutUp{"r0", 8}), AttemptOutcome::kLost);
  LoadAll();
  now_ += absl::Minutes(1);
  EXPECT_EQ(outcome_by(TickEvent{}), AttemptOutcome::kLost) << "its deadline passed";
  for (uint32_t index : {0, 1}) Send(SampleArrived{attempt(), index, 0});
  EXPECT_EQ(ended(absl::OkStatus()), AttemptOutcome::kDone);
  EXPECT_EQ(outcome_by(CancelEvent{}), AttemptOutcome::kCancelled);
}

TEST_F(SchedulerTest, AsksAgainForALoadThatIsNeverAnswered) {
  Begin();
  Send(RolloutUp{"r1", 7});
  ASSERT_EQ(TakeAll<StartLoad>().size(), 1u);
  now_ += s_.plan.load_timeout + absl::Seconds(1);
  Send(TickEvent{});
  EXPECT_TRUE(All<StartLoad>().empty()) << "the call is given a little longer to say so itself";
  now_ += absl::Seconds(2);
  Send(TickEvent{});
  now_ += absl::Seconds(10);
  Send(TickEvent{});
  EXPECT_EQ(All<StartLoad>().size(), 1u);
}

TEST_F(SchedulerTest, NeverExceedsTheBoundWhateverTheOrder) {
  // A worker that loads late and answers in a shuffled order, for each bound.
  for (int64_t bound = 0; bound <= 3; ++bound) {
    s_ = SchedulerState();
    log_.clear();
    SetUp();
    s_.plan.max_versions = bound;
    s_.plan.stop_steps = 30;
    Begin();
    Send(RolloutUp{"r1", 4});
    LoadAll();
    std::map<Draw, PolicyVersion> sampled;
    uint64_t random = 12345 + static_cast<uint64_t>(bound);
    std::vector<StartGenerate> open;
    for (int turn = 0; turn < 5000 && s_.end == JobEnd::kNone; ++turn) {
      for (const StartGenerate& start : TakeAll<StartGenerate>()) {
        open.push_back(start);
        sampled[start.group.draw] = s_.rollout.at(start.worker).version;
      }
      random = random * 6364136223846793005u + 1442695040888963407u;
      const uint64_t choice = random >> 33;
      if (choice % 3 == 0 && !open.empty()) {
        const StartGenerate start = open[choice % open.size()];
        std::erase_if(open, [&](const StartGenerate& o) { return o.attempt == start.attempt; });
        Generate(start, sampled[start.group.draw]);
      } else if (choice % 7 == 1) {
        LoadAll();
      } else if (s_.learner.busy) {
        for (const StartLearner& call : TakeAll<StartLearner>()) {
          if (call.op != LearnerOp::kStep) continue;
          for (Draw draw : call.draws)
            EXPECT_LE(call.number - 1 - sampled.at(draw), bound) << "bound " << bound;
        }
        AnswerLearner();
      }
      ScoreAll();
      for (const auto& [key, group] : s_.groups) EXPECT_GE(group.train_by, s_.version);
    }
    EXPECT_EQ(s_.end, JobEnd::kSucceeded) << "bound " << bound << ": " << WaitingFor(s_);
    EXPECT_TRUE(All<DropGroup>().empty() || bound >= 0);
    EXPECT_EQ(s_.version, 30);
  }
}

}  // namespace
}  // namespace sluice
