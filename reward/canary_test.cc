#include "reward/canary.h"

#include <set>

#include "absl/synchronization/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"
#include "reward/composite_scorer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// Says of each canary what the test wants; counts.
class CanaryTest : public testing::Test {
 protected:
  CanaryProbe::Judge Answers() {
    return [this](const RewardSpec& spec, absl::Span<const ScoreItem> items, absl::Time,
                  const CancelToken&) -> absl::StatusOr<std::vector<Verdict>> {
      absl::MutexLock lock(&mu_);
      asked_.push_back(items[0].completion);
      if (!failure_.ok()) return failure_;
      Verdict verdict;
      verdict.kind = fooled_ == items[0].completion ? VerdictKind::kCorrect : VerdictKind::kWrong;
      return std::vector<Verdict>{verdict};
    };
  }
  static Canary Wrong(const std::string& name, const ScorerSpec& scorer) {
    Canary out{name, scorer, {}, VerdictKind::kWrong};
    out.item.completion = name;
    return out;
  }
  std::string Metrics() { return prometheus::TextSerializer().Serialize(metrics_.Collect()); }
  void AwaitAsked(size_t count) {
    absl::MutexLock lock(&mu_);
    const auto enough = [&] { return asked_.size() >= count; };
    mu_.Await(absl::Condition(&enough));
  }

  const std::vector<Canary> canaries_ = {Wrong("m1", MathScorerSpec{}), Wrong("m2", MathScorerSpec{}),
                                         Wrong("p1", CodeScorerSpec{}), Wrong("p2", CodeScorerSpec{})};
  prometheus::Registry metrics_;
  absl::Mutex mu_;
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mu_);
  std::string fooled_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

TEST_F(CanaryTest, SaysWhenAVerdictChangesAndWhenItIsRightAgain) {
  CanaryProbe probe(canaries_, {.every_items = 0}, Answers(), metrics_);
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_total{result=\"fail\"} 0"));
  probe.Run();
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_total{result=\"pass\"} 4"));
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_last_failure_seconds 0"));
  testing::internal::CaptureStderr();
  {
    absl::MutexLock lock(&mu_);
    fooled_ = "m2";
  }
  probe.Run();
  probe.Run();
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_total{result=\"fail\"} 2"));
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_failing 1"));
  EXPECT_THAT(Metrics(), testing::Not(HasSubstr("sluice_reward_canary_last_failure_seconds 0\n")));
  {
    absl::MutexLock lock(&mu_);
    fooled_ = "";
  }
  probe.Run();
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_failing 0"));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("canary_changed canary=m2 expected=wrong before=wrong now=correct"));
  EXPECT_THAT(log, HasSubstr("canary_changed canary=m2 expected=wrong before=correct now=wrong"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2);
}

TEST_F(CanaryTest, CheckerThatCannotBeAskedIsNotAFailedCanary) {
  CanaryProbe probe(canaries_, {.every_items = 0}, Answers(), metrics_);
  {
    absl::MutexLock lock(&mu_);
    failure_ = absl::UnavailableError("down");
  }
  probe.Run();
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_total{result=\"unavailable\"} 4"));
  EXPECT_THAT(Metrics(), HasSubstr("sluice_reward_canary_failing 0"));
}

TEST_F(CanaryTest, RunsAtTheStartAndEverySoManyItems) {
  CanaryProbe probe(canaries_, {.every_items = 3}, Answers(), metrics_);
  AwaitAsked(4);
  for (size_t run = 1; run <= 2; ++run) {
    // Items that come while a run ends may not count: until the next one has begun.
    while (true) {
      probe.CountItem();
      absl::MutexLock lock(&mu_);
      if (asked_.size() >= 4 + 3 * run) break;
    }
  }
  absl::MutexLock lock(&mu_);
  EXPECT_EQ((std::vector<std::string>(asked_.begin(), asked_.begin() + 10)),
            (std::vector<std::string>{"m1", "m2", "p1", "p2", "m1", "m2", "p1", "m1", "m2", "p2"}));
}

TEST(Canaries, OfMathematicsHaveTheirVerdicts) {
  prometheus::Registry metrics;
  CompositeScorer scorer(ScorerRegistry::Builtin(), {}, metrics);
  std::set<std::string> names;
  for (const Canary& canary : MathCanaries()) {
    const auto verdicts =
        scorer.Score({{{"c", 1, canary.scorer}}}, {canary.item}, absl::Now() + absl::Seconds(60));
    ASSERT_TRUE(verdicts.ok()) << verdicts.status();
    EXPECT_EQ((*verdicts)[0].kind, canary.expected) << canary.name << ": " << (*verdicts)[0].detail;
    EXPECT_TRUE(names.insert(canary.name).second) << canary.name;
  }
}

}  // namespace
}  // namespace sluice
