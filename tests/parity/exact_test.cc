// Invariant EXACT: what the engine reports for the tokens that it samples is, bit for bit, what the learner's
// training forward computes with the same tensors, for every family, however requests are batched there and
// rows are packed here. SLUICE_EXACT_MODELS names more model directories, separated by colons.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "core/base/random.h"
#include "core/base/thread_pool.h"
#include "core/kernels/kernels.h"
#include "core/spec/checkpoint/checkpoint_dir.h"
#include "gtest/gtest.h"
#include "learner/batch.h"
#include "learner/parameters.h"
#include "learner/policy.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

using learner::Policy;
using learner::TargetGradient;
using learner::TargetScore;
using testing_model::Family;

constexpr int64_t kTokens = 10'000;  // compared for each model, at least
constexpr int kCallers = 8;          // requests under way at once

struct Sampled {
  std::vector<TrainingGroup> groups;
  int64_t tokens = 0;
};

// Prompts of 1 to 300 random tokens, groups of 1 to 8, completions of 1 to 96.
RolloutRequest MakeRequest(uint64_t draw, const ModelConfig& config, bool record_experts) {
  const auto pick = [&](uint32_t what, int64_t low, int64_t high) {
    const float u = UniformAt(99, RandomDomain::kShuffle, draw, what, 0);
    return low + static_cast<int64_t>(u * static_cast<float>(high - low + 1));
  };
  RolloutRequest request;
  request.job = "local";
  request.seed = 5;
  request.draw = draw;
  const int64_t prompt = pick(0, 1, 300), group = draw % 3 == 0 ? 1 : pick(1, 2, 8);
  for (int64_t i = 0; i < prompt; ++i) {
    const float u = UniformAt(98, RandomDomain::kShuffle, draw, 0, static_cast<uint32_t>(i));
    request.prompt_tokens.push_back(static_cast<int32_t>(u * static_cast<float>(config.vocab)));
  }
  for (int64_t i = 0; i < group; ++i) request.indices.push_back(static_cast<uint32_t>(i));
  request.sampling.max_new_tokens = static_cast<int32_t>(pick(2, 1, 96));
  request.sampling.record_experts = record_experts && draw % 2 == 0;
  return request;
}

// As the trainer takes them over.
TrainingGroup ToTrain(const RolloutRequest& request, std::vector<Trajectory> trajectories,
                      const ModelConfig& config) {
  Group group;
  group.draw = request.draw;
  group.prompt.tokens = request.prompt_tokens;
  for (Trajectory& t : trajectories) {
    ScoredSample sample;
    sample.trajectory = std::move(t);
    sample.verdict.kind = VerdictKind::kCorrect;
    group.samples.push_back(std::move(sample));
  }
  auto made = MakeTrainingGroup(group, LimitsOf(config));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : TrainingGroup();
}

Sampled Sample(const std::string& directory, const ModelConfig& config) {
  EngineOptions options;
  options.threads = 2;
  options.max_running_sequences = 48;
  options.prefill_chunk_tokens = 100;
  options.cache_bytes = int64_t{256} << 20;
  testing_model::TestEngine engine(options);
  EXPECT_TRUE(engine->LoadDirectory(directory, DType::kBF16).ok());
  Sampled out;
  absl::Mutex mu;
  uint64_t next = 0;
  const auto call = [&] {
    while (!testing::Test::HasFailure()) {
      uint64_t draw = 0;
      {
        absl::MutexLock lock(&mu);
        if (out.tokens >= kTokens) return;
        draw = next++;
      }
      const RolloutRequest request = MakeRequest(draw, config, config.moe.experts > 0);
      std::vector<Trajectory> trajectories;
      const absl::Status status = engine->Generate(
          request, CancelToken(), [&](Trajectory t) { trajectories.push_back(std::move(t)); });
      absl::MutexLock lock(&mu);
      EXPECT_TRUE(status.ok()) << status;
      for (const Trajectory& t : trajectories) out.tokens += static_cast<int64_t>(t.tokens.size());
      out.groups.push_back(ToTrain(request, std::move(trajectories), config));
    }
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) callers.emplace_back(call);
  for (std::thread& caller : callers) caller.join();
  return out;
}

struct Compared {
  int64_t tokens = 0, different = 0;
  double max_difference = 0;
};

// The training path: with a graph and a gradient.
Compared Compare(Policy& policy, const std::vector<TrainingGroup>& groups, int64_t micro_batch_tokens) {
  std::vector<const TrainingSequence*> sequences;
  std::vector<PackGroup> packed;
  for (const TrainingGroup& g : groups) {
    std::vector<SequenceToPack> chosen;
    for (const TrainingSequence& s : g.sequences) {
      chosen.push_back({&s, static_cast<int64_t>(sequences.size())});
      sequences.push_back(&s);
    }
    for (PackGroup& p : PackGroupsOf(g, chosen)) packed.push_back(std::move(p));
  }
  Compared compared;
  policy.ZeroGradient(policy.layout().trained_size());
  for (const auto& part : PlanMicroBatches(packed, micro_batch_tokens)) {
    auto rows = std::make_shared<const PackedBatch>(Pack(part));
    policy.Accumulate(rows, 1.0f, [&](size_t i, const TargetScore& score) {
      const PackTarget& target = rows->targets[i];
      const double engine = sequences[target.completion_id]->raw_logprobs[target.position];
      const double difference = std::fabs(engine - score.raw_logprob);
      compared.tokens += 1;
      compared.different += difference == 0 ? 0 : 1;
      compared.max_difference = std::max(compared.max_difference, difference);
      return TargetGradient{i % 64 == 0 ? -1e-3 : 0.0, 0};
    });
  }
  return compared;
}

void ExpectExact(const std::string& name, const std::string& directory) {
  auto model = ReadModelDirectory(directory);
  ASSERT_TRUE(model.ok()) << model.status();
  Sampled sampled = Sample(directory, model->config);
  ASSERT_FALSE(testing::Test::HasFailure());
  ThreadPool pool(2);
  const ParameterLayout layout(model->config);
  Policy policy(model->config, DType::kBF16, layout.Flatten(layout.frozen(), model->tensors).value(), &pool);
  ASSERT_TRUE(policy.SetPublished(layout.Flatten(layout.trained(), model->tensors).value()).ok());
  for (const int64_t micro_batch : {int64_t{4096}, int64_t{350}}) {
    const Compared c = Compare(policy, sampled.groups, micro_batch);
    std::cout << "exact " << name << " (" << kernels::KernelPath() << ", micro-batches of " << micro_batch
              << "): compared " << c.tokens << ", different " << c.different << ", max difference "
              << c.max_difference << std::endl;
    EXPECT_GE(c.tokens, kTokens);
    EXPECT_EQ(c.tokens, sampled.tokens);
    EXPECT_EQ(c.max_difference, 0);
    std::reverse(sampled.groups.begin(), sampled.groups.end());  // other neighbours next time
  }
}

class ExactTest : public testing::TestWithParam<Family> {};

TEST_P(ExactTest, LearnerEqualsEngineForEveryTokenHoweverBatchedAndPacked) {
  const std::string directory = testing::TempDir() + "/sluice_exact_" + std::to_string(getpid()) + "_" +
                                testing_model::FamilyName(GetParam());
  ASSERT_TRUE(WriteModelDirectory(directory, testing_model::Files(GetParam()),
                                  testing_model::Tensors(3, DType::kBF16, GetParam()), DType::kBF16)
                  .ok());
  ExpectExact(testing_model::FamilyName(GetParam()), directory);
  EXPECT_TRUE(RemoveTree(directory).ok());
}

INSTANTIATE_TEST_SUITE_P(Families, ExactTest,
                         testing::Values(Family::kLatentDense, Family::kLatentExperts, Family::kGrouped),
                         [](const auto& info) { return testing_model::FamilyName(info.param); });

TEST(ExactModelsTest, LearnerEqualsEngineOnTheModelsNamed) {
  const char* models = std::getenv("SLUICE_EXACT_MODELS");
  if (models == nullptr) GTEST_SKIP() << "SLUICE_EXACT_MODELS is not set";
  for (const absl::string_view directory : absl::StrSplit(models, ':')) {
    ExpectExact(std::string(directory), std::string(directory));
  }
}

}  // namespace
}  // namespace sluice
