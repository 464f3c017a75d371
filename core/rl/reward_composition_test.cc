#include "core/rl/reward_composition.h"

#include <cmath>
#include <limits>

#include "core/rl/reward_check.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using K = VerdictKind;

// A component as specified and as judged.
struct Part {
  double weight;
  K kind;
  double value;
  std::optional<double> gate = std::nullopt;
  double gate_value = 0;
};

Verdict ComposeParts(RewardCombination combination, const std::vector<Part>& parts) {
  RewardSpec spec;
  spec.combination = combination;
  std::vector<VerdictComponent> components;
  for (const Part& part : parts) {
    const std::string name = "c" + std::to_string(components.size());
    spec.components.push_back({name, part.weight, ExpressionScorerSpec{}, part.gate, part.gate_value});
    components.push_back({name, part.kind, part.value});
  }
  return Compose(spec, components);
}

TEST(Compose, CombinesValuesAndKinds) {
  constexpr auto kSum = RewardCombination::kWeightedSum, kProduct = RewardCombination::kProduct,
                 kMinimum = RewardCombination::kMinimum;
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const struct {
    const char* what;
    RewardCombination combination;
    std::vector<Part> parts;
    K kind;
    double value;
  } cases[] = {
      {"all right", kSum, {{1, K::kCorrect, 1}, {0.5, K::kCorrect, 1}}, K::kCorrect, 1.5},
      {"all wrong", kSum, {{1, K::kWrong, 0}, {0.5, K::kWrong, 0}}, K::kWrong, 0},
      {"between", kSum, {{1, K::kCorrect, 1}, {0.5, K::kWrong, 0}}, K::kGraded, 1},
      {"negative weight", kSum, {{1, K::kCorrect, 1}, {-2, K::kGraded, 0.25}}, K::kGraded, 0.5},
      {"undecided", kSum, {{1, K::kCorrect, 1}, {0.1, K::kUndecided, 0}}, K::kUndecided, 0},
      {"failed goes first",
       kSum,
       {{1, K::kUndecided, 0}, {0.1, K::kInfrastructure, 0}},
       K::kInfrastructure,
       0},
      {"unspecified is a failure", kSum, {{1, K::kUnspecified, 1}}, K::kInfrastructure, 0},
      {"not a number", kSum, {{1, K::kCorrect, nan}}, K::kInfrastructure, 0},
      {"infinite", kProduct, {{1, K::kGraded, inf}, {1, K::kGraded, 0}}, K::kInfrastructure, 0},
      {"overflow", kProduct, {{1, K::kGraded, 1e200}, {1, K::kGraded, 1e200}}, K::kInfrastructure, 0},
      {"weight 0 is shown only",
       kSum,
       {{1, K::kCorrect, 1}, {0, K::kWrong, 5}, {0, K::kInfrastructure, 0}},
       K::kCorrect,
       1},
      {"product",
       kProduct,
       {{1, K::kGraded, 0.5}, {1, K::kGraded, 0.5}, {0, K::kWrong, 0}},
       K::kGraded,
       0.25},
      {"minimum", kMinimum, {{1, K::kGraded, 0.5}, {1, K::kGraded, -2}, {0, K::kWrong, -9}}, K::kGraded, -2},
      {"open gate", kSum, {{1, K::kCorrect, 1, 1}, {1, K::kGraded, 0.5}}, K::kGraded, 1.5},
      {"closed gate", kSum, {{1, K::kWrong, 0, 1, -1}, {1, K::kCorrect, 1}}, K::kGraded, -1},
      {"closed, all wrong", kSum, {{1, K::kWrong, 0, 1, -1}, {1, K::kWrong, 0}}, K::kWrong, -1},
      {"closed, never correct", kSum, {{1, K::kCorrect, 0, 1, -1}, {1, K::kCorrect, 1}}, K::kGraded, -1},
      {"closed beside a failure",
       kSum,
       {{0, K::kWrong, 0, 1, -1}, {1, K::kInfrastructure, 0}},
       K::kGraded,
       -1},
      {"a gate without a value", kSum, {{0, K::kUndecided, 0, 1, -1}, {1, K::kCorrect, 1}}, K::kUndecided, 0},
      {"the first gate that is not open decides",
       kSum,
       {{0, K::kCorrect, 1, 1, -1}, {0, K::kGraded, 0.4, 0.5, -2}, {0, K::kWrong, 0, 1, -3}},
       K::kGraded,
       -2},
      {"a gate without weight adds nothing",
       kSum,
       {{0, K::kCorrect, 1, 1}, {1, K::kCorrect, 1}},
       K::kCorrect,
       1},
      {"closed gate of a product",
       kProduct,
       {{1, K::kGraded, 0.1, 0.5, 3}, {1, K::kGraded, 1}},
       K::kGraded,
       3},
  };
  for (const auto& c : cases) {
    const Verdict verdict = ComposeParts(c.combination, c.parts);
    EXPECT_EQ(verdict.kind, c.kind) << c.what;
    EXPECT_DOUBLE_EQ(verdict.value, c.value) << c.what;
    EXPECT_EQ(verdict.components.size(), c.parts.size()) << c.what;
  }
}

TEST(Compose, KeepsComponentsApartWithTheirWeights) {
  RewardSpec spec;
  spec.components = {{"a", 2, ExpressionScorerSpec{}}, {"b", 0, ExpressionScorerSpec{}}};
  const Verdict verdict = Compose(spec, {{"a", K::kGraded, 0.5, 9, "why", "rule"}, {"b", K::kWrong, 0}});
  EXPECT_EQ(verdict.components[0].weight, 2);
  EXPECT_EQ(verdict.components[0].outcome, "rule");
  EXPECT_EQ(verdict.value, 1);
  EXPECT_EQ(verdict.detail, "a: why; b: ");
  EXPECT_EQ(Compose(spec, {{"a", K::kGraded, 0.5}}).kind, K::kInfrastructure);
}

RewardSpec LengthSpec() {
  RewardSpec spec;
  spec.components = {{"answer", 1, ExpressionScorerSpec{}}, {"short", 0.5, GroupLengthScorerSpec{"answer"}}};
  return spec;
}

Verdict Answer(K kind) {
  const RewardSpec spec = LengthSpec();
  return Compose(spec,
                 {{"answer", kind, kind == K::kCorrect ? 1.0 : 0.0}, PendingGroupTerm(spec.components[1])});
}

std::vector<Verdict> Apply(std::vector<Verdict> verdicts, const std::vector<double>& lengths) {
  std::vector<Verdict*> members;
  for (Verdict& verdict : verdicts) members.push_back(&verdict);
  ApplyGroupTerms(LengthSpec(), lengths, members);
  return verdicts;
}

TEST(ApplyGroupTerms, LeavesATermOutUntilTheGroupIsThere) {
  const Verdict pending = Answer(K::kCorrect);
  EXPECT_EQ(pending.kind, K::kCorrect);
  EXPECT_EQ(pending.value, 1);
  ASSERT_EQ(pending.components.size(), 2u);
}

TEST(ApplyGroupTerms, PaysShortRightCompletionsAndNoWrongOne) {
  const auto out = Apply(
      {Answer(K::kCorrect), Answer(K::kCorrect), Answer(K::kWrong), Answer(K::kWrong), Answer(K::kUndecided)},
      {100, 300, 100, 300, 9000});
  EXPECT_DOUBLE_EQ(out[0].components[1].value, 0.5);
  EXPECT_DOUBLE_EQ(out[1].components[1].value, -0.5);
  EXPECT_DOUBLE_EQ(out[2].components[1].value, 0);
  EXPECT_DOUBLE_EQ(out[3].components[1].value, -0.5);
  EXPECT_DOUBLE_EQ(out[0].value, 1.25);
  EXPECT_DOUBLE_EQ(out[3].value, -0.25);
  EXPECT_EQ(out[0].components[1].weight, 0.5);
  EXPECT_EQ(out[4].kind, K::kUndecided);
  // Once more, as when the last verdict arrives: nothing is added twice.
  const auto again = Apply(out, {100, 300, 100, 300, 9000});
  EXPECT_DOUBLE_EQ(again[0].value, 1.25);
  EXPECT_DOUBLE_EQ(again[3].value, -0.25);
}

TEST(ApplyGroupTerms, IsNothingWhereAllAreEquallyLong) {
  for (const Verdict& verdict : Apply({Answer(K::kCorrect), Answer(K::kWrong)}, {70, 70}))
    EXPECT_EQ(verdict.components[1].value, 0);
  EXPECT_EQ(Apply({Answer(K::kCorrect)}, {5})[0].value, 1);
}

TEST(ApplyGroupTerms, RefusesVerdictsThatLackAComponent) {
  Verdict foreign = Answer(K::kCorrect);
  foreign.components[0].name = "other";
  EXPECT_EQ(Apply({foreign}, {5})[0].kind, K::kInfrastructure);
  // A foreign service need not know group terms.
  foreign = Answer(K::kCorrect);
  foreign.components.pop_back();
  const auto out = Apply({foreign, Answer(K::kWrong)}, {5, 10});
  EXPECT_DOUBLE_EQ(out[0].value, 1.25);
}

}  // namespace
}  // namespace sluice
