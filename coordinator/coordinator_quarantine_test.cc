// Prompts whose samples are given up on: seen by clients, not handed out again, released.
#include <map>
#include <set>
#include <string>

#include "absl/synchronization/mutex.h"
#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class QuarantineTest : public CoordinatorTest {
 protected:
  QuarantineTest() {
    spec_.stop_steps = 20;  // 80 draws of 30 prompts
    scorer_ = std::make_shared<FakeScorer>([this](const ScoreItem& item) {
      absl::MutexLock lock(&mu_);
      if (!all_ && item.prompt != "what is 3") return FakeScorer::JudgeByHash(item);
      ++refused_;
      return FakeScorer::Infrastructure();
    });
  }
  int Refused() {
    absl::MutexLock lock(&mu_);
    return refused_;
  }

  absl::Mutex mu_;
  bool all_ = false;  // no prompt can be judged
  int refused_ = 0;
};

TEST_F(QuarantineTest, PromptIsListedAndNotHandedOutAgain) {
  Start();
  RegisterAll();
  const JobId job = Submit();
  AwaitStep(job, 10);  // beyond the first pass
  const int refused = Refused();
  EXPECT_EQ(refused, 4 * spec_.timeout.max_attempts);
  RestartCoordinator();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(Refused(), refused);
  const auto samples = coordinator_->ListQuarantine(job, 0);
  ASSERT_TRUE(samples.ok()) << samples.status();
  ASSERT_EQ(samples->size(), 4u);
  std::set<Draw> draws;
  for (const QuarantineView& sample : *samples) {
    EXPECT_EQ(sample.prompt_row, 3);
    EXPECT_EQ(sample.prompt_uid, "line-4");
    EXPECT_THAT(sample.reason, HasSubstr("scripted failure"));
    EXPECT_EQ(sample.attempts, spec_.timeout.max_attempts);
    EXPECT_FALSE(sample.released);
    draws.insert(sample.sample.draw);
  }
  EXPECT_EQ(draws.size(), 1u);
  EXPECT_GE(end.ledger[LedgerColumn::kQuarantined], 8) << "the draws of later passes are settled at once";
  EXPECT_EQ(end.ledger[LedgerColumn::kQuarantined] % 4, 0);
  EXPECT_EQ(coordinator_->ReleaseQuarantine(job, {3}).status().code(), absl::StatusCode::kFailedPrecondition);
  ExpectSound(end);
}

TEST_F(QuarantineTest, ReleasedPromptIsHandedOutAgain) {
  Start();
  RegisterAll();
  const JobId job = Submit();
  AwaitStep(job, 8);
  ASSERT_TRUE(coordinator_->Pause(job).ok());
  const int refused = Refused();
  EXPECT_EQ(coordinator_->ReleaseQuarantine(job, {4}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(coordinator_->ReleaseQuarantine("none", {}).status().code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(*coordinator_->ReleaseQuarantine(job, {3}), 1);
  EXPECT_TRUE(coordinator_->ListQuarantine(job, 1)->at(0).released);
  EXPECT_EQ(coordinator_->ReleaseQuarantine(job, {3}).status().code(), absl::StatusCode::kNotFound);
  RestartCoordinator();
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  const JobView end = AwaitEnd(job);
  EXPECT_GT(Refused(), refused) << "given up on once more; twice where two passes meet";
  ExpectSound(end);
}

TEST_F(QuarantineTest, JobWithoutPromptsPausesUntilSomeAreReleased) {
  all_ = true;
  Start();
  RegisterAll();
  const JobId job = Submit();
  JobView view = Await(job, [](const JobView& v) { return v.state == JobState::kPaused; });
  EXPECT_THAT(view.error, HasSubstr("all quarantined"));
  EXPECT_THAT(view.error, HasSubstr("sluice quarantine"));
  EXPECT_GE(coordinator_->ListQuarantine(job, 0)->size(), 30u * 4u);
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  Await(job, [](const JobView& v) { return v.state == JobState::kPaused; });
  {
    absl::MutexLock lock(&mu_);
    all_ = false;
  }
  EXPECT_EQ(*coordinator_->ReleaseQuarantine(job, {}), 30);
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ExpectSound(end);
}

TEST_F(QuarantineTest, DeterministicJobGoesOnTrying) {
  spec_.deterministic = true;
  spec_.staleness.on_deadline = OnDeadline::kWait;
  scorer_ = std::make_shared<FakeScorer>();
  scorer_->FailItems(50);
  Start();
  RegisterAll();
  const JobId job = Submit();
  EXPECT_EQ(AwaitEnd(job).state, JobState::kSucceeded);
  EXPECT_TRUE(coordinator_->ListQuarantine(job, 0)->empty());
}

TEST_F(QuarantineTest, AttemptsTellWhoTriedWhat) {
  spec_.stop_steps = 2;
  scorer_ = std::make_shared<FakeScorer>();
  rollouts_[0]->worker.FailGenerate(absl::InternalError("broken"));
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  const auto attempts = coordinator_->ListAttempts(job, std::nullopt, 0);
  ASSERT_TRUE(attempts.ok()) << attempts.status();
  std::map<std::string, int> outcomes;
  Draw failed = 0;
  for (const AttemptView& attempt : *attempts) {
    ++outcomes[attempt.outcome];
    if (attempt.outcome == "failed") failed = attempt.draw;
    EXPECT_GE(attempt.ended, attempt.started);
    EXPECT_THAT(attempt.worker, HasSubstr("rollout-"));
    EXPECT_NE(attempt.epoch, 0u);
  }
  EXPECT_EQ(outcomes["failed"], 1);
  EXPECT_GE(outcomes["done"], 8);
  const auto of_draw = *coordinator_->ListAttempts(job, failed, 0);
  ASSERT_EQ(of_draw.size(), 2u);
  EXPECT_EQ(of_draw[0].number, 1u);
  EXPECT_EQ(of_draw[0].outcome, "done");
  EXPECT_GT(of_draw[0].tokens, 4 * 6 - 6) << "the first may have left part of one";
  EXPECT_EQ(of_draw[1].outcome, "failed");
  EXPECT_EQ(coordinator_->ListAttempts(job, std::nullopt, 1)->size(), 1u);
  EXPECT_EQ(coordinator_->ListAttempts(job, std::nullopt, -1).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(coordinator_->ListAttempts("none", std::nullopt, 0).status().code(), absl::StatusCode::kNotFound);
  ExpectSound(end);
}

}  // namespace
}  // namespace sluice
