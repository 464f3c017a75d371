// The learner's forward against the engine's decoder, bit for bit, and its gradients against LibTorch's.
#include "learner/policy.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gtest/gtest.h"
#include "learner/tiny_model_for_test.h"

namespace sluice::learner {
namespace {

struct Case {
  TinyModel model;
  DType dtype;
};

std::unique_ptr<Policy> MakePolicy(const TinyModel& model, DType dtype, uint64_t seed,
                                   ThreadPool* pool = nullptr) {
  const ModelConfig config = TinyConfig(model);
  const TensorMap tensors = RandomTensors(config, seed, dtype);
  const ParameterLayout layout(config);
  auto policy =
      std::make_unique<Policy>(config, dtype, layout.Flatten(layout.frozen(), tensors).value(), pool);
  EXPECT_TRUE(policy->SetPublished(layout.Flatten(layout.trained(), tensors).value()).ok());
  return policy;
}

struct Sample {
  std::vector<int32_t> prompt;
  std::vector<std::vector<int32_t>> completions;
};

std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  uint64_t draw = 0;
  for (int prompt : {1, 5, 63, 64, 65, 130}) {
    Sample s{RandomTokens(3, draw++, prompt), {}};
    for (int n : {1, 2, 7, 70}) s.completions.push_back(RandomTokens(3, draw++, n));
    samples.push_back(std::move(s));
  }
  return samples;
}

std::vector<PackGroup> GroupsOf(const std::vector<Sample>& samples) {
  std::vector<PackGroup> groups;
  int64_t id = 0;
  for (const Sample& s : samples) {
    PackGroup group{s.prompt, {}};
    for (const auto& c : s.completions) group.completions.push_back({c, id++});
    groups.push_back(group);
  }
  return groups;
}

class PolicyForwardTest : public testing::TestWithParam<Case> {};

TEST_P(PolicyForwardTest, EqualsTheEngineBitForBitHoweverItIsPacked) {
  ThreadPool pool(2);
  auto policy = MakePolicy(GetParam().model, GetParam().dtype, 11, &pool);
  const std::vector<Sample> samples = Samples();
  std::vector<std::vector<float>> engine;
  for (const Sample& s : samples) {
    for (const auto& completion : s.completions) {
      std::vector<int32_t> tokens = s.prompt;
      tokens.insert(tokens.end(), completion.begin(), completion.end());
      engine.push_back(EngineLogprobs(policy->config(), *policy->packed(), tokens, s.prompt.size()));
    }
  }
  for (int64_t max_tokens : {int64_t{100000}, int64_t{150}, int64_t{1}}) {
    size_t compared = 0;
    policy->ZeroGradient(policy->layout().trained_size());
    for (const auto& groups : PlanMicroBatches(GroupsOf(samples), max_tokens)) {
      auto batch = std::make_shared<const PackedBatch>(Pack(groups));
      policy->Accumulate(batch, 1.0f, [&](size_t i, const TargetScore& score) {
        const PackTarget& t = batch->targets[i];
        EXPECT_EQ(score.raw_logprob, engine[t.completion_id][t.position]);
        ++compared;
        return TargetGradient{-1.0, 0};
      });
    }
    EXPECT_EQ(compared, samples.size() * (1 + 2 + 7 + 70));
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const TinyModel& m : TinyModels()) {
    cases.push_back({m, DType::kF32});
    cases.push_back({m, DType::kBF16});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Models, PolicyForwardTest, testing::ValuesIn(Cases()), [](const auto& info) {
  return info.param.model.name + (info.param.dtype == DType::kF32 ? "F32" : "BF16");
});

class PolicyGradientTest : public testing::TestWithParam<TinyModel> {};

// Loss with entropy, at a temperature, so that every path of the backward is used.
double LossOf(Policy& policy, const std::vector<PackGroup>& groups, bool backward) {
  double loss = 0;
  auto batch = std::make_shared<const PackedBatch>(Pack(groups));
  auto term = [&](size_t i, const TargetScore& s) {
    const double a = 0.5 + 0.1 * static_cast<double>(batch->targets[i].position);
    loss += -a * s.logprob - 0.3 * s.entropy;
    return TargetGradient{-a, -0.3};
  };
  if (backward) {
    policy.Accumulate(batch, 0.7f, term);
  } else {
    policy.Score(batch, {nullptr, 0.7f}, [&](size_t i, const TargetScore& s) { term(i, s); });
  }
  return loss;
}

// Central differences along the gradient's own direction within each tensor: the slope must be the gradient's
// norm.
TEST_P(PolicyGradientTest, EqualsCentralDifferencesForEachTensor) {
  auto policy = MakePolicy(GetParam(), DType::kF32, 5);
  const std::vector<Sample> samples = {
      {RandomTokens(4, 0, 66), {RandomTokens(4, 1, 3), RandomTokens(4, 2, 5)}},
      {RandomTokens(4, 3, 2), {RandomTokens(4, 4, 1), RandomTokens(4, 5, 6)}}};
  const std::vector<PackGroup> groups = GroupsOf(samples);
  policy->ZeroGradient(policy->layout().trained_size());
  LossOf(*policy, groups, true);
  const std::vector<float> gradient(policy->gradient().begin(), policy->gradient().end());
  const TensorMap tensors = policy->tensors();
  const std::vector<float> values = policy->layout().Flatten(policy->layout().trained(), tensors).value();
  for (const ParameterSlot& slot : policy->layout().trained()) {
    double norm = 0;
    for (int64_t i = 0; i < slot.size; ++i) norm += std::pow(gradient[slot.offset + i], 2);
    norm = std::sqrt(norm);
    if (norm < 1e-2) continue;  // an expert that no row was sent to, or lost in rounding
    const double h = 2e-3;
    auto at = [&](double sign) {
      std::vector<float> moved = values;
      for (int64_t i = 0; i < slot.size; ++i) {
        moved[slot.offset + i] += static_cast<float>(sign * h * gradient[slot.offset + i] / norm);
      }
      EXPECT_TRUE(policy->SetPublished(moved).ok());
      return LossOf(*policy, groups, false);
    };
    const double slope = (at(1) - at(-1)) / (2 * h);
    EXPECT_NEAR(slope / norm, 1, 0.03) << slot.name << " norm " << norm;
  }
}

TEST_P(PolicyGradientTest, DoesNotDependOnMicroBatches) {
  auto policy = MakePolicy(GetParam(), DType::kF32, 5);
  const std::vector<Sample> samples = Samples();
  const std::vector<PackGroup> groups = GroupsOf(samples);
  auto gradient = [&](int64_t max_tokens) {
    policy->ZeroGradient(policy->layout().trained_size());
    for (const auto& part : PlanMicroBatches(groups, max_tokens)) LossOf(*policy, part, true);
    return std::vector<double>(policy->gradient().begin(), policy->gradient().end());
  };
  const std::vector<double> whole = gradient(100000), split = gradient(150);
  double difference = 0, norm = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    difference += std::pow(whole[i] - split[i], 2);
    norm += std::pow(whole[i], 2);
  }
  EXPECT_LT(std::sqrt(difference / norm), 1e-5);
}

// With a choice of experts the loss jumps where the choice changes; that gradient is compared with the
// oracle's.
std::vector<TinyModel> SmoothModels() {
  std::vector<TinyModel> models = TinyModels();
  for (TinyModel& m : models) m.all_experts = true;
  return models;
}

INSTANTIATE_TEST_SUITE_P(Models, PolicyGradientTest, testing::ValuesIn(SmoothModels()),
                         [](const auto& info) { return info.param.name; });

// The experts that the policy chooses itself for [prompt, completion], as an engine records them.
std::vector<uint16_t> OwnExperts(const Policy& policy, std::vector<int32_t> tokens) {
  tokens.pop_back();
  const ModelConfig& config = policy.config();
  const size_t width = config.moe.experts_per_token;  // the tiny models have one layer with experts
  std::vector<uint16_t> ids(tokens.size() * width);
  RunEngine(
      config, *policy.packed(), tokens, [&](size_t t) { return &ids[t * width]; }, nullptr);
  return ids;
}

TEST(PolicyReplayTest, OfTheOwnExpertsChangesNothingAndIsKeptUnderOtherWeights) {
  const TinyModel model = TinyModels()[2];
  auto policy = MakePolicy(model, DType::kBF16, 5), other = MakePolicy(model, DType::kBF16, 6);
  const std::vector<int32_t> prompt = RandomTokens(4, 0, 70), completion = RandomTokens(4, 1, 9);
  std::vector<int32_t> tokens = prompt;
  tokens.insert(tokens.end(), completion.begin(), completion.end());
  const std::vector<uint16_t> ids = OwnExperts(*policy, tokens);
  const int64_t width = policy->config().moe.experts_per_token;
  const auto score = [&](Policy& p, const uint16_t* experts, bool replay) {
    const PackGroup group{prompt, {{completion, 0, {experts, width}}}};
    std::vector<float> scores;
    p.Score(std::make_shared<const PackedBatch>(Pack({group})), {nullptr, 1.0f, replay},
            [&](size_t, const TargetScore& s) { scores.push_back(s.raw_logprob); });
    return scores;
  };
  const std::vector<float> own = score(*policy, nullptr, true);
  EXPECT_EQ(score(*policy, ids.data(), true), own);
  const std::vector<float> others = score(*other, nullptr, true);
  EXPECT_NE(score(*other, ids.data(), true), others);
  EXPECT_EQ(score(*other, ids.data(), false), others);
  // All of a token's experts in another order are the same experts up to rounding.
  std::vector<uint16_t> turned = ids;
  for (size_t i = 0; i < turned.size(); i += width) std::reverse(&turned[i], &turned[i] + width);
  const std::vector<float> again = score(*policy, turned.data(), true);
  for (size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(again[i], own[i], 0.05f);
}

TEST(PolicyReplayTest, GradientsReachTheRouterThroughTheRecordedExperts) {
  auto policy = MakePolicy(TinyModels()[2], DType::kF32, 5);
  const std::vector<int32_t> prompt = RandomTokens(4, 0, 5), completion = RandomTokens(4, 1, 4);
  std::vector<uint16_t> ids;
  for (int row = 0; row < 8; ++row) ids.insert(ids.end(), {6, 1});
  policy->ZeroGradient(policy->layout().trained_size());
  auto batch = std::make_shared<const PackedBatch>(Pack({{prompt, {{completion, 0, {ids.data(), 2}}}}}));
  policy->Accumulate(batch, 1.0f, [](size_t, const TargetScore&) { return TargetGradient{-1, 0}; });
  const auto norm = [&](const std::string& name) {
    const ParameterSlot* slot = policy->layout().FindTrained(name);
    double sum = 0;
    for (int64_t i = 0; i < slot->size; ++i) sum += std::fabs(policy->gradient()[slot->offset + i]);
    return sum;
  };
  EXPECT_GT(norm("model.layers.1.mlp.gate.weight"), 0);
  for (int e = 0; e < 8; ++e) {
    const double used = norm("model.layers.1.mlp.experts." + std::to_string(e) + ".up_proj.weight");
    EXPECT_EQ(used > 0, e == 6 || e == 1) << e;
  }
}

TEST(PolicyTest, GradientIsExactlyZeroWhenNoTokenHasOne) {
  auto policy = MakePolicy(TinyModels()[2], DType::kF32, 5);
  policy->ZeroGradient(policy->layout().trained_size());
  const std::vector<Sample> samples = Samples();
  auto batch = std::make_shared<const PackedBatch>(Pack(GroupsOf(samples)));
  policy->Accumulate(batch, 1.0f, [](size_t, const TargetScore&) { return TargetGradient{}; });
  for (float g : policy->gradient()) ASSERT_EQ(g, 0.0f);
}

}  // namespace
}  // namespace sluice::learner
