// Jobs that go back, pause or promote by their own signals, with fake workers.
#include <string>

#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class CoordinatorGuardTest : public CoordinatorTest {
 protected:
  CoordinatorGuardTest() {
    spec_.stop_steps = 10;
    spec_.checkpoint.every_steps = 2;
    spec_.guard.max_kl = 0.5;
    spec_.guard.steps = 1;
  }
  // It went back once, to checkpoint 4, when step 5 broke the limit.
  void ExpectOneRollback(const JobView& end) {
    EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
    EXPECT_EQ(end.version, 10);
    ASSERT_EQ(end.rollbacks.size(), 1u);
    EXPECT_EQ(end.rollbacks[0].version, 6);
    EXPECT_EQ(end.rollbacks[0].parent, 4);
    EXPECT_THAT(end.rollbacks[0].reason, HasSubstr("kl is 9, above guard.max_kl 0.5"));
    EXPECT_EQ(trainer_->rollbacks(), (std::map<PolicyVersion, PolicyVersion>{{6, 4}}));
    EXPECT_TRUE(Says(end, "version 6 goes back to version 4"));
    for (const FakeTrainer::TrainedStep& step : trainer_->steps()) {
      if (step.version <= 6) continue;
      for (const FakeTrainer::TrainedGroup& group : step.groups)
        EXPECT_GE(group.oldest, 6) << "crosses the fork";
    }
    ExpectSound(end);
  }
};

TEST_F(CoordinatorGuardTest, GoesBackAndGoesOn) {
  trainer_->SetMetric(5, "kl", 9);
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_GT(end.ledger[LedgerColumn::kRolledBack], 0);
  ExpectOneRollback(end);
}

TEST_F(CoordinatorGuardTest, IsNeitherLostNorDoneTwiceOverRestarts) {
  trainer_->SetMetric(5, "kl", 9);
  // The learner does not come to it, then its answer is lost.
  for (int i = 0; i < 2; ++i) trainer_->FailRollBack(absl::UnavailableError("restarting"));
  for (int i = 0; i < 2; ++i) trainer_->FailRollBack(absl::UnavailableError("the answer was lost"), true);
  Start();
  RegisterAll();
  const JobId job = Submit();
  Await(job, [](const JobView& view) { return Says(view, "version 6 goes back to version 4"); });
  RestartCoordinator();
  EXPECT_LE(coordinator_->Get(job)->version, 6);
  trainer_->Restart();
  RegisterLearner();
  RestartCoordinator();
  AwaitStep(job, 8);
  trainer_->Restart();
  RegisterLearner();
  RestartCoordinator();
  ExpectOneRollback(AwaitEnd(job));
}

TEST_F(CoordinatorGuardTest, PausesWhenItMayNotGoBackAgainAndGoesOnWhenToldTo) {
  spec_.guard.max_rollbacks = 1;
  trainer_->SetMetric(1, "kl", 9);
  trainer_->SetMetric(4, "kl", 9);
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView paused = Await(job, [](const JobView& view) { return view.state == JobState::kPaused; });
  EXPECT_EQ(paused.version, 4);
  EXPECT_THAT(paused.error, HasSubstr("guard.max_rollbacks 1 are used up"));
  RestartCoordinator();
  EXPECT_EQ(coordinator_->Get(job)->state, JobState::kPaused);
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.rollbacks.size(), 1u);
  EXPECT_EQ(end.version, 10);
  ExpectSound(end);
}

TEST_F(CoordinatorGuardTest, CountsStepsInARowOverARestart) {
  spec_.guard.steps = 3;
  for (PolicyVersion v = 5; v <= 7; ++v) trainer_->SetMetric(v, "kl", 9);
  Start();
  RegisterAll();
  const JobId job = Submit();
  AwaitStep(job, 6);
  RestartCoordinator();
  const JobView end = AwaitEnd(job);
  ASSERT_EQ(end.rollbacks.size(), 1u);
  EXPECT_EQ(end.rollbacks[0].version, 8);
  EXPECT_EQ(end.rollbacks[0].parent, 4);
  ExpectSound(end);
}

TEST_F(CoordinatorGuardTest, LastStepMayBeRolledBackToo) {
  trainer_->SetMetric(10, "kl", 9);
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(end.version, 11);
  EXPECT_EQ(trainer_->rollbacks().at(11), 8);
  ExpectSound(end);
}

class CoordinatorGateTest : public CoordinatorGuardTest {
 protected:
  CoordinatorGateTest() {
    spec_.evaluation.file = spec_.prompts.file;
    spec_.evaluation.every_steps = 3;
    spec_.evaluation.max_prompts = 3;
    spec_.evaluation.measure = HeldOutMeasure::kReward;
    spec_.evaluation.gate.on = true;
    spec_.evaluation.gate.max_drop = 1;
  }
};

TEST_F(CoordinatorGateTest, PromotedVersionIsWhatIsGoneBackToAndExported) {
  trainer_->SetMetric(5, "kl", 9);
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(trainer_->rollbacks(), (std::map<PolicyVersion, PolicyVersion>{{6, 3}})) << "not checkpoint 4";
  EXPECT_EQ(end.promoted, 10);
  EXPECT_EQ(trainer_->promoted(), 10);
  EXPECT_TRUE(Says(end, "version 3 is promoted"));
  EXPECT_EQ(*coordinator_->Export(job, kNoPolicyVersion, "/out"), 10);
  EXPECT_EQ(*coordinator_->Export(job, 9, "/out"), 9);
  ASSERT_FALSE(end.evaluations.empty());
  EXPECT_FALSE(end.evaluations[0].train_reward.has_value());
  EXPECT_TRUE(end.evaluations[1].train_reward.has_value());
  ExpectSound(end);
}

TEST_F(CoordinatorGateTest, RefusesWhatDoesNotHoldAndExportsThePromotedOne) {
  spec_.evaluation.gate.min_score = 2;  // above what the reward can be
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.promoted, kNoPolicyVersion);
  EXPECT_TRUE(Says(end, "version 3 is not promoted: its score"));
  EXPECT_EQ(*coordinator_->Export(job, kNoPolicyVersion, "/out"), 10);
  ExpectSound(end);
}

TEST_F(CoordinatorGateTest, RefusesAVersionOfWhichNoSampleHasAReward) {
  spec_.evaluation.file =
      files_.Write("hard.jsonl", "{\"prompt\": \"hard\", \"answer\": \"1\", \"kind\": \"+\"}\n");
  scorer_ = std::make_shared<FakeScorer>([](const ScoreItem& item) {
    Verdict verdict = FakeScorer::JudgeByHash(item);
    if (item.prompt == "hard") verdict.kind = VerdictKind::kUndecided;
    return verdict;
  });
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.promoted, kNoPolicyVersion);
  EXPECT_TRUE(Says(end, "version 3 is not promoted: no sample of its evaluation has a reward"));
  ExpectSound(end);
}

TEST_F(CoordinatorGateTest, DecidesAPromotionOnceOverRestarts) {
  Start();
  RegisterAll();
  const JobId job = Submit();
  for (PolicyVersion v = 0; v <= 9; v += 3) {
    AwaitStep(job, v);
    RestartCoordinator();
  }
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.promoted, 10);
  for (PolicyVersion v : {0, 3, 6, 9, 10}) {
    const std::string text = absl::StrCat("version ", v, " is promoted");
    EXPECT_EQ(std::count_if(end.events.begin(), end.events.end(),
                            [&](const JobEventView& event) { return event.text == text; }),
              1)
        << v;
  }
  ExpectSound(end);
}

}  // namespace
}  // namespace sluice
