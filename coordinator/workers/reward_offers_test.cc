#include "coordinator/workers/reward_offers.h"

#include <memory>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_scorer.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RegisteredWorker WorkerThat(const std::string& name, const absl::Status& answers) {
  RegisteredWorker worker;
  worker.name = name;
  worker.role = WorkerRole::kReward;
  worker.alive = true;
  auto scorer = std::make_shared<FakeScorer>();
  if (!answers.ok()) scorer->FailScore(answers, 1000);
  worker.reward = std::move(scorer);
  return worker;
}

class RewardOffersTest : public testing::Test {
 protected:
  RewardOffersTest() {
    reward_.components.push_back({"answer", 1, MathScorerSpec{}});
    RemoteScorerSpec remote;
    remote.service = "judge";
    reward_.components.push_back({"taste", 0.5, remote});
  }
  absl::StatusOr<std::vector<std::string>> Check(const std::vector<RegisteredWorker>& workers) {
    return CheckRewardOffers(reward_, workers, absl::Now() + absl::Seconds(5));
  }
  RewardSpec reward_;
  const absl::Status lacks_ = absl::InvalidArgumentError("this service knows no \"judge\"");
};

TEST_F(RewardOffersTest, RefusesAServiceThatNobodyOffers) {
  const auto checked = Check({WorkerThat("a", lacks_), WorkerThat("b", lacks_)});
  EXPECT_EQ(checked.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(checked.status().message()),
              HasSubstr("reward.component[1].remote.service: no reward worker that is registered offers "
                        "\"judge\": this service knows no \"judge\""));
}

TEST_F(RewardOffersTest, WarnsWhereNobodyCanSay) {
  const auto none = Check({});
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(*none, ElementsAre(HasSubstr("no reward worker is registered yet")));
  RegisteredWorker gone = WorkerThat("gone", lacks_);
  gone.alive = false;
  EXPECT_THAT(*Check({gone}), ElementsAre(HasSubstr("no reward worker is registered yet")));
  EXPECT_THAT(*Check({WorkerThat("a", absl::UnavailableError("away")), WorkerThat("b", lacks_)}),
              ElementsAre(HasSubstr("a does not answer")));
}

TEST_F(RewardOffersTest, SaysWhichWorkersLackWhatOthersOffer) {
  EXPECT_THAT(*Check({WorkerThat("a", absl::OkStatus())}), IsEmpty());
  EXPECT_THAT(*Check({WorkerThat("a", absl::OkStatus()), WorkerThat("b", lacks_)}),
              ElementsAre(HasSubstr("b lacks \"judge\"")));
}

TEST_F(RewardOffersTest, AsksOnlyForServicesOfOthers) {
  reward_.components.pop_back();
  EXPECT_THAT(*Check({}), IsEmpty());
  EXPECT_THAT(*Check({WorkerThat("a", lacks_)}), IsEmpty());
}

}  // namespace
}  // namespace sluice
