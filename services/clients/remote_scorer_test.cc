#include "services/clients/remote_scorer.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/base/retry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/rpc/grpc_status.h"
#include "services/rpc/testing_server.h"
#include "services/servers/reward_adapter.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

// Right when the completion is the field "answer"; the failure of the checker when there is none.
class EqualityScorer final : public Scorer {
 public:
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time, const CancelToken& cancel) override {
    {
      absl::MutexLock lock(&mu_);
      calls_.push_back(items.size());
      if (full_after && static_cast<int>(calls_.size()) > *full_after)
        return absl::ResourceExhaustedError("full");
    }
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
      verdict.detail = detail_bytes > 0 ? std::string(detail_bytes, 'd') : item.prompt;
      if (detail_bytes > 0) {  // whose detail alone would be cut
        for (int i = 0; i < 10; ++i) verdict.components.push_back({"c", verdict.kind, 0, 1, verdict.detail});
      }
      out.push_back(verdict);
    }
    return out;
  }
  std::vector<size_t> calls() const {  // their items
    absl::MutexLock lock(&mu_);
    return calls_;
  }
  size_t detail_bytes = 0;
  std::optional<int> full_after;  // calls

 private:
  mutable absl::Mutex mu_;
  std::vector<size_t> calls_ ABSL_GUARDED_BY(mu_);
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

std::vector<ScoreItem> ItemsOf(size_t count, size_t bytes) {
  std::vector<ScoreItem> items;
  for (size_t i = 0; i < count; ++i)
    items.push_back(
        {absl::StrCat(i), std::string(bytes, 'x'), {{"answer", i % 2 ? "4" : std::string(bytes, 'x')}}});
  return items;
}

void ExpectJudgedInOrder(const absl::StatusOr<std::vector<Verdict>>& verdicts, size_t count) {
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), count);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ((*verdicts)[i].detail, absl::StrCat(i));
    EXPECT_EQ((*verdicts)[i].kind, i % 2 ? VerdictKind::kWrong : VerdictKind::kCorrect) << i;
  }
}

TEST_F(RemoteScorerTest, AsksInMessagesThatAreBoundedInItemsAndBytes) {
  ExpectJudgedInOrder(remote_.Score(Spec("answer"), ItemsOf(4097, 4), Soon()), 4097);
  EXPECT_EQ(scorer_.calls(), (std::vector<size_t>{4096, 1}));
  // Far above what one message may have.
  ExpectJudgedInOrder(remote_.Score(Spec("answer"), ItemsOf(48, 1 << 20), Soon()), 48);
  EXPECT_GE(scorer_.calls().size(), 2u + 24u);
  for (size_t i = 2; i < scorer_.calls().size(); ++i) EXPECT_LE(scorer_.calls()[i], 2u);
}

TEST_F(RemoteScorerTest, LeavesAnItemUndecidedThatNoMessageCanCarry) {
  std::vector<ScoreItem> items = ItemsOf(3, 8);
  items[1].completion.assign(65 << 20, 'x');
  const auto verdicts = remote_.Score(Spec("answer"), items, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kUndecided);
  EXPECT_THAT((*verdicts)[1].detail, HasSubstr("larger than max"));
  EXPECT_EQ((*verdicts)[2].detail, "2");
}

TEST_F(RemoteScorerTest, AsksForLessWhereTheAnswerIsTooLarge) {
  scorer_.detail_bytes = 60 << 10;  // 2000 of them are more than a message
  const auto verdicts = remote_.Score(Spec("answer"), ItemsOf(2000, 4), Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ(verdicts->size(), 2000u);
  EXPECT_GE(scorer_.calls().size(), 3u);
}

TEST_F(RemoteScorerTest, KeepsWhatWasJudgedBeforeTheServiceWasFull) {
  scorer_.full_after = 2;
  const auto verdicts = remote_.Score(Spec("answer"), ItemsOf(10, 1 << 20), Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), 10u);
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  for (size_t i = 4; i < 10; ++i) {
    EXPECT_EQ((*verdicts)[i].kind, VerdictKind::kInfrastructure) << i;
    ASSERT_EQ((*verdicts)[i].components.size(), 1u);
    EXPECT_EQ((*verdicts)[i].components[0].outcome, "unavailable");
  }
  // Of a service that is full from the first item on there is only that to say.
  scorer_.full_after = 0;
  EXPECT_EQ(remote_.Score(Spec("answer"), ItemsOf(2, 4), Soon()).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace sluice
