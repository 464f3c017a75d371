#include "coordinator/scheduler/guard.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "coordinator/scheduler/testing_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(JudgeMetrics, ReportsALimitThatIsBrokenForSoManyStepsInARow) {
  GuardSpec limits;
  limits.max_kl = 0.5;
  limits.steps = 3;
  GuardState state;
  const double kl[] = {1, 1, 0.5, 1, kNan, 1, 1, 1, 1};
  for (PolicyVersion v = 1; v <= 9; ++v) {
    const auto breach = JudgeMetrics(limits, v, {{"kl", kl[v - 1]}}, state);
    EXPECT_EQ(breach.has_value(), v == 6 || v == 9) << v;
    if (v != 6) continue;
    EXPECT_EQ(breach->first_bad, 4);
    EXPECT_EQ(breach->what, "step 6: kl is 1, above guard.max_kl 0.5, for 3 steps in a row");
  }
}

TEST(JudgeMetrics, HoldsEachLimitOnItsSide) {
  struct Case {
    void (*set)(GuardSpec&);
    std::map<std::string, double> holds, breaks;
  };
  const Case cases[] = {
      {[](GuardSpec& g) { g.max_kl = 1; }, {{"kl", 1}}, {{"kl", 1.5}}},
      {[](GuardSpec& g) { g.min_entropy = 1; }, {{"entropy", 1}}, {{"entropy", 0.5}}},
      {[](GuardSpec& g) { g.max_entropy = 1; }, {{"entropy", 1}}, {{"entropy", INFINITY}}},
      {[](GuardSpec& g) { g.max_skipped_nonfinite = 0; },
       {{"skipped_nonfinite", 0}},
       {{"skipped_nonfinite", 1}}},
  };
  for (const Case& c : cases) {
    GuardSpec limits;
    limits.steps = 1;
    c.set(limits);
    GuardState state;
    EXPECT_FALSE(JudgeMetrics(limits, 1, c.holds, state));
    EXPECT_FALSE(JudgeMetrics(limits, 1, {{"loss", 9}}, state)) << "a metric that is not there";
    EXPECT_TRUE(JudgeMetrics(limits, 2, c.breaks, state));
  }
  GuardState state;
  EXPECT_FALSE(JudgeMetrics(GuardSpec(), 1, {{"kl", 1e9}, {"entropy", 0}, {"skipped_nonfinite", 1}}, state));
}

TEST(JudgeMetrics, CountsSkippedStepsByTheirOwnLimit) {
  GuardSpec limits;
  limits.max_skipped_nonfinite = 2;
  limits.steps = 1;
  GuardState state;
  for (PolicyVersion v = 1; v <= 2; ++v)
    EXPECT_FALSE(JudgeMetrics(limits, v, {{"skipped_nonfinite", 1}}, state));
  const auto breach = JudgeMetrics(limits, 3, {{"skipped_nonfinite", 1}}, state);
  ASSERT_TRUE(breach);
  EXPECT_EQ(breach->first_bad, 1);
  EXPECT_THAT(breach->what, HasSubstr("more than guard.max_skipped_nonfinite 2"));
}

TEST(JudgeScore, ReportsAScoreThatFellWhileTheTrainingRewardRose) {
  struct Case {
    HeldOutScore best, last;
    bool breach;
  };
  const Case cases[] = {
      {{4, 0.8, 0.5}, {8, 0.5, 0.6}, true},
      {{4, 0.8, 0.5}, {8, 0.7, 0.6}, false},           // not so far below
      {{4, 0.8, 0.5}, {8, 0.5, 0.5}, false},           // the reward did not rise
      {{4, 0.8, 0.5}, {8, 0.5, std::nullopt}, false},  // nothing was trained since
      {{0, 0.8, std::nullopt}, {8, 0.5, 0.1}, true},   // below what it began with
      {{4, 0.8, 0.5}, {8, kNan, 0.6}, false},
  };
  GuardSpec limits;
  limits.held_out_drop = 0.2;
  for (const Case& c : cases) {
    GuardState state;
    EXPECT_FALSE(JudgeScore(limits, c.best, 0, state));
    HeldOutScore between = c.best;
    between.version += 1;
    between.score = 0.75;
    EXPECT_FALSE(JudgeScore(limits, between, 0, state));
    const auto breach = JudgeScore(limits, c.last, 0, state);
    ASSERT_EQ(breach.has_value(), c.breach) << c.last.score;
    if (!breach) continue;
    EXPECT_EQ(breach->first_bad, between.version + 1);
  }
  GuardState state;
  EXPECT_FALSE(JudgeScore(limits, {4, 0.8, 0.5}, 0, state));
  EXPECT_FALSE(JudgeScore(limits, {8, 0.1, 0.9}, 8, state)) << "the version of a rollback";
  EXPECT_FALSE(JudgeScore(GuardSpec(), {9, 0.0, 0.9}, 0, state)) << "no limit";
}

TEST(JudgeScore, ComparesWithTheBestThatIsANumber) {
  GuardSpec limits;
  limits.held_out_drop = 0.1;
  GuardState state;
  EXPECT_FALSE(JudgeScore(limits, {0, kNan, 0.1}, 0, state));
  EXPECT_FALSE(JudgeScore(limits, {2, 0.8, 0.2}, 0, state));
  EXPECT_FALSE(JudgeScore(limits, {4, kNan, 0.3}, 0, state));
  EXPECT_TRUE(JudgeScore(limits, {6, 0.1, 0.4}, 0, state));
}

TEST(JudgeGate, PromotesByTheLastScore) {
  struct Case {
    GateSpec gate;
    double promoted, last;
    const char* why;  // empty: it holds
  };
  const Case cases[] = {
      {{true, std::nullopt, 0}, 0.5, 0.5, ""},
      {{true, std::nullopt, 0}, 0.5, 0.4, "max_drop 0 below 0.5 of version 2"},
      {{true, std::nullopt, 0.25}, 0.5, 0.25, ""},
      {{true, 0.6, 1}, 0.5, 0.5, "0.5 is below evaluation.gate.min_score 0.6"},
      {{true, 0.6, 1}, 0.5, 0.6, ""},
      {{true, std::nullopt, 0}, 0.5, kNan, "no sample"},
      {{false, std::nullopt, 0}, 0.5, 0.5, "no gate"},
  };
  for (const Case& c : cases) {
    GuardState state;
    state.held_out = {{2, c.promoted, 0.1}, {4, c.last, 0.2}};
    const GateDecision decision = JudgeGate(c.gate, state, 2);
    EXPECT_EQ(decision.holds, c.why[0] == '\0') << c.last;
    EXPECT_THAT(decision.why, HasSubstr(c.why));
    state.broken["max_kl"] = 1;
    EXPECT_FALSE(JudgeGate(c.gate, state, 2).holds) << "a step before it breaks a limit";
  }
}

class GuardSchedulerTest : public SchedulerTest {
 protected:
  void SetUp() override {
    SchedulerTest::SetUp();
    s_.plan.checkpoint.every_steps = 2;
    s_.plan.guard.max_kl = 0.5;
    s_.plan.guard.steps = 1;
  }
  // Answers the learner until `version` is committed, with these metrics.
  void StepTo(PolicyVersion version, std::map<std::string, double> metrics) {
    for (int i = 0; i < 50 && s_.version < version; ++i) {
      LoadAll();
      for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, s_.version);
      JudgeAll();
      if (!s_.learner.busy) continue;
      LearnerDone done;
      done.call = *s_.learner.busy;
      done.policy = Ref(s_.learner.op_version);
      if (s_.learner.op == LearnerOp::kStep) {
        done.metrics = metrics;
        done.checkpointed = s_.learner.op_version % 2 == 0;
      }
      Send(done);
    }
    ASSERT_EQ(s_.version, version);
  }
};

TEST_F(GuardSchedulerTest, GoesBackToTheNewestCheckpointBeforeTheFirstBadStep) {
  Begin();
  StepTo(4, {{"kl", 0.1}});
  TakeAll<DropGroup>();
  StepTo(5, {{"kl", 0.9}});
  ASSERT_EQ(All<RecordRollBack>().size(), 1u);
  const Fork fork = All<RecordRollBack>()[0].fork;
  EXPECT_EQ(fork.version, 6);
  EXPECT_EQ(fork.parent, 4);
  EXPECT_EQ(fork.first_draw, s_.next_draw);
  EXPECT_THAT(fork.reason, HasSubstr("kl is 0.9, above guard.max_kl 0.5"));
  for (const DropGroup& drop : All<DropGroup>()) EXPECT_EQ(drop.column, LedgerColumn::kRolledBack);
  EXPECT_FALSE(All<DropGroup>().empty());
  EXPECT_TRUE(s_.groups.empty());
  ASSERT_TRUE(s_.learner.busy);
  EXPECT_EQ(All<StartLearner>().back().op, LearnerOp::kRollBack);
  EXPECT_EQ(All<StartLearner>().back().parent, 4);
  EXPECT_EQ(All<StartLearner>().back().number, 6);

  TakeAll<IssueGroup>();
  Send(TickEvent{});
  EXPECT_TRUE(All<IssueGroup>().empty()) << "nothing begins before the new version is there";
  AnswerLearner();
  ASSERT_EQ(All<CommitRollBack>().size(), 1u);
  EXPECT_EQ(s_.version, 6);
  EXPECT_EQ(s_.checkpointed, 6);
  EXPECT_TRUE(All<IssueGroup>().empty()) << "the worker serves a version from before";
  for (int i = 0; i < 2; ++i) LoadAll();  // what it was loading, then this one
  EXPECT_FALSE(All<IssueGroup>().empty());
  for (const IssueGroup& issue : All<IssueGroup>()) EXPECT_EQ(issue.train_by, 6 + s_.plan.max_versions);
  StepTo(7, {{"kl", 0.1}});
}

TEST_F(GuardSchedulerTest, TakesNoSampleFromBeforeTheFork) {
  Begin();
  StepTo(1, {{"kl", 0.1}});
  LoadAll();
  const auto starts = TakeAll<StartGenerate>();
  ASSERT_FALSE(starts.empty());
  StepTo(2, {{"kl", 0.9}});
  EXPECT_FALSE(All<CancelGenerate>().empty());
  AnswerLearner();
  for (const StartGenerate& start : starts) Generate(start, 1);  // late
  for (int i = 0; i < 2; ++i) LoadAll();
  for (const StartGenerate& start : TakeAll<StartGenerate>()) {
    if (s_.groups.count(start.group) == 0) continue;
    Send(SampleArrived{start.attempt, 0, 2});  // of the version that was left
    EXPECT_EQ(s_.groups.at(start.group).samples[0].status, SampleStatus::kGenerating);
  }
}

TEST_F(GuardSchedulerTest, PausesWhenItMayNotGoBackAgain) {
  s_.plan.guard.max_rollbacks = 1;
  Begin();
  StepTo(1, {{"kl", 0.9}});
  AnswerLearner();
  StepTo(3, {{"kl", 0.9}});
  EXPECT_TRUE(s_.paused);
  EXPECT_EQ(s_.version, 3);
  EXPECT_THAT(s_.error, HasSubstr("guard.max_rollbacks 1 are used up"));
  EXPECT_EQ(All<RecordRollBack>().size(), 1u);
  Send(ResumeEvent{});
  StepTo(4, {{"kl", 0.1}});
}

TEST_F(GuardSchedulerTest, PausesInsteadWhenItIsToldSo) {
  s_.plan.guard.action = GuardAction::kPause;
  Begin();
  StepTo(1, {{"kl", 0.9}});
  EXPECT_TRUE(s_.paused);
  EXPECT_THAT(s_.error, HasSubstr("paused by the guard: step 1: kl is 0.9"));
  EXPECT_TRUE(All<RecordRollBack>().empty());
}

TEST_F(GuardSchedulerTest, PausesWhenTheCheckpointIsGone) {
  Begin();
  StepTo(1, {{"kl", 0.9}});
  FailLearner(absl::NotFoundError("there is no checkpoint"));
  EXPECT_TRUE(s_.paused);
  EXPECT_EQ(s_.end, JobEnd::kNone);
  EXPECT_THAT(s_.error, HasSubstr("there is no checkpoint"));
}

TEST_F(GuardSchedulerTest, GoesBackAgainInsteadOfRedoingWhatIsBehindARollback) {
  Begin();
  StepTo(3, {{"kl", 0.1}});
  StepTo(4, {{"kl", 0.9}});
  AnswerLearner();
  ASSERT_EQ(s_.version, 5);
  StepTo(6, {{"kl", 0.1}});
  if (s_.learner.busy) AnswerLearner();
  Send(WorkerDown{"learner", 1, "killed"});
  Send(LearnerUp{"learner", 9});
  log_.clear();
  if (s_.learner.op != LearnerOp::kOpen) FailLearner(absl::UnavailableError("gone"));
  AnswerLearner({.incarnation = "b", .version = 2, .policy = Ref(2)});
  ASSERT_FALSE(All<StartLearner>().empty());
  EXPECT_EQ(All<StartLearner>().back().op, LearnerOp::kRollBack);
  EXPECT_EQ(All<StartLearner>().back().number, 5);
  EXPECT_EQ(All<StartLearner>().back().parent, 2);
  AnswerLearner();
  EXPECT_EQ(All<StartLearner>().back().op, LearnerOp::kRedo);
  EXPECT_EQ(All<StartLearner>().back().number, 6);
  EXPECT_TRUE(All<CommitRollBack>().empty());
}

TEST_F(GuardSchedulerTest, TellsALearnerThatIsOneAheadByARollback) {
  Begin();
  StepTo(1, {{"kl", 0.9}});
  FailLearner(absl::UnavailableError("the answer was lost"));
  now_ += absl::Seconds(10);
  Send(TickEvent{});
  AnswerLearner({.incarnation = "a", .version = 2, .policy = Ref(2)});
  EXPECT_EQ(s_.end, JobEnd::kNone) << s_.error;
  EXPECT_EQ(All<StartLearner>().back().op, LearnerOp::kRollBack);
  AnswerLearner();
  EXPECT_EQ(s_.version, 2);
  EXPECT_EQ(s_.fork.parent, 0);
}

class GateSchedulerTest : public GuardSchedulerTest {
 protected:
  void SetUp() override {
    GuardSchedulerTest::SetUp();
    s_.plan.evaluation_every = 2;
    s_.plan.evaluation_prompts = 1;
    s_.plan.gate.on = true;
  }
  // Runs the evaluation that is due.
  void Evaluate(double score) {
    LoadAll();
    for (int i = 0; i < 10 && s_.unjudged == kNoPolicyVersion; ++i) {
      for (const StartGenerate& start : TakeAll<StartGenerate>()) Generate(start, s_.version);
      JudgeAll();
      if (s_.learner.busy) AnswerLearner();
    }
    ASSERT_EQ(s_.unjudged, s_.version);
    Send(EvaluationScored{{s_.version, score, 0.5 + 0.1 * static_cast<double>(s_.version)}});
  }
};

TEST_F(GateSchedulerTest, PromotesWhatHoldsBeforeItStepsOn) {
  Begin();
  Evaluate(0.5);
  ASSERT_TRUE(s_.learner.busy);
  EXPECT_EQ(s_.learner.op, LearnerOp::kPromote);
  AnswerLearner();
  ASSERT_EQ(All<PromoteVersion>().size(), 1u);
  EXPECT_EQ(s_.promoted, 0);
  StepTo(2, {{"kl", 0.1}});
  Evaluate(0.4);
  EXPECT_EQ(s_.promoted, 0);
  EXPECT_NE(s_.learner.op, LearnerOp::kPromote);
  const auto notes = All<Note>();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const Note& note) {
    return note.text.find("version 2 is not promoted: its score 0.4") != std::string::npos;
  }));
  StepTo(3, {{"kl", 0.9}});
  EXPECT_EQ(All<RecordRollBack>().back().fork.parent, 0) << "the promoted one, not checkpoint 2";
}

TEST_F(GateSchedulerTest, GoesBackWhenTheScoreFalls) {
  s_.plan.guard.held_out_drop = 0.2;
  s_.plan.gate.on = false;
  Begin();
  Evaluate(0.5);
  StepTo(2, {{"kl", 0.1}});
  Evaluate(0.1);
  ASSERT_EQ(All<RecordRollBack>().size(), 1u);
  EXPECT_EQ(All<RecordRollBack>()[0].fork.parent, 0);
  while (s_.rollback) AnswerLearner();
  EXPECT_EQ(s_.version, 3);
  EXPECT_EQ(s_.guard.held_out.size(), 1u) << "that of version 2 is left behind";
}

}  // namespace
}  // namespace sluice
