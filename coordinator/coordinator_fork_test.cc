// Learners that come back other than they were, with fake workers: the job goes back to a checkpoint, or
// waits for a person.
#include <string>

#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class CoordinatorForkTest : public CoordinatorTest {
 protected:
  CoordinatorForkTest() {
    spec_.checkpoint.every_steps = 1000;  // only that of version 0
    spec_.stop_steps = 200;
  }
  JobId Begin() {
    Start();
    RegisterAll();
    const JobId job = Submit();
    AwaitStep(job, 2);
    return job;
  }
  void RestartOther() {
    trainer_->ChangeArithmetic();
    trainer_->Restart();
    RegisterLearner();
  }
  JobView AwaitPause(const JobId& job) {
    return Await(job, [](const JobView& view) { return view.state == JobState::kPaused; });
  }
  void ExpectOneFork(const JobView& end) {
    EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
    ASSERT_EQ(end.rollbacks.size(), 1u);
    EXPECT_EQ(end.rollbacks[0].parent, 0);
    EXPECT_GE(end.rollbacks[0].version, 3);
    EXPECT_GT(end.ledger[LedgerColumn::kRolledBack], 0);
    for (const FakeTrainer::TrainedStep& step : trainer_->steps()) {
      if (step.version <= end.rollbacks[0].version) continue;
      for (const FakeTrainer::TrainedGroup& group : step.groups)
        EXPECT_GE(group.oldest, end.rollbacks[0].version) << "crosses the fork";
    }
    ExpectSound(end);
  }
};

TEST_F(CoordinatorForkTest, GoesOnFromTheCheckpointWhenStepsComeOutDifferent) {
  const JobId job = Begin();
  RestartOther();
  Await(job, [](const JobView& view) { return !view.rollbacks.empty(); });
  trainer_->Restart();  // as it is now: what is redone is the same
  RegisterLearner();
  const JobView end = AwaitEnd(job);
  EXPECT_THAT(end.rollbacks.at(0).reason, HasSubstr("came out different"));
  ExpectOneFork(end);
}

TEST_F(CoordinatorForkTest, IsNeitherLostNorDoneTwiceOverRestarts) {
  const JobId job = Begin();
  trainer_->FailRollBack(absl::UnavailableError("restarting"));
  trainer_->FailRollBack(absl::UnavailableError("the answer was lost"), true);
  RestartOther();
  Await(job, [](const JobView& view) { return Says(view, "goes back to version 0"); });
  RestartCoordinator();
  ExpectOneFork(AwaitEnd(job));
}

TEST_F(CoordinatorForkTest, AVersionThatIsPublishedOtherwiseIsNoEnd) {
  Start();
  for (int i = 0; i < 2; ++i) trainer_->FailStep(absl::UnavailableError("busy"));
  trainer_->FailStep(absl::AlreadyExistsError("version 1 was made again and came out different"));
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ASSERT_EQ(end.rollbacks.size(), 1u);
  EXPECT_EQ(end.rollbacks[0].version, 1);
  EXPECT_EQ(end.rollbacks[0].parent, 0);
  EXPECT_GT(end.ledger[LedgerColumn::kRolledBack], 0) << "its batch";
  ExpectSound(end);
}

TEST_F(CoordinatorForkTest, ADeterministicJobWaitsForTheLearnerThatItHad) {
  spec_.deterministic = true;
  spec_.staleness.on_deadline = OnDeadline::kWait;
  const JobId job = Begin();
  const auto waits = [](const JobView& view) {
    return view.waiting_for.find("ranks, threads and processor") != std::string::npos;
  };
  RestartOther();
  const JobView waiting = Await(job, waits);
  EXPECT_EQ(waiting.state, JobState::kRunning);
  EXPECT_THAT(waiting.waiting_for, HasSubstr("came out different"));
  RestartOther();
  RestartCoordinator();
  Await(job, waits);
  trainer_->RestoreArithmetic();
  trainer_->Restart();
  RegisterLearner();  // and nobody resumes it
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_TRUE(end.rollbacks.empty());
  ExpectSound(end);
}

TEST_F(CoordinatorForkTest, AForkLeavesTheGuardItsRollbacks) {
  spec_.guard.max_kl = 1e6;
  spec_.guard.max_rollbacks = spec_.guard.steps = 1;
  spec_.stop_steps = 5000;
  const JobId job = Begin();
  for (size_t forks = 1; forks <= 2; ++forks) {
    RestartOther();
    Await(job, [&](const JobView& view) { return view.rollbacks.size() == forks; });
    AwaitStep(job, coordinator_->Get(job)->step + 2);
  }
  RestartCoordinator();
  const int64_t step = coordinator_->Get(job)->step;
  for (PolicyVersion v = step + 10; v < step + 400; ++v) trainer_->SetMetric(v, "kl", 1e9);
  Await(job, [](const JobView& view) { return view.rollbacks.size() == 3; });
  const JobView paused = AwaitPause(job);
  EXPECT_THAT(paused.error, HasSubstr("guard.max_rollbacks 1 are used up"));
}

TEST_F(CoordinatorForkTest, WaitsForTheLearnersFolderAndRedoesWhatItCanWithout) {
  spec_.checkpoint.every_steps = 2;
  const JobId job = Begin();
  trainer_->LoseFolder();
  RegisterLearner();
  const JobView paused = AwaitPause(job);
  EXPECT_THAT(paused.error, HasSubstr("learner-0"));
  EXPECT_THAT(paused.error, HasSubstr("the checkpoint of version "));
  EXPECT_THAT(paused.error, HasSubstr("bring the folder back"));
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_TRUE(end.rollbacks.empty()) << "all of it was made again, the same";
  ExpectSound(end);
}

TEST_F(CoordinatorForkTest, GoesOnFromTheModelWhenAPersonGivesUpTheFolder) {
  spec_.checkpoint.every_steps = 2;
  const JobId job = Begin();
  trainer_->LoseFolder();
  trainer_->ChangeArithmetic();
  RegisterLearner();
  AwaitPause(job);
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  ExpectOneFork(AwaitEnd(job));
}

TEST_F(CoordinatorForkTest, AFolderLostBeforeTheFirstStepIsMadeAgain) {
  spec_.stop_steps = 5;
  trainer_->BlockStep();
  Start();
  RegisterAll();
  const JobId job = Submit();
  Await(job, [](const JobView& view) { return view.version == 0; });
  trainer_->LoseFolder();
  RegisterLearner();
  trainer_->UnblockStep();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_TRUE(end.rollbacks.empty());
  ExpectSound(end);
}

}  // namespace
}  // namespace sluice
