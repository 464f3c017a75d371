// The engine on LibTorch (its processor device) against the engine on the kernels: greedy, so that rounding
// is the only difference. And an engine whose device fails.
#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/model/decoder_backend.h"
#include "core/model/torch_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rollout/oracle_check.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing_model::Publisher;
using testing_model::Request;
using testing_model::TestEngine;

using Samples = std::map<SampleKey, Trajectory>;

// Both backends compute in float32, whatever the policy is stored in: bfloat16 caches round only on the
// kernels' side (core_model_torch_test compares those by means).
EngineOptions Options() {
  EngineOptions options = testing_model::Options();
  options.dtype = DType::kF32;
  return options;
}
EngineOptions TorchOptions() {
  EngineOptions options = Options();
  auto backend = MakeTorchBackend("cpu");
  EXPECT_TRUE(backend.ok()) << backend.status();
  if (backend.ok()) options.backend = *std::move(backend);
  return options;
}

// Prompts below, at and above a block's 64 positions; completions that cross block boundaries.
std::vector<RolloutRequest> Requests() {
  std::vector<RolloutRequest> out = {Request(0, 70, 3, 70), Request(1, 64, 2, 5), Request(2, 1, 2, 80)};
  for (RolloutRequest& request : out) request.sampling.temperature = 0;
  return out;
}

Samples AllAtOnce(TestEngine& engine) {
  const std::vector<RolloutRequest> requests = Requests();
  std::vector<Samples> parts(requests.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < requests.size(); ++i) {
    threads.emplace_back([&, i] {
      auto samples = engine.Sample(requests[i]);
      ASSERT_TRUE(samples.ok()) << samples.status();
      for (auto& [index, t] : *samples) parts[i][t.key] = std::move(t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Samples out;
  for (Samples& part : parts) out.merge(part);
  return out;
}

void ExpectNear(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4) << i;
}

class EngineTorchTest : public ::testing::TestWithParam<DType> {
 protected:
  void SetUp() override { policy_ = publisher_.Publish("job", 0, GetParam()); }
  std::unique_ptr<TestEngine> Start(EngineOptions options) {
    auto engine = std::make_unique<TestEngine>(std::move(options));
    const absl::Status status = (*engine)->LoadPolicy(policy_, SwapMode::kFinish, absl::InfiniteFuture());
    EXPECT_TRUE(status.ok()) << status;
    return engine;
  }
  // The bytes of so many cache blocks of the test's model.
  static int64_t CacheBytes(int64_t blocks) { return blocks * 3 * kernels::kBlockTokens * (16 + 8) * 4; }
  // Same tokens, nearly the same log-probabilities, another stamp.
  void ExpectAsOnTheKernels(TestEngine& engine) {
    const Samples want = AllAtOnce(*Start(Options())), got = AllAtOnce(engine);
    ASSERT_EQ(want.size(), 7u);
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [key, t] : want) {
      SCOPED_TRACE(absl::StrCat("draw ", key.draw, " index ", key.index));
      const Trajectory& other = got.at(key);
      EXPECT_EQ(other.tokens, t.tokens);
      EXPECT_EQ(other.text, t.text);
      ExpectNear(other.raw_logprobs, t.raw_logprobs);
      ASSERT_EQ(other.spans.size(), 1u);
      EXPECT_EQ(other.spans[0].kernel_path, "torch-cpu");
      EXPECT_EQ(other.spans[0].manifest_hash, t.spans[0].manifest_hash);
      EXPECT_EQ(t.spans[0].kernel_path, kernels::KernelPath());
    }
    EXPECT_EQ(engine.Metric("sluice_cache_blocks_used"), engine.Metric("sluice_prefix_cache_blocks"))
        << "every block is given back or kept for its prefix";
  }

  Publisher publisher_;
  PolicyRef policy_;
};

TEST_P(EngineTorchTest, GreedyCompletionsAreThoseOfTheKernels) {
  const auto engine = Start(TorchOptions());
  EXPECT_EQ((*engine)->GetState()->kernel_path, "torch-cpu");
  ExpectAsOnTheKernels(*engine);
  EXPECT_EQ(engine->Metric("sluice_preemptions_total"), 0);
}

TEST_P(EngineTorchTest, PreemptionAndChunksChangeNothing) {
  EngineOptions options = TorchOptions();
  options.cache_bytes = CacheBytes(4);  // the first request alone comes to need 7
  options.prefill_chunk_tokens = 30;
  const auto engine = Start(options);
  ExpectAsOnTheKernels(*engine);
  EXPECT_GT(engine->Metric("sluice_preemptions_total"), 0);
}

TEST_P(EngineTorchTest, ASharedPromptIsComputedOnceAndEqualsSeparateOnes) {
  for (bool share : {true, false}) {
    EngineOptions options = TorchOptions();
    options.share_prefixes = share;
    const auto engine = Start(options);
    ExpectAsOnTheKernels(*engine);
    EXPECT_EQ(engine->Metric("sluice_prompt_tokens_total"), share ? 70 + 64 + 1 : 3 * 70 + 2 * 64 + 2);
  }
}

TEST_P(EngineTorchTest, ScoresAreThoseOfTheKernels) {
  const auto torch = Start(TorchOptions()), kernels = Start(Options());
  const std::vector<int32_t> tokens = testing_model::Prompt(150);
  const auto got = (*torch)->ScoreTokens("job", tokens), want = (*kernels)->ScoreTokens("job", tokens);
  ASSERT_TRUE(got.ok() && want.ok());
  ExpectNear(got->logprobs, want->logprobs);
}

TEST_P(EngineTorchTest, ANewVersionIsServedToNewGroups) {
  const auto engine = Start(TorchOptions());
  ASSERT_TRUE(
      (*engine)
          ->LoadPolicy(publisher_.Publish("job", 1, GetParam()), SwapMode::kFinish, absl::InfiniteFuture())
          .ok());
  const auto samples = engine->Sample(Requests()[1]);
  ASSERT_TRUE(samples.ok()) << samples.status();
  EXPECT_EQ(samples->at(0).spans[0].version, 1);
}

INSTANTIATE_TEST_SUITE_P(Types, EngineTorchTest, ::testing::Values(DType::kF32, DType::kBF16));

class EngineTorchOracle : public OracleTest {};

TEST_F(EngineTorchOracle, ScoresAndGreedyCompletionsEqualTransformers) {
  EngineOptions options = TorchOptions();
  options.prefill_chunk_tokens = 37;
  CheckFolders(options);
}

// The kernels, on a device whose memory ends or whose decoder fails.
class FailingBackend final : public DecoderBackend {
 public:
  explicit FailingBackend(int64_t blocks, int forwards) : blocks_(blocks), forwards_(forwards) {}
  const std::string& kernel_path() const override { return kernels_.kernel_path(); }
  absl::StatusOr<std::shared_ptr<const BackendWeights>> PackWeights(const ModelConfig& config,
                                                                    TensorMap tensors,
                                                                    DType dtype) const override {
    return kernels_.PackWeights(config, std::move(tensors), dtype);
  }
  std::unique_ptr<DecoderRun> NewRun(std::shared_ptr<const BackendWeights> weights,
                                     ThreadPool* pool) const override {
    return std::make_unique<Run>(kernels_.NewRun(std::move(weights), pool), &forwards_);
  }
  int64_t LayerBlockBytes(const ModelConfig& config, DType dtype) const override {
    return kernels_.LayerBlockBytes(config, dtype);
  }
  std::shared_ptr<std::byte[]> AllocateCache(int64_t bytes) const override {
    return blocks_-- > 0 ? kernels_.AllocateCache(bytes) : nullptr;
  }
  void CopyCache(const std::byte* from, int64_t bytes, std::byte* to) const override {
    kernels_.CopyCache(from, bytes, to);
  }

 private:
  struct Run final : DecoderRun {
    Run(std::unique_ptr<DecoderRun> run, int* forwards) : inner(std::move(run)), left(forwards) {}
    absl::Status Forward(absl::Span<const DecoderRow> rows, float* hidden) override {
      if ((*left)-- == 0) return absl::InternalError("the device failed");
      return inner->Forward(rows, hidden);
    }
    absl::Status Logits(const float* hidden, int64_t rows, float* logits) override {
      return inner->Logits(hidden, rows, logits);
    }
    const std::unique_ptr<DecoderRun> inner;
    int* const left;
  };
  const KernelBackend kernels_;
  mutable int64_t blocks_;  // touched by the engine's thread only, as is forwards_
  mutable int forwards_;
};

class FailingDeviceTest : public ::testing::Test {
 protected:
  std::unique_ptr<TestEngine> Start(int64_t blocks, int forwards) {
    EngineOptions options = Options();
    options.backend = std::make_shared<const FailingBackend>(blocks, forwards);
    auto engine = std::make_unique<TestEngine>(options);
    const absl::Status status =
        (*engine)->LoadPolicy(publisher_.Publish("job", 0), SwapMode::kFinish, absl::InfiniteFuture());
    EXPECT_TRUE(status.ok()) << status;
    return engine;
  }
  Publisher publisher_;
};

TEST_F(FailingDeviceTest, AFailedForwardEndsItsGroupsAndTheEngineGoesOn) {
  const auto engine = Start(100, 3);
  const auto failed = engine->Sample(Request(0, 10, 4, 20));
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("the device failed"));
  EXPECT_EQ(engine->Metric("sluice_cache_blocks_used"), 0);
  EXPECT_TRUE(engine->Sample(Request(1, 10, 4, 20)).ok());
}

TEST_F(FailingDeviceTest, MemoryThatEndsBeforeTheLimitEndsWhatCannotRunAlone) {
  const auto engine = Start(1, 1000);
  EXPECT_EQ(engine->Sample(Request(0, 100, 1, 5)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(engine->Sample(Request(1, 60, 1, 20)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(engine->Sample(Request(2, 40, 2, 20)).ok()) << "they take turns in the one block";
}

}  // namespace
}  // namespace sluice
