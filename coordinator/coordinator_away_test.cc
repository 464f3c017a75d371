// Reward services that are away for a while: no fault of the samples, with fake workers.
#include <atomic>
#include <string>

#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::HasSubstr;

class CoordinatorAwayTest : public CoordinatorTest {
 protected:
  // It says who is away, and goes on by itself with nothing lost.
  void ExpectGoesOn(const JobId& job, const std::string& why) {
    const JobView waits = Await(
        job, [](const JobView& view) { return Says(view, "does not judge") || IsTerminal(view.state); });
    EXPECT_TRUE(Says(waits, absl::StrCat("reward-0 does not judge: ", why)));
    EXPECT_THAT(waits.waiting_for, HasSubstr("verdicts: reward-0"));
    back_ = true;
    const JobView end = AwaitEnd(job);
    EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
    EXPECT_TRUE(Says(end, "the reward is judged again"));
    EXPECT_TRUE(coordinator_->ListQuarantine(job, 0)->empty());
    EXPECT_EQ(end.ledger[LedgerColumn::kQuarantined], 0);
    ExpectSound(end);
  }
  std::atomic<bool> back_{false};
};

TEST_F(CoordinatorAwayTest, AServiceThatDoesNotAnswerIsWaitedFor) {
  for (int i = 0; i < 2; ++i) {
    scorer_->FailScore(absl::UnavailableError("it is away"));
    scorer_->FailScore(absl::ResourceExhaustedError("it is away"));
    scorer_->FailScore(absl::DeadlineExceededError("it is away"));
  }
  Start();
  RegisterAll();
  ExpectGoesOn(Submit(), "it is away");
}

TEST_F(CoordinatorAwayTest, AServiceBehindTheRewardWorkerIsWaitedFor) {
  scorer_ = std::make_shared<FakeScorer>([this](const ScoreItem& item) {
    if (back_) return FakeScorer::JudgeByHash(item);
    Verdict verdict = FakeScorer::Infrastructure();
    verdict.detail = "taste: UNAVAILABLE";
    verdict.components = {{"taste", VerdictKind::kInfrastructure, 0, 1, verdict.detail, "unavailable"}};
    return verdict;
  });
  Start();
  RegisterAll();
  ExpectGoesOn(Submit(), "taste: UNAVAILABLE");
}

TEST_F(CoordinatorAwayTest, AScorerThatIsMissingIsWaitedFor) {
  for (int i = 0; i < 6; ++i)
    scorer_->FailScore(absl::FailedPreconditionError("knows no \"taste\"; start it with --scorer"));
  Start();
  RegisterAll();
  ExpectGoesOn(Submit(), "knows no \"taste\"; start it with --scorer");
}

}  // namespace
}  // namespace sluice
