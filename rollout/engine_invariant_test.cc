// Invariant INVARIANT: a sample does not depend on its batch, threads, prefix sharing, chunks, places or
// preemption.
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

using testing_model::Options;
using testing_model::Publisher;
using testing_model::Request;
using testing_model::TestEngine;

using Samples = std::map<SampleKey, Trajectory>;

// Prompts below, at and above a block's 64 positions; completions that cross block boundaries.
std::vector<RolloutRequest> Requests() {
  std::vector<RolloutRequest> out = {Request(0, 70, 4, 70), Request(1, 64, 3, 5), Request(2, 1, 2, 130),
                                     Request(3, 130, 2, 40)};
  out[1].sampling.temperature = 0.7f;
  out[1].sampling.top_k = 20;
  out[2].sampling.top_p = 0.9f;
  out[3].sampling.temperature = 0;
  return out;
}

void Collect(TestEngine& engine, const RolloutRequest& request, Samples* out) {
  auto samples = engine.Sample(request);
  ASSERT_TRUE(samples.ok()) << samples.status();
  for (auto& [index, t] : *samples) (*out)[t.key] = std::move(t);
}

class EngineInvariantTest : public ::testing::Test {
 protected:
  void SetUp() override { policy_ = publisher_.Publish("job", 0); }

  std::unique_ptr<TestEngine> Start(EngineOptions options) {
    auto engine = std::make_unique<TestEngine>(std::move(options));
    const absl::Status status = (*engine)->LoadPolicy(policy_, SwapMode::kFinish, absl::InfiniteFuture());
    EXPECT_TRUE(status.ok()) << status;
    return engine;
  }
  Samples Alone() {
    const auto engine = Start(Options());
    Samples out;
    for (const RolloutRequest& request : Requests()) {
      for (uint32_t index : request.indices) {
        RolloutRequest one = request;
        one.indices = {index};
        Collect(*engine, one, &out);
      }
    }
    return out;
  }
  static Samples AllAtOnce(TestEngine& engine) {
    const std::vector<RolloutRequest> requests = Requests();
    std::vector<Samples> parts(requests.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] { Collect(engine, requests[i], &parts[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    Samples out;
    for (Samples& part : parts) out.merge(part);
    return out;
  }
  static void ExpectSame(const Samples& got, const Samples& want) {
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [key, t] : want) {
      const Trajectory& other = got.at(key);
      EXPECT_EQ(other.tokens, t.tokens) << "draw " << key.draw << " index " << key.index;
      EXPECT_EQ(other.raw_logprobs, t.raw_logprobs) << "draw " << key.draw << " index " << key.index;
      EXPECT_EQ(other.processed_logprobs, t.processed_logprobs)
          << "draw " << key.draw << " index " << key.index;
      EXPECT_EQ(other.text, t.text);
      EXPECT_EQ(other.spans, t.spans);
    }
  }
  // The bytes of so many cache blocks of the test's model.
  static int64_t CacheBytes(int64_t blocks) { return blocks * 3 * kernels::kBlockTokens * (16 + 8) * 4; }

  Publisher publisher_;
  PolicyRef policy_;
};

TEST_F(EngineInvariantTest, SamplesDoNotDependOnHowTheyAreComputed) {
  const Samples want = Alone();
  ASSERT_EQ(want.size(), 11u);
  std::vector<std::pair<std::string, EngineOptions>> variants;
  const auto add = [&](const std::string& name, const std::function<void(EngineOptions&)>& change) {
    EngineOptions options = Options();
    change(options);
    variants.emplace_back(name, options);
  };
  add("batched", [](EngineOptions&) {});
  add("two threads", [](EngineOptions& o) { o.threads = 2; });
  add("chunks of 3", [](EngineOptions& o) { o.prefill_chunk_tokens = 3; });
  add("no sharing", [](EngineOptions& o) { o.share_prefixes = false; });
  add("one place", [](EngineOptions& o) { o.max_running_sequences = 1; });
  add("three places, no sharing", [](EngineOptions& o) {
    o.max_running_sequences = 3;
    o.share_prefixes = false;
  });
  for (const auto& [name, options] : variants) {
    SCOPED_TRACE(name);
    const auto engine = Start(options);
    ExpectSame(AllAtOnce(*engine), want);
    EXPECT_EQ(engine->Metric("sluice_preemptions_total"), 0);
    EXPECT_EQ(engine->Metric("sluice_cache_blocks_used"), 0) << "every block is given back";
  }
}

TEST_F(EngineInvariantTest, SamplesDoNotDependOnPreemption) {
  const Samples want = Alone();
  for (int64_t blocks : {3, 4, 5, 7}) {
    for (bool share : {true, false}) {
      SCOPED_TRACE(absl::StrCat(blocks, " blocks, sharing ", share));
      EngineOptions options = Options();
      options.cache_bytes = CacheBytes(blocks);
      options.share_prefixes = share;
      options.prefill_chunk_tokens = 50;
      const auto engine = Start(options);
      ExpectSame(AllAtOnce(*engine), want);
      EXPECT_GT(engine->Metric("sluice_preemptions_total"), blocks == 5 ? 0 : -1);
      EXPECT_EQ(engine->Metric("sluice_cache_blocks_used"), 0);
      EXPECT_EQ(engine->Metric("sluice_cache_blocks_capacity"), static_cast<double>(blocks));
    }
  }
}

TEST_F(EngineInvariantTest, ScoringGivesTheLogProbabilitiesOfSampling) {
  const Samples want = Alone();
  for (int64_t blocks : {3, 100}) {
    EngineOptions options = Options();
    options.prefill_chunk_tokens = 17;
    options.cache_bytes = CacheBytes(blocks);
    const auto engine = Start(options);
    for (const RolloutRequest& request : Requests()) {
      const Trajectory& t = want.at({request.draw, 1});
      std::vector<int32_t> tokens = request.prompt_tokens;
      tokens.insert(tokens.end(), t.tokens.begin(), t.tokens.end());
      const auto scores = (*engine)->ScoreTokens("job", tokens);
      ASSERT_TRUE(scores.ok()) << scores.status();
      ASSERT_EQ(scores->logprobs.size(), tokens.size() - 1);
      EXPECT_EQ(std::vector<float>(scores->logprobs.end() - static_cast<int64_t>(t.tokens.size()),
                                   scores->logprobs.end()),
                t.raw_logprobs);
    }
  }
}

TEST_F(EngineInvariantTest, TheSharedPromptIsComputedOnce) {
  EngineOptions options = Options();
  const auto shared = Start(options);
  ASSERT_TRUE(shared->Sample(Request(0, 100, 8, 3)).ok());
  EXPECT_EQ(shared->Metric("sluice_prompt_tokens_total"), 100);
  options.share_prefixes = false;
  const auto separate = Start(options);
  ASSERT_TRUE(separate->Sample(Request(0, 100, 8, 3)).ok());
  EXPECT_EQ(separate->Metric("sluice_prompt_tokens_total"), 800);
}

}  // namespace
}  // namespace sluice
