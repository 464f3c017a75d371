#include "services/remote/remote_scorer.h"

#include "absl/time/clock.h"
#include "core/base/retry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/adapters/reward_adapter.h"
#include "services/remote/testing_server.h"
#include "services/wire/grpc_status.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

// Right when the completion is the field "answer"; the failure of the checker when there is none.
class EqualityScorer final : public Scorer {
 public:
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time, const CancelToken& cancel) override {
    if (spec.components[0].name == "unknown")
      return absl::InvalidArgumentError("reward.component[0]: unknown");
    if (absl::Status full = absl::ResourceExhaustedError("full"); spec.components[0].name == "full") {
      SetRetryAfter(absl::Milliseconds(250), full);
      return full;
    }
    if (spec.components[0].name == "short") return std::vector<Verdict>();
    std::vector<Verdict> out;
    for (const ScoreItem& item : items) {
      Verdict verdict;
      const auto answer = item.fields.find("answer");
      verdict.kind = answer == item.fields.end()         ? VerdictKind::kInfrastructure
                     : answer->second == item.completion ? VerdictKind::kCorrect
                                                         : VerdictKind::kWrong;
      verdict.value = verdict.kind == VerdictKind::kCorrect ? 1 : 0;
      verdict.detail = item.prompt;
      out.push_back(verdict);
    }
    return out;
  }
};

class RemoteScorerTest : public ::testing::Test {
 protected:
  static RewardSpec Spec(const std::string& name) { return {{{name, 1, MathScorerSpec{}}}}; }
  EqualityScorer scorer_;
  Executor executor_;
  RewardAdapter adapter_{scorer_, executor_};
  TestingServer server_{adapter_};
  RemoteScorer remote_{server_.peer()};
};

TEST_F(RemoteScorerTest, TellsWhenAFullServiceIsToBeAskedAgain) {
  const absl::Status full = remote_.Score(Spec("full"), {}, Soon()).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryAfter(full), absl::Milliseconds(250));
  EXPECT_FALSE(RetryAfter(remote_.Score(Spec("unknown"), {}, Soon()).status()).has_value());
}

TEST(Pushback, IsReadAsGrpcReadsIt) {
  EXPECT_EQ(ReadPushback(PushbackOf(absl::Milliseconds(250))), absl::Milliseconds(250));
  EXPECT_EQ(ReadPushback(PushbackOf(absl::InfiniteDuration())), absl::InfiniteDuration());
  EXPECT_EQ(ReadPushback("-5"), absl::InfiniteDuration());
  EXPECT_EQ(ReadPushback("soon"), absl::InfiniteDuration());
  EXPECT_EQ(ReadPushback("99999999999"), absl::Hours(1));
}

TEST_F(RemoteScorerTest, GivesOneVerdictForEachItemInOrder) {
  const std::vector<ScoreItem> items = {
      {"p0", "4", {{"answer", "4"}}}, {"p1", "5", {{"answer", "4"}}}, {"p2", "5", {}}};
  const auto verdicts = remote_.Score(Spec("answer"), items, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), 3u);
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[0].value, 1);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kWrong);
  EXPECT_EQ((*verdicts)[2].kind, VerdictKind::kInfrastructure);
  EXPECT_FALSE((*verdicts)[2].HasReward());
  EXPECT_EQ((*verdicts)[1].detail, "p1");
}

TEST_F(RemoteScorerTest, ScoresNothingAsNothing) {
  const auto verdicts = remote_.Score(Spec("answer"), {}, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_TRUE(verdicts->empty());
}

TEST_F(RemoteScorerTest, KeepsTheScorersErrorAndNamesThePeer) {
  EXPECT_EQ(remote_.Score(Spec("unknown"), {}, Soon()).status(),
            absl::InvalidArgumentError("in-process: reward.component[0]: unknown"));
}

TEST_F(RemoteScorerTest, CatchesAPeerThatLeavesVerdictsOut) {
  const std::vector<ScoreItem> items(2);
  const absl::Status status = remote_.Score(Spec("short"), items, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("0 verdicts for 2 items"));
}

TEST_F(RemoteScorerTest, EndsAtItsDeadline) {
  EXPECT_EQ(remote_.Score(Spec("answer"), {}, absl::Now() - absl::Seconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(RemoteScorerTest, IsRefusedWithTheFieldNamedWhenTheSpecIsWrong) {
  const absl::Status status = remote_.Score(RewardSpec(), {}, Soon()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("reward.component:"));
}

TEST_F(RemoteScorerTest, IsRefusedWithTooManyItems) {
  const std::vector<ScoreItem> items(4097);
  EXPECT_EQ(remote_.Score(Spec("answer"), items, Soon()).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RemoteScorerTest, IsRefusedWhenTheMessageIsOverTheLimit) {
  const std::vector<ScoreItem> items(9, {"", std::string(8 << 20, 'x'), {}});
  EXPECT_EQ(remote_.Score(Spec("answer"), items, Soon()).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace sluice
