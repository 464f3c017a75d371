#include "reward/remote_batch_scorer.h"

#include <cmath>
#include <deque>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "core/base/retry.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/registry.h"
#include "reward/composite_scorer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// Answers as scripted; then each item gets its verdict by Verdict().
class ScriptedService final : public Scorer {
 public:
  using Scorer::Score;
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline, const CancelToken& cancel) override {
    absl::MutexLock lock(&mu_);
    sizes.push_back(items.size());
    asked = spec;
    limit = deadline - absl::Now();
    if (!failures.empty()) {
      const absl::Status failure = failures.front();
      failures.pop_front();
      return failure;
    }
    std::vector<Verdict> out(items.size() - missing, answer);
    return out;
  }

  absl::Mutex mu_;
  std::deque<absl::Status> failures;
  std::vector<size_t> sizes;
  RewardSpec asked;
  absl::Duration limit;
  size_t missing = 0;
  Verdict answer = [] {
    Verdict v;
    v.kind = VerdictKind::kGraded;
    v.value = 0.75;
    v.components = {
        {"rm", VerdictKind::kGraded, 0.75, 1, "fine", "", {}, {{2, 0.5}, {4, 1}}, {"version=v7"}}};
    return v;
  }();
};

class RemoteBatchScorerTest : public testing::Test {
 protected:
  std::vector<ItemJudgement> Judge(size_t count = 2, const JudgeLimits& limits = {}) {
    std::vector<ScoreItem> items(count);
    std::vector<const ScoreItem*> pointers;
    for (ScoreItem& item : items) {
      item.completion = "1234";
      pointers.push_back(&item);
    }
    return RemoteBatchScorer(service_, spec_, {absl::Milliseconds(1), absl::Milliseconds(2)})
        .Judge(pointers, limits);
  }
  void ExpectRefused(const char* words) {
    for (const ItemJudgement& judged : Judge()) {
      EXPECT_EQ(judged.kind, VerdictKind::kInfrastructure);
      EXPECT_EQ(judged.value, 0);
      EXPECT_THAT(judged.detail, HasSubstr(words));
    }
  }

  std::shared_ptr<ScriptedService> service_ = std::make_shared<ScriptedService>();
  RemoteScorerSpec spec_{"judge", {{"rubric", "strict"}}, 5, 3, 64, ""};
};

TEST_F(RemoteBatchScorerTest, HandsParametersOnAndKeepsStepsAndStamps) {
  const auto judged = Judge();
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_EQ(judged[1].kind, VerdictKind::kGraded);
  EXPECT_EQ(judged[1].value, 0.75);
  EXPECT_EQ(judged[1].detail, "fine");
  EXPECT_EQ(judged[1].steps, (std::vector<StepScore>{{2, 0.5}, {4, 1}}));
  EXPECT_EQ(judged[1].stamps, std::vector<std::string>{"version=v7"});
  const auto& asked = std::get<RemoteScorerSpec>(service_->asked.components.at(0).scorer);
  EXPECT_EQ(asked.parameters.at("rubric"), "strict");
  EXPECT_LE(service_->limit, absl::Seconds(5));
}

TEST_F(RemoteBatchScorerTest, TriesAgainWhereThatMayHelp) {
  service_->failures = {absl::UnavailableError("away"), absl::ResourceExhaustedError("full")};
  EXPECT_EQ(Judge()[0].value, 0.75);
  EXPECT_EQ(service_->sizes.size(), 3u);
  service_->failures = {absl::DeadlineExceededError("1"), absl::DeadlineExceededError("2"),
                        absl::DeadlineExceededError("late")};
  ExpectRefused("judge: DEADLINE_EXCEEDED: late");
}

TEST_F(RemoteBatchScorerTest, WaitsAsLongAsAFullServiceAsks) {
  absl::Status full = absl::ResourceExhaustedError("full");
  SetRetryAfter(absl::Milliseconds(40), full);
  service_->failures = {full};
  const absl::Time begin = absl::Now();
  EXPECT_EQ(Judge()[0].value, 0.75);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(40));
  SetRetryAfter(absl::InfiniteDuration(), full);
  service_->sizes.clear();
  service_->failures = {full};
  ExpectRefused("full");
  EXPECT_EQ(service_->sizes.size(), 1u);
}

TEST_F(RemoteBatchScorerTest, DoesNotTryAgainWhereThatCannotHelp) {
  for (const absl::Status& failure : {absl::InvalidArgumentError("no"), absl::InternalError("no")}) {
    service_->sizes.clear();
    service_->failures = {failure};
    ExpectRefused("no");
    EXPECT_EQ(service_->sizes.size(), 1u);
  }
}

TEST_F(RemoteBatchScorerTest, EndsWithItsLimits) {
  service_->failures = std::deque<absl::Status>(20, absl::UnavailableError("away"));
  spec_.max_attempts = 20;
  JudgeLimits limits;
  limits.deadline = absl::Now();
  EXPECT_EQ(Judge(1, limits)[0].outcome, "unavailable");
  EXPECT_EQ(service_->sizes.size(), 1u);
  limits = {};
  limits.cancel.Cancel();
  EXPECT_EQ(Judge(1, limits)[0].kind, VerdictKind::kInfrastructure);
  EXPECT_EQ(service_->sizes.size(), 2u);
}

TEST_F(RemoteBatchScorerTest, MalformedAnswersAreFailures) {
  service_->missing = 1;
  ExpectRefused("1 verdicts for 2 items");
  service_->missing = 0;
  const Verdict good = service_->answer;
  service_->answer.value = std::nan("");
  ExpectRefused("the value is nan");
  service_->answer.value = 1e7;
  ExpectRefused("the value is 1e+07");
  service_->answer = good;
  service_->answer.kind = VerdictKind::kUnspecified;
  ExpectRefused("without a kind");
  service_->answer = good;
  service_->answer.components[0].steps = {{3, 0}, {2, 0}};
  ExpectRefused("steps");
  service_->answer.components[0].steps = {{5, 0}};
  ExpectRefused("steps");
  service_->answer.components[0].steps = {{1, std::nan("")}};
  ExpectRefused("steps");
}

TEST_F(RemoteBatchScorerTest, ChecksTheVersion) {
  spec_.expect_version = "v7";
  EXPECT_EQ(Judge()[0].kind, VerdictKind::kGraded);
  spec_.expect_version = "v8";
  ExpectRefused("is version \"v7\", not \"v8\"");
  service_->answer.components[0].stamps.clear();
  ExpectRefused("is version \"\", not \"v8\"");
}

TEST_F(RemoteBatchScorerTest, IsBatchedBesideOtherComponents) {
  prometheus::Registry metrics;
  ScorerRegistry registry = ScorerRegistry::Builtin();
  ASSERT_TRUE(registry.RegisterBatch("remote", RemoteScorerFactory({{"judge", service_}})).ok());
  CompositeScorer scorer(std::move(registry), {.lanes = {{"remote:judge", {.threads = 1}}}}, metrics);
  spec_.max_batch = 4;
  const RewardSpec spec = {{{"form", 1, RegexScorerSpec{"^a"}}, {"rm", 0.5, spec_}}};
  std::vector<ScoreItem> items(9);
  for (size_t i = 0; i < items.size(); ++i) items[i].completion = i % 2 == 0 ? "abcd" : "bcda";
  const auto verdicts = scorer.Score(spec, items, absl::Now() + absl::Seconds(60));
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ(service_->sizes, (std::vector<size_t>{4, 4, 1}));
  EXPECT_DOUBLE_EQ((*verdicts)[0].value, 1.375);
  EXPECT_DOUBLE_EQ((*verdicts)[1].value, 0.375);
  EXPECT_EQ((*verdicts)[8].components[1].steps.size(), 2u);
  spec_.service = "absent";
  const absl::Status unknown =
      scorer.Score({{{"rm", 1, spec_}}}, items, absl::Now() + absl::Seconds(60)).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("--scorer absent=HOST:PORT. It knows: judge"));
}

}  // namespace
}  // namespace sluice
