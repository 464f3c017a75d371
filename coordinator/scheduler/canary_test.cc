#include "coordinator/scheduler/canary.h"

#include <limits>
#include <set>

#include "coordinator/scheduler/testing_scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

CanaryRecord Passed(PolicyVersion version, double score) {
  return {.version = version, .verdict = CanaryVerdict::kPassed, .score = score};
}
CanaryRecord Taken(PolicyVersion version, double score) {
  return {.version = version, .verdict = CanaryVerdict::kTaken, .score = score};
}

TEST(WhyRefused, ComparesTheScoreWithTheBestOneAndTheLeast) {
  struct Case {
    CanarySpec canary;
    std::vector<CanaryRecord> before;
    PolicyVersion version;
    double score;
    const char* why;  // empty: it passes
  };
  const Case cases[] = {
      {{2, 0.25, {}}, {}, 1, 0, ""},
      {{2, 0.25, {}}, {Passed(0, 0.5), Passed(1, 0.75), Passed(2, 0.5)}, 3, 0.5, ""},
      {{2, 0.25, {}}, {Passed(0, 0.5), Passed(1, 0.75), Passed(2, 0.5)}, 3, 0.25, "below 0.75 of version 1"},
      {{2, 0.25, {}}, {Passed(0, kNan), Passed(1, 0.25), Passed(2, kNan)}, 3, -1, "below 0.25 of version 1"},
      {{2, 0.25, {}}, {Passed(0, 0.75), Taken(1, 0.25), Passed(2, 0.25)}, 3, 0.25, ""},
      {{2, 0.25, {}}, {Passed(0, 0.75), Taken(1, 0.25), Passed(2, 0.5)}, 3, 0.125, "below 0.5 of version 2"},
      {{2, 9, 0.5}, {Passed(0, 0.75)}, 1, 0.5, ""},
      {{2, 9, 0.5}, {Passed(0, 0.75)}, 1, 0.25, "0.25 is below evaluation.canary.min_score 0.5"},
      {{2, 9, {}}, {}, 1, kNan, "no sample has a reward"},
      {{2, 0, 0.5}, {}, 0, 0.25, ""},  // nothing is before it
      {{2, 0, {}}, {}, 0, kNan, ""},
  };
  for (const Case& c : cases) {
    const std::string why = WhyRefused(c.canary, c.before, c.version, c.score);
    EXPECT_THAT(why, HasSubstr(c.why));
    EXPECT_EQ(why.empty(), c.why[0] == '\0') << why;
  }
}

TEST(RestoreCanary, KnowsWhatIsOnTrialAndForgetsWhatWasLeft) {
  SchedulerState state;
  state.plan.canary.prompts = 1;
  state.version = 7;
  state.fork = {.version = 5, .parent = 2};
  const CanaryRecord refused{.version = 4, .verdict = CanaryVerdict::kRefused, .why = "low"};
  std::vector<CanaryRecord> records = {Passed(2, 1), Passed(3, 2), refused, Passed(6, 3)};
  RestoreCanary(records, {state.fork}, state);
  EXPECT_TRUE(OnTrial(state));
  EXPECT_FALSE(IsRefused(state));
  EXPECT_EQ(TrustedVersion(state), 6);
  EXPECT_THAT(state.canary.records,
              ElementsAre(Field(&CanaryRecord::version, 2), Field(&CanaryRecord::version, 6)));
  records.push_back({.version = 7, .verdict = CanaryVerdict::kRefused});
  RestoreCanary(records, {state.fork}, state);
  EXPECT_TRUE(IsRefused(state));
  EXPECT_EQ(TrustedVersion(state), 6);
  records.back().verdict = CanaryVerdict::kTaken;
  RestoreCanary(records, {state.fork}, state);
  EXPECT_FALSE(OnTrial(state));
  EXPECT_EQ(TrustedVersion(state), 7);
  state.version = 5;
  RestoreCanary({Passed(2, 1)}, {state.fork}, state);
  EXPECT_FALSE(OnTrial(state)) << "a rollback's version needs no trial";
}

class CanarySchedulerTest : public SchedulerTest {
 protected:
  void SetUp() override {
    SchedulerTest::SetUp();
    s_.plan.checkpoint.every_steps = 2;
    s_.plan.canary.prompts = 2;
  }
  // What was decided so far; what the fleet has to do stays.
  void Forget() {
    std::erase_if(log_, [](const Action& action) {
      return !std::holds_alternative<StartLoad>(action) && !std::holds_alternative<StartGenerate>(action) &&
             !std::holds_alternative<StartScore>(action);
    });
  }
  // What the fleet has to do is done once, each worker as it was told.
  void Round() {
    LoadAll();
    for (const StartGenerate& start : TakeAll<StartGenerate>())
      Generate(start, s_.rollout.at(start.worker).version);
    JudgeAll();
    if (s_.learner.busy) AnswerLearner();
  }
  // Until what is on trial was sampled.
  void Sample() {
    for (int i = 0; i < 20 && !s_.canary.awaits_score; ++i) Round();
    ASSERT_TRUE(s_.canary.awaits_score) << WaitingFor(s_);
  }
  void Try(double score) {
    Sample();
    Send(CanaryScored{s_.version, score});
  }
  void BeginTwo() {
    Begin();
    Send(RolloutUp{"r1", 4});
    Try(0.5);
    ASSERT_EQ(TrustedVersion(s_), 0);
    ASSERT_FALSE(OnTrial(s_));
  }
  // All versions before it pass.
  void StepTo(PolicyVersion version) {
    for (int i = 0; i < 200 && s_.version < version; ++i) {
      Round();
      if (s_.canary.awaits_score) Send(CanaryScored{s_.version, 0.5});
    }
    ASSERT_EQ(s_.version, version);
  }
  // To version 1, with none of these draws and later ones answered.
  std::vector<StartGenerate> StepToOneWithout(Draw first) {
    std::vector<StartGenerate> held;
    for (int i = 0; i < 20 && s_.version < 1; ++i) {
      for (const StartGenerate& start : TakeAll<StartGenerate>()) {
        const bool hold = !start.group.evaluation && start.group.draw >= first;
        if (hold) held.push_back(start);
        if (!hold) Generate(start, 0);
      }
      JudgeAll();
      if (s_.canary.awaits_score) Send(CanaryScored{0, 0.5});
      if (s_.learner.busy) AnswerLearner();
    }
    EXPECT_EQ(s_.version, 1);
    return held;
  }
  std::set<std::string> LoadersOf(PolicyVersion version) const {
    std::set<std::string> out;
    for (const StartLoad& load : All<StartLoad>()) {
      if (load.policy.version == version) out.insert(load.worker);
    }
    return out;
  }
  std::vector<std::string> Notes() const {
    std::vector<std::string> out;
    for (const Note& note : All<Note>()) out.push_back(note.text);
    return out;
  }
};

TEST_F(CanarySchedulerTest, AllLoadAVersionWhenOneHasTriedIt) {
  BeginTwo();
  StepTo(1);
  EXPECT_TRUE(OnTrial(s_));
  EXPECT_EQ(s_.canary.worker, "r0");
  EXPECT_THAT(Notes(), Contains("version 1 is on trial on r0"));
  EXPECT_THAT(LoadersOf(1), ElementsAre("r0"));
  EXPECT_THAT(WaitingFor(s_), HasSubstr("r0 to load version 1, which is on trial"));
  log_.clear();
  Send(PolicyLoaded{"r0", 2, 1, absl::OkStatus()});
  EXPECT_THAT(WaitingFor(s_), HasSubstr("the canary of version 1 on r0: 0 of 2 prompts done"));
  int tried = 0;
  for (const StartGenerate& start : All<StartGenerate>()) {
    EXPECT_EQ(start.worker, start.group.evaluation ? "r0" : "r1");
    tried += start.group.evaluation;
  }
  EXPECT_EQ(tried, 2);
  Sample();
  EXPECT_EQ(s_.version, 1) << "the step past it is held back";
  EXPECT_THAT(LoadersOf(1), IsEmpty());
  log_.clear();
  Send(CanaryScored{1, 0.4});
  ASSERT_EQ(All<RecordCanary>().size(), 1u);
  EXPECT_EQ(All<RecordCanary>()[0].record.verdict, CanaryVerdict::kPassed);
  EXPECT_EQ(All<RecordCanary>()[0].record.worker, "r0");
  EXPECT_THAT(Notes(), Contains("canary of version 1 on r0: passed with the score 0.4"));
  EXPECT_THAT(LoadersOf(1), ElementsAre("r1"));
  StepTo(2);
}

TEST_F(CanarySchedulerTest, OthersGoOnWithTheVersionBeforeAsFarAsTheBoundAllows) {
  for (int64_t bound = 0; bound <= 2; ++bound) {
    s_ = {};
    log_.clear();
    SetUp();
    s_.plan.max_versions = bound;
    BeginTwo();
    StepTo(1);
    Sample();
    EXPECT_EQ(s_.index.groups.outstanding(), s_.plan.groups_per_step * bound) << "bound " << bound;
    for (const auto& [key, group] : s_.groups) EXPECT_EQ(group.train_by, bound) << "sampled at version 0";
    Forget();
    Send(CanaryScored{1, 0.5});
    LoadAll();
    EXPECT_FALSE(All<IssueGroup>().empty()) << "bound " << bound;
  }
}

TEST_F(CanarySchedulerTest, CompleteGroupsAreAddedWhileTheStepWaits) {
  s_.plan.max_versions = 2;
  BeginTwo();
  StepTo(1);
  Sample();
  EXPECT_EQ(s_.learner.added.size(), 2u);
  EXPECT_EQ(s_.index.groups.ready().size(), 4u);
  EXPECT_TRUE(s_.batch.empty());
  Send(CanaryScored{1, 0.5});
  EXPECT_EQ(s_.batch.size(), 2u);
  EXPECT_EQ(All<StartLearner>().back().op, LearnerOp::kStep);
}

TEST_F(CanarySchedulerTest, AnotherTriesWhenTheCanaryIsLost) {
  BeginTwo();
  StepTo(1);
  Send(PolicyLoaded{"r0", 2, 1, absl::OkStatus()});
  TakeAll<StartLoad>();
  Send(WorkerDown{"r0", 2, "killed"});
  EXPECT_EQ(s_.canary.worker, "r1");
  EXPECT_THAT(LoadersOf(1), ElementsAre("r1"));
  Send(RolloutUp{"r0", 9});
  EXPECT_EQ(s_.canary.worker, "r1") << "it stays";
  EXPECT_EQ(LoadersOf(0).count("r0"), 1u) << "as one that all may have";
  Try(0.5);
  EXPECT_EQ(s_.canary.records.back().worker, "r1");
  StepTo(2);
}

TEST_F(CanarySchedulerTest, CanaryThatComesBackAtOnceGoesOn) {
  BeginTwo();
  StepTo(1);
  TakeAll<StartLoad>();
  TakeIn(s_, {now_, WorkerDown{"r0", 2, "killed"}});
  Send(RolloutUp{"r0", 9});
  EXPECT_EQ(s_.canary.worker, "r0");
  EXPECT_THAT(LoadersOf(1), ElementsAre("r0"));
  Try(0.5);
  StepTo(2);
}

TEST_F(CanarySchedulerTest, AnotherTriesWhenTheCanaryCannotLoadIt) {
  BeginTwo();
  StepTo(1);
  for (int i = 0; i < 10 && s_.canary.worker == "r0"; ++i) {
    for (const StartLoad& load : TakeAll<StartLoad>()) {
      EXPECT_EQ(load.worker, "r0");
      Send(PolicyLoaded{"r0", 2, 1, absl::ResourceExhaustedError("no memory")});
      EXPECT_EQ(s_.rollout.at("r0").version, kNoPolicyVersion) << "it may serve it all the same";
    }
    now_ += absl::Milliseconds(1100);
    Send(TickEvent{});
  }
  EXPECT_EQ(s_.canary.worker, "r1");
  now_ += absl::Seconds(10);
  Send(TickEvent{});
  EXPECT_THAT(LoadersOf(1), ElementsAre("r1"));
  EXPECT_THAT(LoadersOf(0), Contains("r0"));
  Try(0.5);
  StepTo(2);
}

TEST_F(CanarySchedulerTest, OneThatIsLoadingIsNotTheFirstChoice) {
  BeginTwo();
  Send(RolloutUp{"a0", 7});  // loads version 0 all the while
  const std::vector<StartLoad> loads = TakeAll<StartLoad>();
  ASSERT_EQ(loads.size(), 1u);
  StepTo(1);
  EXPECT_EQ(s_.canary.worker, "r0");
}

TEST_F(CanarySchedulerTest, WorkerThatWasTheCanaryIsGivenNothingElse) {
  s_.plan.max_versions = 2;
  Begin();
  Send(RolloutUp{"r1", 4});
  LoadAll();
  std::vector<StartGenerate> others = StepToOneWithout(2);
  std::erase_if(others, [](const StartGenerate& start) { return start.worker == "r0"; });
  Send(PolicyLoaded{"r0", 2, 1, absl::OkStatus()});
  for (int i = 0; i < 20 && s_.canary.worker == "r0"; ++i) {
    for (const StartGenerate& start : TakeAll<StartGenerate>()) {
      if (start.worker == "r0") {
        Send(GenerateEnded{start.attempt, absl::ResourceExhaustedError("busy")});
      } else {
        others.push_back(start);
      }
    }
    now_ += absl::Milliseconds(900);
    Send(TickEvent{});
  }
  ASSERT_EQ(s_.canary.worker, "r1");
  ASSERT_EQ(s_.rollout.at("r0").version, 1);
  ASSERT_FALSE(others.empty());
  log_.clear();
  now_ += absl::Seconds(6);
  Send(TickEvent{});  // r0 no longer rests
  for (const StartGenerate& start : others)
    Send(GenerateEnded{start.attempt, absl::ResourceExhaustedError("busy")});
  now_ += absl::Seconds(6);
  Send(TickEvent{});
  EXPECT_TRUE(All<StartGenerate>().empty()) << "they have samples of version 0 to come, it has version 1";
}

TEST_F(CanarySchedulerTest, GoesBackFromAVersionThatIsRefused) {
  BeginTwo();
  StepTo(3);
  Forget();
  Try(0.3);
  EXPECT_EQ(All<RecordCanary>().at(0).record.verdict, CanaryVerdict::kRefused);
  ASSERT_EQ(All<RecordRollBack>().size(), 1u);
  const Fork fork = All<RecordRollBack>()[0].fork;
  EXPECT_EQ(fork.version, 4);
  EXPECT_EQ(fork.parent, 2);
  EXPECT_THAT(fork.reason, HasSubstr("canary of version 3 on r0: the score 0.3 is more than "
                                     "evaluation.canary.max_drop 0.1 below 0.5 of version"));
  for (int i = 0; i < 20 && s_.version < 4; ++i) {
    EXPECT_EQ(LoadersOf(3).count("r1"), 0u);
    if (s_.learner.busy) AnswerLearner();
    LoadAll();
  }
  ASSERT_EQ(s_.version, 4);
  EXPECT_FALSE(OnTrial(s_)) << "its weights were on all workers";
  EXPECT_EQ(s_.canary.records.back().version, 2);
  for (int i = 0; i < 3; ++i) LoadAll();
  for (const char* name : {"r0", "r1"}) EXPECT_EQ(s_.rollout.at(name).version, 4) << name;
  StepTo(5);
  EXPECT_TRUE(OnTrial(s_));
}

TEST_F(CanarySchedulerTest, PausesInsteadAndAPersonTakesTheVersion) {
  s_.plan.guard.action = GuardAction::kPause;
  BeginTwo();
  StepTo(1);
  Try(0.1);
  EXPECT_TRUE(s_.paused);
  EXPECT_TRUE(IsRefused(s_));
  EXPECT_THAT(s_.error, HasSubstr("`sluice resume` goes on and takes version 1 all the same"));
  EXPECT_TRUE(All<RecordRollBack>().empty());
  now_ += absl::Seconds(60);
  Send(TickEvent{});
  Round();
  EXPECT_EQ(s_.rollout.at("r1").version, 0);
  log_.clear();
  Send(ResumeEvent{});
  EXPECT_EQ(All<RecordCanary>().at(0).record.verdict, CanaryVerdict::kTaken);
  EXPECT_THAT(LoadersOf(1), ElementsAre("r1"));
  StepTo(2);
  Try(0.1);
  EXPECT_FALSE(s_.paused) << "what was taken is what counts";
}

TEST_F(CanarySchedulerTest, PausesWhenItMayNotGoBackAgain) {
  s_.plan.guard.max_rollbacks = 1;
  BeginTwo();
  StepTo(1);
  Try(0.1);
  AnswerLearner();
  while (s_.version < 2) AnswerLearner();
  StepTo(3);
  Try(0.1);
  EXPECT_TRUE(s_.paused);
  EXPECT_THAT(s_.error, HasSubstr("guard.max_rollbacks 1 are used up"));
  Send(ResumeEvent{});
  StepTo(4);
}

TEST_F(CanarySchedulerTest, PauseOfAPersonDoesNotTakeWhatIsOnTrial) {
  BeginTwo();
  StepTo(1);
  Send(PauseEvent{});
  Send(ResumeEvent{});
  EXPECT_TRUE(OnTrial(s_));
  EXPECT_TRUE(All<RecordCanary>().size() == 1u) << "that of version 0";
  Try(0.5);
  StepTo(2);
}

TEST_F(CanarySchedulerTest, VersionZeroIsMeasuredAndNotRefused) {
  s_.plan.canary.min_score = 0.9;
  Begin();
  Send(RolloutUp{"r1", 4});
  EXPECT_EQ(LoadersOf(0).count("r1"), 1u) << "all may have it";
  Try(0.1);
  EXPECT_FALSE(OnTrial(s_));
  EXPECT_FALSE(s_.paused);
  EXPECT_TRUE(All<RecordRollBack>().empty());
  StepTo(1);
  Try(0.95);
  StepTo(2);
}

TEST_F(CanarySchedulerTest, OneWorkerIsTheCanaryAndSamplesNothingElse) {
  Begin();
  Try(0.5);
  StepTo(1);
  Forget();
  LoadAll();
  for (const StartGenerate& start : All<StartGenerate>()) EXPECT_TRUE(start.group.evaluation);
  Sample();
  EXPECT_TRUE(All<IssueGroup>().empty());
  Send(CanaryScored{1, 0.5});
  EXPECT_FALSE(All<IssueGroup>().empty());
  StepTo(2);
}

TEST_F(CanarySchedulerTest, EvaluationThatIsDueComesAfterIt) {
  s_.plan.evaluation_every = 1;
  s_.plan.evaluation_prompts = 3;
  Begin();
  Sample();
  EXPECT_TRUE(All<FinishEvaluation>().empty());
  log_.clear();
  Send(CanaryScored{0, 0.5});
  ASSERT_TRUE(s_.evaluation);
  EXPECT_FALSE(s_.evaluation->canary);
  for (int i = 0; i < 10 && All<FinishEvaluation>().empty(); ++i) Round();
  EXPECT_EQ(All<FinishEvaluation>().size(), 1u);
  StepTo(1);
}

TEST_F(CanarySchedulerTest, NoOtherHedgesIt) {
  s_.plan.hedge_after = absl::Seconds(1);
  s_.plan.max_versions = 0;
  BeginTwo();
  StepTo(1);
  LoadAll();
  ASSERT_EQ(All<StartGenerate>().size(), 2u);
  log_.clear();
  now_ += absl::Seconds(5);
  Send(TickEvent{});
  EXPECT_TRUE(All<StartGenerate>().empty());
}

TEST_F(CanarySchedulerTest, TrialOfADeterministicJobWaitsForOlderDraws) {
  s_.plan.deterministic = true;
  s_.plan.drop_on_deadline = false;
  BeginTwo();
  const auto held = StepToOneWithout(2);  // of the next batch, which is sampled at version 0 too
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(s_.canary.worker, "");
  EXPECT_THAT(LoadersOf(1), IsEmpty());
  for (const StartGenerate& start : held) Generate(start, 0);
  JudgeAll();
  EXPECT_EQ(s_.canary.worker, "r0");
  EXPECT_THAT(LoadersOf(1), ElementsAre("r0"));
  Sample();
  EXPECT_EQ(s_.rollout.at("r1").version, 0);
  Send(CanaryScored{1, 0.5});
  EXPECT_THAT(LoadersOf(1), Contains("r1"));
  StepTo(3);
}

TEST_F(CanarySchedulerTest, StepThatBreaksALimitIsNotTriedAtAll) {
  s_.plan.guard.max_kl = 0.5;
  s_.plan.guard.steps = 1;
  BeginTwo();
  for (int i = 0; i < 20 && s_.learner.op != LearnerOp::kStep; ++i) Round();
  LearnerDone done;
  done.call = *s_.learner.busy;
  done.policy = Ref(1);
  done.metrics = {{"kl", 0.9}};
  log_.clear();
  Send(done);
  EXPECT_EQ(All<RecordRollBack>().size(), 1u);
  EXPECT_EQ(s_.canary.worker, "");
  EXPECT_THAT(LoadersOf(1), IsEmpty());
}

}  // namespace
}  // namespace sluice
