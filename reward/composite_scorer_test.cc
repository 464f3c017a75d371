#include "reward/composite_scorer.h"

#include <stdexcept>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// Says what the completion asks for.
class ObedientScorer final : public ItemScorer {
 public:
  ItemJudgement Judge(const ScoreItem& item) const override {
    if (item.completion == "throw") throw std::runtime_error("broken");
    if (item.completion == "throw int") throw 7;
    if (item.completion == "nan") return {VerdictKind::kGraded, std::nan(""), ""};
    if (item.completion == "infrastructure") return {VerdictKind::kInfrastructure, 0, "down"};
    if (item.completion == "undecided") return Undecided("?");
    return Correct("ok");
  }
};

class CompositeScorerTest : public testing::Test {
 protected:
  static ScorerRegistry WithObedientMath() {
    ScorerRegistry registry;
    EXPECT_TRUE(registry
                    .Register("math",
                              [](const ScorerSpec&) -> absl::StatusOr<std::unique_ptr<ItemScorer>> {
                                return std::make_unique<ObedientScorer>();
                              })
                    .ok());
    return registry;
  }
  static ScoreItem Item(std::string completion, std::string answer = "72") {
    ScoreItem item;
    item.completion = std::move(completion);
    item.fields["answer"] = std::move(answer);
    return item;
  }
  static ScoreItem WithoutAnswer(std::string completion) {
    ScoreItem item;
    item.completion = std::move(completion);
    return item;
  }
  static RewardSpec Spec(std::vector<RewardComponentSpec> components) { return {std::move(components)}; }

  static absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

  prometheus::Registry metrics_;
  CompositeScorer scorer_{ScorerRegistry::Builtin(),
                          {.compute = {.threads = 2}, .max_call_items = 8, .max_completion_bytes = 1000},
                          metrics_};
};

TEST_F(CompositeScorerTest, ValueIsTheWeightedSumAndComponentsStayApart) {
  RewardSpec spec = Spec({{"answer", 1, MathScorerSpec{}}, {"form", 0.1, RegexScorerSpec{"<a>.*</a>"}}});
  auto verdicts = scorer_.Score(
      spec, {Item("<a>\\boxed{72}</a>"), Item("\\boxed{72}"), Item("<a>\\boxed{7}</a>"), Item("\\boxed{7}")},
      absl::InfiniteFuture());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  ASSERT_EQ(verdicts->size(), 4u);
  const double values[] = {1.1, 1.0, 0.1, 0};
  const VerdictKind kinds[] = {VerdictKind::kCorrect, VerdictKind::kGraded, VerdictKind::kGraded,
                               VerdictKind::kWrong};
  for (int i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ((*verdicts)[i].value, values[i]) << i;
    EXPECT_EQ((*verdicts)[i].kind, kinds[i]) << i;
    ASSERT_EQ((*verdicts)[i].components.size(), 2u);
    EXPECT_EQ((*verdicts)[i].components[0].name, "answer");
    EXPECT_EQ((*verdicts)[i].components[1].weight, 0.1);
  }
  EXPECT_EQ((*verdicts)[1].components[0].value, 1);
  EXPECT_EQ((*verdicts)[1].components[1].value, 0);
  EXPECT_THAT((*verdicts)[0].detail, HasSubstr("form: the pattern is found"));
}

TEST_F(CompositeScorerTest, UndecidedComponentMakesTheWholeUndecided) {
  RewardSpec spec = Spec({{"answer", 1, MathScorerSpec{}}, {"form", 1, RegexScorerSpec{"7"}}});
  auto verdicts = scorer_.Score(spec, {WithoutAnswer("72"), Item("72")}, absl::InfiniteFuture());
  ASSERT_TRUE(verdicts.ok());
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kUndecided);
  EXPECT_FALSE((*verdicts)[0].HasReward());
  EXPECT_EQ((*verdicts)[0].value, 0);
  EXPECT_EQ((*verdicts)[0].components[1].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kCorrect);
}

TEST_F(CompositeScorerTest, FailingItemDoesNotSpoilOthers) {
  CompositeScorer scorer(WithObedientMath(), {.compute = {.threads = 2}}, metrics_);
  auto verdicts = scorer.Score(Spec({{"m", 1, MathScorerSpec{}}}),
                               {Item("ok"), Item("throw"), Item("throw int"), Item("nan"),
                                Item("infrastructure"), Item("undecided"), Item("ok")},
                               absl::InfiniteFuture());
  ASSERT_TRUE(verdicts.ok());
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  for (int i = 1; i <= 4; ++i) EXPECT_EQ((*verdicts)[i].kind, VerdictKind::kInfrastructure) << i;
  EXPECT_THAT((*verdicts)[1].components[0].detail, HasSubstr("broken"));
  EXPECT_EQ((*verdicts)[5].kind, VerdictKind::kUndecided);
  EXPECT_EQ((*verdicts)[6].kind, VerdictKind::kCorrect);
}

TEST_F(CompositeScorerTest, BadSpecIsRefusedByNameOfTheComponent) {
  auto refuse = [&](RewardSpec spec, const char* words) {
    auto got = scorer_.Score(spec, {Item("72")}, absl::InfiniteFuture());
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(got.status().message()), HasSubstr(words));
  };
  refuse(Spec({}), "at least one");
  refuse(Spec({{"", 1, MathScorerSpec{}}}), "reward.component[0].name: must not be empty");
  refuse(Spec({{"a", 1, MathScorerSpec{}}, {"a", 1, MathScorerSpec{}}}),
         "reward.component[1].name: \"a\" is used twice");
  refuse(Spec({{"form", 1, RegexScorerSpec{"("}}}), "component \"form\": regex.pattern \"(\" at byte 1");
  refuse(Spec({{"short", 1, LengthScorerSpec{5, 5}}}), "reward.component[0].length.hard_limit");
  refuse(Spec({{"a", std::nan(""), MathScorerSpec{}}}), "reward.component[0].weight");
  refuse({std::vector<RewardComponentSpec>(65, {"a", 1, MathScorerSpec{}})}, "at most 64");
  CompositeScorer without_regex(WithObedientMath(), {}, metrics_);
  auto got = without_regex.Score(Spec({{"f", 1, RegexScorerSpec{"a"}}}), {Item("")}, absl::InfiniteFuture());
  EXPECT_THAT(std::string(got.status().message()), HasSubstr("no scorer \"regex\"; it has: math"));
}

TEST_F(CompositeScorerTest, NameIsRegisteredOnce) {
  ScorerRegistry registry = ScorerRegistry::Builtin();
  EXPECT_EQ(registry.Register("math", nullptr).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(CompositeScorerTest, CallsAreBounded) {
  std::vector<ScoreItem> items(9, Item("72"));
  RewardSpec spec = Spec({{"m", 1, MathScorerSpec{}}});
  EXPECT_EQ(scorer_.Score(spec, items, absl::InfiniteFuture()).status().code(),
            absl::StatusCode::kInvalidArgument);
  auto verdicts = scorer_.Score(spec, {Item(std::string(1001, '7')), Item("72")}, absl::InfiniteFuture());
  ASSERT_TRUE(verdicts.ok());
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kUndecided);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kCorrect);
  EXPECT_TRUE(scorer_.Score(spec, {}, absl::InfiniteFuture()).ok());
}

// Waits for the gate where the completion says so.
class GatedScorer final : public ItemScorer {
 public:
  GatedScorer(absl::Notification& begun, absl::Notification& gate) : begun_(begun), gate_(gate) {}
  ItemJudgement Judge(const ScoreItem& item) const override {
    if (item.completion == "begin") begun_.Notify();
    if (item.completion == "wait") gate_.WaitForNotification();
    return Correct("passed");
  }

 private:
  absl::Notification &begun_, &gate_;
};

class GatedScorerTest : public CompositeScorerTest {
 protected:
  // A gated "math", and "code" that only asks.
  ScorerRegistry Gated() {
    ScorerRegistry registry;
    const auto make = [this](const ScorerSpec&) -> absl::StatusOr<std::unique_ptr<ItemScorer>> {
      return std::make_unique<GatedScorer>(begun_, gate_);
    };
    EXPECT_TRUE(registry.Register("math", make).ok());
    EXPECT_TRUE(registry.Register("code", make).ok());
    return registry;
  }
  // Opens the gate when a test ends however it ends.
  ~GatedScorerTest() override {
    if (!gate_.HasBeenNotified()) gate_.Notify();
  }
  const RewardSpec math_ = {{{"m", 1, MathScorerSpec{}}}};
  const RewardSpec code_ = {{{"c", 1, CodeScorerSpec{}}}};
  absl::Notification begun_, gate_;
};

TEST_F(GatedScorerTest, DeadlineCutsOffWhatIsNotJudged) {
  CompositeScorer scorer(Gated(), {}, metrics_);
  auto verdicts = scorer.Score(math_, {Item("go"), Item("wait"), Item("go")}, absl::Now() + absl::Seconds(1));
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kInfrastructure);
  EXPECT_EQ((*verdicts)[2].kind, VerdictKind::kInfrastructure);  // behind it on the only thread
  EXPECT_EQ(scorer.Score(math_, {Item("wait")}, absl::Now()).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  gate_.Notify();
}

TEST_F(GatedScorerTest, HungItemIsGivenUpAloneAndItsThreadReplaced) {
  CompositeScorer scorer(Gated(), {.compute = {.threads = 1, .item_timeout = absl::Milliseconds(10)}},
                         metrics_);
  auto verdicts = scorer.Score(math_, {Item("wait"), Item("go"), Item("go")}, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kInfrastructure);
  EXPECT_THAT((*verdicts)[0].detail, HasSubstr("given up"));
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[2].kind, VerdictKind::kCorrect);
  gate_.Notify();
}

TEST_F(GatedScorerTest, CodeThatWaitsDoesNotHoldMathematicsUp) {
  CompositeScorer scorer(Gated(), {.lanes = {{"code", {.threads = 1}}}}, metrics_);
  std::thread code([&] { EXPECT_TRUE(scorer.Score(code_, {Item("wait"), Item("wait")}, Soon()).ok()); });
  const auto verdicts = scorer.Score(math_, {Item("go")}, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  gate_.Notify();
  code.join();
}

TEST_F(GatedScorerTest, CancellingEndsTheCall) {
  CompositeScorer scorer(Gated(), {}, metrics_);
  const CancelToken cancel;
  std::thread caller([&] {
    EXPECT_EQ(scorer.Score(math_, {Item("wait")}, Soon(), cancel).status().code(),
              absl::StatusCode::kCancelled);
  });
  cancel.Cancel();
  caller.join();
  gate_.Notify();
}

TEST_F(GatedScorerTest, CallsBeyondTheQueueAreRefusedAndPassLater) {
  CompositeScorer scorer(Gated(), {.max_items = 3}, metrics_);
  std::thread first([&] { EXPECT_TRUE(scorer.Score(math_, {Item("begin"), Item("wait")}, Soon()).ok()); });
  begun_.WaitForNotification();
  const absl::Status refused = scorer.Score(math_, {Item("go"), Item("go")}, Soon()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("try again"));
  gate_.Notify();
  first.join();
  EXPECT_TRUE(scorer.Score(math_, {Item("go"), Item("go")}, Soon()).ok());
  // A call larger than the queue is taken when it is alone.
  EXPECT_TRUE(scorer.Score(math_, std::vector<ScoreItem>(9, Item("go")), Soon()).ok());
}

TEST_F(CompositeScorerTest, GatesAndShownComponentsFollowTheSpec) {
  RewardSpec spec = Spec({{"form", 0, RegexScorerSpec{"^<a>"}, 1, -1}, {"answer", 1, MathScorerSpec{}}});
  const auto verdicts =
      scorer_.Score(spec, {Item("<a>\\boxed{72}"), Item("72"), WithoutAnswer("72")}, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].value, 1);
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[1].value, -1);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kGraded);
  EXPECT_EQ((*verdicts)[2].value, -1);  // whatever the others say
}

TEST_F(CompositeScorerTest, GroupTermsArePending) {
  RewardSpec spec = Spec({{"answer", 1, MathScorerSpec{}}, {"short", 1, GroupLengthScorerSpec{"answer"}}});
  const auto verdicts = scorer_.Score(spec, {Item("72")}, Soon());
  ASSERT_TRUE(verdicts.ok()) << verdicts.status();
  EXPECT_EQ((*verdicts)[0].value, 1);
  EXPECT_EQ((*verdicts)[0].components[1].name, "short");
  EXPECT_THAT((*verdicts)[0].components[1].detail, HasSubstr("when the group is complete"));
}

TEST_F(CompositeScorerTest, ObserverSeesEachVerdictAndNotThoseInTheBackground) {
  std::vector<VerdictKind> seen;
  CompositeScorerOptions options;
  options.observer = [&](const RewardSpec&, const ScoreItem&, const Verdict& v) { seen.push_back(v.kind); };
  CompositeScorer scorer(ScorerRegistry::Builtin(), options, metrics_);
  const RewardSpec spec = Spec({{"m", 1, MathScorerSpec{}}});
  ASSERT_TRUE(scorer.Score(spec, {Item("72"), Item("7")}, Soon()).ok());
  ASSERT_TRUE(scorer.ScoreInBackground(spec, {Item("72")}, Soon(), {}).ok());
  EXPECT_EQ(seen, (std::vector<VerdictKind>{VerdictKind::kCorrect, VerdictKind::kWrong}));
}

TEST_F(CompositeScorerTest, MetricsCountVerdicts) {
  auto text = [&] { return prometheus::TextSerializer().Serialize(metrics_.Collect()); };
  for (const char* kind : {"correct", "wrong", "graded", "undecided", "infrastructure"}) {
    EXPECT_THAT(text(), HasSubstr(std::string("sluice_reward_requests_total{verdict=\"") + kind + "\"} 0"));
  }
  RewardSpec spec = Spec({{"m", 1, MathScorerSpec{}}});
  ASSERT_TRUE(scorer_.Score(spec, {Item("72"), Item("7"), WithoutAnswer("72")}, absl::InfiniteFuture()).ok());
  EXPECT_THAT(text(), HasSubstr("sluice_reward_requests_total{verdict=\"correct\"} 1"));
  EXPECT_THAT(text(), HasSubstr("sluice_reward_requests_total{verdict=\"undecided\"} 1"));
  EXPECT_THAT(text(), HasSubstr("sluice_reward_duration_seconds_count 3"));
  EXPECT_THAT(text(),
              HasSubstr("sluice_reward_component_verdicts_total{scorer=\"math\",verdict=\"wrong\"} 1"));
  EXPECT_THAT(text(), HasSubstr("sluice_reward_component_value_count{scorer=\"math\"} 2"));
  EXPECT_THAT(text(), HasSubstr("sluice_reward_component_value_sum{scorer=\"math\"} 1"));
  EXPECT_THAT(text(), HasSubstr("sluice_sandbox_runs_total{outcome=\"time_limit\"} 0"));
  EXPECT_THAT(text(), HasSubstr("sluice_reward_queue_items{lane=\"compute\"} 0"));
}

}  // namespace
}  // namespace sluice
