#include "reward/composite_scorer.h"

#include <stdexcept>
#include <string>

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
  static RewardSpec Spec(std::vector<RewardComponentSpec> components) { return {std::move(components)}; }

  prometheus::Registry metrics_;
  SimulatedClock clock_;
  CompositeScorer scorer_{ScorerRegistry::Builtin(),
                          {.threads = 2, .max_items = 8, .max_completion_bytes = 1000},
                          metrics_,
                          clock_};
};

TEST_F(CompositeScorerTest, ValueIsTheWeightedSumAndComponentsStayApart) {
  RewardSpec spec = Spec({{"answer", 1, MathScorerSpec{}}, {"form", 0.1, RegexScorerSpec{"<a>.*</a>"}}});
  auto verdicts = scorer_.Score(spec, {Item("<a>72</a>"), Item("72"), Item("<a>7</a>"), Item("7")},
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
  EXPECT_THAT((*verdicts)[0].detail, HasSubstr("answer: \"72\" by last number is right: rational; form: "));
}

TEST_F(CompositeScorerTest, UndecidedComponentMakesTheWholeUndecided) {
  RewardSpec spec = Spec({{"answer", 1, MathScorerSpec{}}, {"form", 1, RegexScorerSpec{"7"}}});
  auto verdicts = scorer_.Score(spec, {Item("72", "unknown"), Item("72")}, absl::InfiniteFuture());
  ASSERT_TRUE(verdicts.ok());
  EXPECT_EQ((*verdicts)[0].kind, VerdictKind::kUndecided);
  EXPECT_FALSE((*verdicts)[0].HasReward());
  EXPECT_EQ((*verdicts)[0].value, 0);
  EXPECT_EQ((*verdicts)[0].components[1].kind, VerdictKind::kCorrect);
  EXPECT_EQ((*verdicts)[1].kind, VerdictKind::kCorrect);
}

TEST_F(CompositeScorerTest, KindsCombineByTheWrittenRule) {
  using K = VerdictKind;
  auto combine = [](std::vector<K> kinds) {
    std::vector<VerdictComponent> components;
    for (K k : kinds) components.push_back({"c", k, 0, 1, ""});
    return CombineKinds(components);
  };
  EXPECT_EQ(combine({K::kCorrect, K::kCorrect}), K::kCorrect);
  EXPECT_EQ(combine({K::kWrong, K::kWrong}), K::kWrong);
  EXPECT_EQ(combine({K::kCorrect, K::kWrong}), K::kGraded);
  EXPECT_EQ(combine({K::kGraded}), K::kGraded);
  EXPECT_EQ(combine({K::kUndecided, K::kCorrect}), K::kUndecided);
  EXPECT_EQ(combine({K::kUndecided, K::kInfrastructure}), K::kInfrastructure);
  EXPECT_EQ(combine({K::kUnspecified, K::kCorrect}), K::kInfrastructure);
  EXPECT_EQ(combine({}), K::kInfrastructure);
}

TEST_F(CompositeScorerTest, FailingItemDoesNotSpoilOthers) {
  CompositeScorer scorer(WithObedientMath(), {.threads = 2}, metrics_, clock_);
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
  refuse(Spec({{"", 1, MathScorerSpec{}}}), "a name is empty");
  refuse(Spec({{"a", 1, MathScorerSpec{}}, {"a", 1, MathScorerSpec{}}}), "\"a\": the name is used twice");
  refuse(Spec({{"form", 1, RegexScorerSpec{"("}}}), "component \"form\": regex.pattern \"(\" at byte 1");
  refuse(Spec({{"short", 1, LengthScorerSpec{5, 5}}}), "component \"short\": length.hard_limit");
  refuse(Spec({{"a", std::nan(""), MathScorerSpec{}}}), "weight is nan");
  refuse({std::vector<RewardComponentSpec>(65, {"a", 1, MathScorerSpec{}})}, "at most 64");
  CompositeScorer without_regex(WithObedientMath(), {}, metrics_, clock_);
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

// Moves the clock on while it judges.
class SlowScorer final : public ItemScorer {
 public:
  explicit SlowScorer(SimulatedClock& clock) : clock_(clock) {}
  ItemJudgement Judge(const ScoreItem&) const override {
    clock_.Advance(absl::Seconds(1));
    return Correct("late");
  }

 private:
  SimulatedClock& clock_;
};

TEST_F(CompositeScorerTest, DeadlineCutsOffTheItemsAfterIt) {
  ScorerRegistry registry;
  ASSERT_TRUE(registry
                  .Register("math",
                            [&](const ScorerSpec&) -> absl::StatusOr<std::unique_ptr<ItemScorer>> {
                              return std::make_unique<SlowScorer>(clock_);
                            })
                  .ok());
  CompositeScorer scorer(std::move(registry), {}, metrics_, clock_);
  RewardSpec spec = Spec({{"m", 1, MathScorerSpec{}}});
  std::vector<ScoreItem> items(3, Item("72"));
  auto verdicts = scorer.Score(spec, items, clock_.Now() + absl::Seconds(2));
  ASSERT_TRUE(verdicts.ok());
  int judged = 0, cut = 0;
  for (const Verdict& v : *verdicts) {
    judged += v.kind == VerdictKind::kCorrect;
    cut += v.kind == VerdictKind::kInfrastructure;
  }
  EXPECT_EQ(judged, 2);
  EXPECT_EQ(cut, 1);
  EXPECT_EQ(scorer.Score(spec, items, clock_.Now()).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(CompositeScorerTest, MetricsCountVerdicts) {
  auto text = [&] { return prometheus::TextSerializer().Serialize(metrics_.Collect()); };
  for (const char* kind : {"correct", "wrong", "graded", "undecided", "infrastructure"}) {
    EXPECT_THAT(text(), HasSubstr(std::string("sluice_reward_requests_total{verdict=\"") + kind + "\"} 0"));
  }
  RewardSpec spec = Spec({{"m", 1, MathScorerSpec{}}});
  ASSERT_TRUE(scorer_.Score(spec, {Item("72"), Item("7"), Item("72", "?")}, absl::InfiniteFuture()).ok());
  EXPECT_THAT(text(), HasSubstr("sluice_reward_requests_total{verdict=\"correct\"} 1"));
  EXPECT_THAT(text(), HasSubstr("sluice_reward_requests_total{verdict=\"undecided\"} 1"));
  EXPECT_THAT(text(), HasSubstr("sluice_reward_duration_seconds_count 3"));
}

}  // namespace
}  // namespace sluice
