// Several jobs on one fleet: learners, turns by priority, pre-emption, and whose workers are whose.
#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class SharingTest : public CoordinatorTest {
 protected:
  SharingTest() {
    while (rollouts_.size() < 4) rollouts_.push_back(std::make_shared<RolloutProcess>(nullptr));
  }

  JobId SubmitAt(int32_t priority, int32_t least = 0, int32_t most = 0) {
    spec_.share = {priority, least, most};
    return Submit();
  }
  void BlockSteps() {
    trainer_->BlockStep();
    other_trainer_->BlockStep();
  }
  void UnblockSteps() {
    trainer_->UnblockStep();
    other_trainer_->UnblockStep();
  }
  void AwaitWaiting(const JobId& job, const std::string& what) {
    const JobView view = Await(job, [&](const JobView& v) { return v.waiting_for == what; });
    EXPECT_EQ(view.waiting_for, what);
  }
  void AwaitInStep(const JobId& job) {
    Await(job, [](const JobView& view) { return view.waiting_for.find("the learner: step") == 0; });
  }
  void AwaitWorkers(const JobId& job, int32_t n) {
    Await(job, [n](const JobView& view) { return view.rollout_workers == n; });
  }
  JobView AwaitSuccess(const JobId& job) {
    const JobView end = AwaitEnd(job);
    EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
    ExpectTrainedOnce(end);
    return end;
  }
  // A job that made room for another, which gets no completions.
  std::pair<JobId, JobId> PreemptAndHold() {
    const JobId low = SubmitAt(0);
    AwaitStep(low, 1);
    trainer_->BlockStep();
    const JobId high = SubmitAt(5);
    for (const auto& rollout : rollouts_) rollout->worker.Block();
    trainer_->UnblockStep();
    return {low, high};
  }
  std::map<PolicyVersion, std::string> ManifestsOf(const JobId& job) {
    return (coordinator_->Get(job)->learner == "learner-0" ? trainer_ : other_trainer_)->manifests(job);
  }
  static std::string EventsOf(const JobView& view) {
    std::string out;
    for (const JobEventView& event : view.events) absl::StrAppend(&out, event.text, "\n");
    return out;
  }
  // The rows of all jobs say what the counters say.
  void ExpectSoundStore(const std::vector<JobId>& jobs) {
    coordinator_->Shutdown();
    coordinator_.reset();
    auto store = Store::Open(state_->path());
    ASSERT_TRUE(store.ok()) << store.status();
    for (const JobId& job : jobs) EXPECT_TRUE((*store)->CheckLedger(job).ok()) << job;
  }
  void Restart() {
    coordinator_.reset();
    trainer_->Restart();
    other_trainer_->Restart();
    Start();
  }
};

TEST_F(SharingTest, AsManyJobsRunAsThereAreLearners) {
  BlockSteps();
  Start();
  RegisterAll();
  RegisterOtherLearner();
  const JobId a = SubmitAt(0), b = SubmitAt(0), c = SubmitAt(0);
  AwaitWorkers(a, 2);
  AwaitWorkers(b, 2);
  AwaitWaiting(c, "its turn, behind " + a + ", " + b);
  std::map<JobId, int> rollouts, learners;
  for (const WorkerView& worker : coordinator_->Workers()) {
    if (worker.role == "rollout") ++rollouts[worker.job];
    if (worker.role == "learner") ++learners[worker.job];
  }
  EXPECT_EQ(rollouts, (std::map<JobId, int>{{a, 2}, {b, 2}}));
  EXPECT_EQ(learners, (std::map<JobId, int>{{a, 1}, {b, 1}}));
  UnblockSteps();
  const JobView end_a = AwaitSuccess(a), end_b = AwaitSuccess(b), end_c = AwaitSuccess(c);
  EXPECT_NE(end_a.learner, end_b.learner);
  EXPECT_NE(end_c.learner, "");
  EXPECT_EQ(end_a.ledger[LedgerColumn::kQuarantined], 0);
  EXPECT_EQ(end_c.rollout_workers, 0);
  ExpectSoundStore({a, b, c});
}

TEST_F(SharingTest, ThoseThatWaitGoByPriorityThenByAge) {
  trainer_->BlockStep();
  Start();
  RegisterAll();
  const JobId a = SubmitAt(9);
  AwaitWorkers(a, 4);
  const JobId b = SubmitAt(0), c = SubmitAt(0), d = SubmitAt(5);
  trainer_->UnblockStep();
  for (const JobId& job : {a, b, c, d}) AwaitSuccess(job);
  std::vector<JobId> order;
  for (const auto& step : trainer_->steps()) {
    if (order.empty() || order.back() != step.job) order.push_back(step.job);
  }
  EXPECT_EQ(order, (std::vector<JobId>{a, d, b, c}));
}

TEST_F(SharingTest, AJobOfHigherPriorityTakesTheLearnerAfterTheStep) {
  spec_.checkpoint.every_steps = 100;  // only what it is asked for
  Start();
  RegisterAll();
  const JobId low = SubmitAt(0);
  trainer_->BlockStep();
  AwaitInStep(low);
  const JobId high = SubmitAt(5);
  AwaitWaiting(high, "its turn: " + low + " (priority 0) makes room after its step");
  trainer_->UnblockStep();
  const JobView end = AwaitSuccess(high);
  EXPECT_THAT(EventsOf(end), HasSubstr("takes learner learner-0 from " + low + " (priority 0)"));
  const JobView resumed = AwaitSuccess(low);
  EXPECT_THAT(EventsOf(resumed), HasSubstr("pre-empted by " + high + " (priority 5) after step"));
  EXPECT_EQ(resumed.ledger[LedgerColumn::kQuarantined], 0);
  std::map<JobId, std::set<PolicyVersion>> made;
  for (const auto& step : trainer_->steps()) {
    EXPECT_TRUE(made[step.job].insert(step.version).second) << "step " << step.version << " was redone";
  }
  ExpectSoundStore({low, high});
}

TEST_F(SharingTest, TheJobThatMadeRoomIsPendingAndSaysForWhom) {
  Start();
  RegisterAll();
  const auto [low, high] = PreemptAndHold();
  AwaitWaiting(low, "its turn: pre-empted by " + high + " (priority 5)");
  EXPECT_EQ(coordinator_->Get(low)->state, JobState::kPending);
  ASSERT_TRUE(coordinator_->Cancel(high).ok());
  for (const auto& rollout : rollouts_) rollout->worker.Unblock();
  AwaitSuccess(low);
}

TEST_F(SharingTest, AJobGoesOnWhenTheOneItWouldMakeRoomForIsCancelled) {
  trainer_->BlockStep();
  Start();
  RegisterAll();
  const JobId low = SubmitAt(0);
  AwaitInStep(low);
  const JobId high = SubmitAt(5);
  AwaitWaiting(high, "its turn: " + low + " (priority 0) makes room after its step");
  ASSERT_TRUE(coordinator_->Cancel(high).ok());
  trainer_->UnblockStep();
  EXPECT_THAT(EventsOf(AwaitSuccess(low)), testing::Not(HasSubstr("pre-empted")));
}

TEST_F(SharingTest, OfOnePriorityNobodyIsSentAway) {
  trainer_->BlockStep();
  Start();
  RegisterAll();
  const JobId first = SubmitAt(3);
  AwaitWorkers(first, 4);
  const JobId second = SubmitAt(3);
  AwaitWaiting(second, "its turn, behind " + first);
  trainer_->UnblockStep();
  EXPECT_THAT(EventsOf(AwaitSuccess(first)), testing::Not(HasSubstr("pre-empted")));
  AwaitSuccess(second);
}

TEST_F(SharingTest, APriorityThatRisesPreempts) {
  trainer_->BlockStep();
  Start();
  RegisterAll();
  const JobId first = SubmitAt(0);
  AwaitInStep(first);
  const JobId second = SubmitAt(0);
  AwaitWaiting(second, "its turn, behind " + first);
  ASSERT_TRUE(coordinator_->SetPriority(second, 7).ok());
  AwaitWaiting(second, "its turn: " + first + " (priority 0) makes room after its step");
  ASSERT_TRUE(coordinator_->SetPriority(first, 7).ok());
  AwaitWaiting(second, "its turn, behind " + first);
  EXPECT_EQ(coordinator_->Get(first)->spec.share.priority, 7);
  ASSERT_TRUE(coordinator_->SetPriority(first, -1).ok());
  trainer_->UnblockStep();
  AwaitSuccess(second);
  EXPECT_THAT(EventsOf(AwaitSuccess(first)), HasSubstr("pre-empted by " + second + " (priority 7)"));
  EXPECT_EQ(coordinator_->SetPriority(first, 1).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(coordinator_->SetPriority(first, 1001).status().message()),
              HasSubstr("share.priority"));
  Restart();
  EXPECT_EQ(coordinator_->Get(second)->spec.share.priority, 7) << "durable";
}

TEST_F(SharingTest, AJobGoesOnWithTheLearnerThatHasItsCheckpoints) {
  Start();
  RegisterAll();
  for (const auto& rollout : rollouts_) rollout->worker.Block();
  const JobId job = SubmitAt(0);
  Await(job, [](const JobView& view) { return view.version == 0; });
  coordinator_.reset();
  for (const auto& rollout : rollouts_) rollout->worker.Unblock();
  Start();
  for (size_t i = 0; i < rollouts_.size(); ++i) RegisterRollout(static_cast<int>(i));
  RegisterReward();
  RegisterOtherLearner();
  const JobId other = SubmitAt(0);
  AwaitSuccess(other);
  EXPECT_EQ(coordinator_->Get(other)->learner, "learner-1");
  AwaitWaiting(job, "learner learner-0 to register");
  RegisterLearner();
  EXPECT_EQ(AwaitSuccess(job).learner, "learner-0");
}

TEST_F(SharingTest, QuotasAndPrioritiesShareTheWorkers) {
  BlockSteps();
  Start();
  RegisterAll();
  RegisterOtherLearner();
  const JobId a = SubmitAt(0, 3);
  AwaitWorkers(a, 4);
  const JobId b = SubmitAt(1);
  AwaitWorkers(a, 3);
  AwaitWorkers(b, 1);
  ASSERT_TRUE(coordinator_->Cancel(a).ok());
  AwaitWorkers(b, 4);
  const JobId c = SubmitAt(2, 0, 1);
  AwaitWorkers(c, 1);
  AwaitWorkers(b, 3);
  UnblockSteps();
  AwaitSuccess(b);
  AwaitSuccess(c);
  ExpectSoundStore({a, b, c});
}

TEST_F(SharingTest, APausedJobLendsItsWorkers) {
  BlockSteps();
  Start();
  RegisterAll();
  RegisterOtherLearner();
  const JobId a = SubmitAt(0), b = SubmitAt(0);
  AwaitWorkers(a, 2);
  ASSERT_TRUE(coordinator_->Pause(a).ok());
  AwaitWorkers(b, 4);
  ASSERT_TRUE(coordinator_->Resume(a).ok());
  AwaitWorkers(a, 2);
  UnblockSteps();
  AwaitSuccess(a);
  AwaitSuccess(b);
}

TEST_F(SharingTest, AWorkerThatDiesIsMissedByItsJobAlone) {
  BlockSteps();
  Start();
  RegisterAll();
  RegisterOtherLearner();
  const JobId a = SubmitAt(0), b = SubmitAt(0);
  AwaitWorkers(a, 2);
  AwaitWorkers(b, 2);
  std::string lost;
  for (const WorkerView& worker : coordinator_->Workers()) {
    if (worker.role == "rollout" && worker.job == a) lost = worker.name;
  }
  const int index = lost.back() - '0';
  auto lease =
      coordinator_->RegisterWorker(lost, WorkerRole::kRollout, absl::StrCat("host:", index), "again");
  ASSERT_TRUE(lease.ok());
  ASSERT_TRUE(coordinator_->LeaveFleet(lost, lease->epoch).ok());
  AwaitWorkers(a, 1);
  EXPECT_EQ(coordinator_->Get(b)->rollout_workers, 2) << "nobody moves for one worker";
  RegisterRollout(index);
  AwaitWorkers(a, 2);
  UnblockSteps();
  AwaitSuccess(a);
  AwaitSuccess(b);
  ExpectSoundStore({a, b});
}

TEST_F(SharingTest, ARestartWhileTwoJobsRunLosesNothing) {
  Start();
  RegisterAll();
  RegisterOtherLearner();
  const JobId a = SubmitAt(0), b = SubmitAt(1);
  AwaitStep(a, 1);
  AwaitStep(b, 1);
  Restart();
  RegisterAll();
  RegisterOtherLearner();
  AwaitSuccess(a);
  AwaitSuccess(b);
  ExpectSoundStore({a, b});
}

TEST_F(SharingTest, ARestartInAPreemptionLosesNothing) {
  Start();
  RegisterAll();
  const auto [low, high] = PreemptAndHold();
  AwaitWaiting(low, "its turn: pre-empted by " + high + " (priority 5)");
  Restart();
  for (const auto& rollout : rollouts_) rollout->worker.Unblock();
  RegisterAll();
  AwaitSuccess(high);
  AwaitSuccess(low);
  ExpectSoundStore({low, high});
}

// Reading the prompts of "large" for its run takes as long as the test wants.
class ReadingTest : public SharingTest {
 protected:
  ReadingTest() {
    adjust_ = [this](CoordinatorOptions& options) {
      options.encoder = [this](const JobSpec& spec) {
        const bool checks = spec.name != "large" || readings_++ == 0;  // the first is that of its submission
        if (!checks) read_.WaitForNotification();
        return MakeBytesEncoder(spec);
      };
    };
  }
  JobId SubmitLarge() {
    spec_.name = "large";
    return Submit();
  }
  std::atomic<int> readings_{0};
  absl::Notification read_;
};

TEST_F(ReadingTest, OthersGoOnMeanwhile) {
  Start();
  RegisterAll();
  RegisterOtherLearner();
  const JobId first = Submit(), large = SubmitLarge();
  AwaitWaiting(large, "its prompts to be read");
  AwaitSuccess(first);
  read_.Notify();
  AwaitSuccess(large);
  ExpectSoundStore({first, large});
}

TEST_F(ReadingTest, AJobThatIsCancelledMeanwhileDoesNotRun) {
  Start();
  RegisterAll();
  const JobId large = SubmitLarge();
  AwaitWaiting(large, "its prompts to be read");
  EXPECT_TRUE(coordinator_->Cancel(large).ok());
  read_.Notify();
  AwaitSuccess(Submit());  // whose reading comes after
  EXPECT_EQ(coordinator_->Get(large)->state, JobState::kCancelled);
  EXPECT_EQ(coordinator_->Get(large)->ledger.issued, 0);
}

// A job that is the same whatever happens, while others come, take its workers and its learner, and go.
TEST_F(SharingTest, ADeterministicJobComesOutTheSame) {
  spec_.deterministic = true;
  spec_.staleness.on_deadline = OnDeadline::kWait;
  spec_.stop_steps = 8;
  Start();
  RegisterAll();
  AwaitSuccess(SubmitAt(0));
  const auto alone = trainer_->manifests();
  ASSERT_EQ(alone.size(), 9u);
  const JobId job = SubmitAt(0);
  RegisterOtherLearner();
  const JobId beside = SubmitAt(0);
  AwaitStep(job, 2);
  const JobId urgent = SubmitAt(5), more = SubmitAt(3);
  for (const JobId& each : {beside, urgent, more, job}) AwaitSuccess(each);
  for (const JobId& each : {beside, urgent, more, job}) EXPECT_EQ(ManifestsOf(each), alone) << each;
}

}  // namespace
}  // namespace sluice
