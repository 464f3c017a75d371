// Invariant INVARIANT: a sample does not depend on its batch, threads, prefix sharing, chunks, places,
// preemption, pauses or on who began it. For latent attention with and without experts and for grouped
// attention, in bfloat16 and float32.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

using testing_model::Family;
using testing_model::Options;
using testing_model::Publisher;
using testing_model::Request;
using testing_model::StepClock;
using testing_model::TestEngine;

using Samples = std::map<SampleKey, Trajectory>;

// Prompts below, at and above a block's 64 positions; completions that cross block boundaries; every way of
// sampling.
std::vector<RolloutRequest> Requests() {
  std::vector<RolloutRequest> out = {Request(0, 70, 4, 70),  Request(1, 64, 3, 5),   Request(2, 1, 2, 130),
                                     Request(3, 130, 2, 40), Request(4, 130, 2, 30), Request(5, 9, 3, 60)};
  out[0].sampling.record_experts = true;
  out[1].sampling.temperature = 0.7f;
  out[1].sampling.top_k = 20;
  out[2].sampling.top_p = 0.9f;
  out[2].sampling.frequency_penalty = 0.5f;
  out[2].sampling.top_logprobs = 3;
  out[3].sampling.temperature = 0;
  out[3].sampling.repetition_penalty = 1.3f;
  out[4].prompt_tokens = out[3].prompt_tokens;  // two full blocks in common
  out[4].sampling.min_p = 0.02f;
  out[4].sampling.presence_penalty = 0.3f;
  out[4].sampling.logit_bias = {{'a', 2.0f}, {'b', -3.0f}};
  out[5].sampling.ignore_eos = false;
  out[5].sampling.min_new_tokens = 12;
  out[5].sampling.stop_token_ids = {'x', 'y'};
  out[5].sampling.stop = {"e", "qu"};
  return out;
}

// More calls that run at the same time, so that a batch has 64 sequences of many lengths.
std::vector<RolloutRequest> Company() {
  std::vector<RolloutRequest> out;
  for (int32_t i = 0; i < 24; ++i)
    out.push_back(Request(static_cast<Draw>(100 + i), 3 + i * 11 % 150, 2, 20 + i));
  return out;
}

void Collect(TestEngine& engine, const RolloutRequest& request, Samples* out) {
  auto samples = engine.Sample(request);
  ASSERT_TRUE(samples.ok()) << samples.status();
  for (auto& [index, t] : *samples) (*out)[t.key] = std::move(t);
}

class EngineInvariantTest : public ::testing::TestWithParam<std::tuple<Family, DType>> {
 protected:
  EngineInvariantTest() : publisher_(std::get<0>(GetParam())) {}
  void SetUp() override {
    policy_ = publisher_.Publish("job", 0, std::get<1>(GetParam()));
    want_ = Alone();
  }

  std::unique_ptr<TestEngine> Start(EngineOptions options, Clock& clock = Clock::Real()) {
    auto engine = std::make_unique<TestEngine>(std::move(options), clock);
    const absl::Status status = (*engine)->LoadPolicy(policy_, SwapMode::kFinish, absl::InfiniteFuture());
    EXPECT_TRUE(status.ok()) << status;
    return engine;
  }
  Samples Alone() {
    EngineOptions options = Options();
    options.share_prefixes = false;
    const auto engine = Start(options);
    block_bytes_ = (*engine)->policy()->cache.block_bytes();
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
  static Samples AllAtOnce(TestEngine& engine, const std::vector<RolloutRequest>& requests) {
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
  void ExpectSame(const Samples& got) {
    for (const auto& [key, t] : want_) {
      ASSERT_EQ(got.count(key), 1u) << "draw " << key.draw << " index " << key.index;
      ExpectSame(got.at(key), t);
    }
  }
  static void ExpectSame(const Trajectory& got, const Trajectory& want) {
    SCOPED_TRACE(absl::StrCat("draw ", want.key.draw, " index ", want.key.index));
    EXPECT_EQ(got.tokens, want.tokens);
    EXPECT_EQ(got.raw_logprobs, want.raw_logprobs);
    EXPECT_EQ(got.processed_logprobs, want.processed_logprobs);
    EXPECT_EQ(got.alternatives, want.alternatives);
    EXPECT_EQ(got.experts, want.experts);
    EXPECT_EQ(got.text, want.text);
    EXPECT_EQ(got.finish_reason, want.finish_reason);
    EXPECT_EQ(got.spans, want.spans);
  }
  bool HasExperts() const { return std::get<0>(GetParam()) == Family::kLatentExperts; }

  Publisher publisher_;
  PolicyRef policy_;
  Samples want_;
  int64_t block_bytes_ = 0;
};

TEST_P(EngineInvariantTest, SamplesDoNotDependOnHowTheyAreComputed) {
  ASSERT_EQ(want_.size(), 16u);
  std::vector<std::pair<std::string, EngineOptions>> variants;
  const auto add = [&](const std::string& name, const std::function<void(EngineOptions&)>& change) {
    EngineOptions options = Options();
    change(options);
    variants.emplace_back(name, options);
  };
  add("batched", [](EngineOptions&) {});
  add("two threads", [](EngineOptions& o) { o.threads = 2; });
  add("three threads", [](EngineOptions& o) { o.threads = 3; });
  add("chunks of 3", [](EngineOptions& o) { o.prefill_chunk_tokens = 3; });
  add("chunks of 100", [](EngineOptions& o) { o.prefill_chunk_tokens = 100; });
  add("no sharing", [](EngineOptions& o) { o.share_prefixes = false; });
  add("one place", [](EngineOptions& o) { o.max_running_sequences = 1; });
  add("three places, no sharing", [](EngineOptions& o) {
    o.max_running_sequences = 3;
    o.share_prefixes = false;
  });
  for (const auto& [name, options] : variants) {
    SCOPED_TRACE(name);
    const auto engine = Start(options);
    ExpectSame(AllAtOnce(*engine, Requests()));
    EXPECT_EQ(engine->Metric("sluice_preemptions_total"), 0);
    EXPECT_EQ(engine->Metric("sluice_cache_blocks_used"), engine->Metric("sluice_prefix_cache_blocks"))
        << "every other block is given back";
    if (options.share_prefixes) {
      ExpectSame(AllAtOnce(*engine, Requests()));  // over what the first time left
      EXPECT_GT(engine->Metric("sluice_prefix_cache_hits_total"), 0);
    }
  }
}

TEST_P(EngineInvariantTest, SamplesDoNotDependOnTheirCompany) {
  std::vector<RolloutRequest> requests = Requests();
  for (RolloutRequest& other : Company()) requests.push_back(std::move(other));
  for (int threads : {1, 2}) {
    EngineOptions options = Options();
    options.threads = threads;
    const auto engine = Start(options);
    ExpectSame(AllAtOnce(*engine, requests));
  }
}

TEST_P(EngineInvariantTest, SamplesDoNotDependOnPreemption) {
  for (int64_t blocks : {3, 4, 7}) {
    for (bool share : {true, false}) {
      SCOPED_TRACE(absl::StrCat(blocks, " blocks, sharing ", share));
      EngineOptions options = Options();
      options.cache_bytes = blocks * block_bytes_;
      options.share_prefixes = share;
      options.prefill_chunk_tokens = 50;
      const auto engine = Start(options);
      ExpectSame(AllAtOnce(*engine, Requests()));
      EXPECT_GT(engine->Metric("sluice_preemptions_total"), 0);
      EXPECT_EQ(engine->Metric("sluice_cache_blocks_used"), engine->Metric("sluice_prefix_cache_blocks"));
      EXPECT_EQ(engine->Metric("sluice_cache_blocks_capacity"), static_cast<double>(blocks));
    }
  }
}

TEST_P(EngineInvariantTest, SamplesDoNotDependOnWhoBeganThem) {
  for (size_t part : {1, 2, 3}) {  // quarters of a completion
    SCOPED_TRACE(part);
    std::vector<RolloutRequest> requests = Requests();
    for (RolloutRequest& request : requests) {
      for (uint32_t index : request.indices) {
        if (index == 1) continue;  // stays fresh
        const Trajectory& whole = want_.at({request.draw, index});
        const size_t tokens = std::min(whole.tokens.size() - 1, 1 + whole.tokens.size() * part / 4);
        if (tokens == 0) continue;
        request.begun.push_back(testing_model::BegunOf(whole, tokens, request.prompt_tokens.size()));
      }
    }
    for (bool share : {true, false}) {
      EngineOptions options = Options();
      options.share_prefixes = share;
      const auto engine = Start(options);
      ExpectSame(AllAtOnce(*engine, requests));
    }
  }
}

TEST_P(EngineInvariantTest, SamplesDoNotDependOnAPause) {
  StepClock clock;
  const auto engine = Start(Options(), clock);
  std::thread pausing;
  clock.At(25, [&] {
    pausing = std::thread([&] {
      EXPECT_TRUE((*engine)->Control(RolloutCommand::kPause, absl::InfiniteFuture()).ok());
      EXPECT_TRUE((*engine)->GetState()->paused);
      EXPECT_TRUE((*engine)->Control(RolloutCommand::kResume, absl::InfiniteFuture()).ok());
    });
    while (!(*engine)->GetState()->paused) std::this_thread::yield();
  });
  ExpectSame(AllAtOnce(*engine, Requests()));
  pausing.join();
}

TEST_P(EngineInvariantTest, ScoringGivesTheLogProbabilitiesOfSampling) {
  for (int64_t blocks : {3, 100}) {
    EngineOptions options = Options();
    options.prefill_chunk_tokens = 17;
    options.cache_bytes = blocks * block_bytes_;
    const auto engine = Start(options);
    for (const RolloutRequest& request : Requests()) {
      const Trajectory& t = want_.at({request.draw, 1});
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

TEST_P(EngineInvariantTest, ExpertsAreRecordedForEveryTokenThatWasFed) {
  for (const auto& [key, t] : want_) {
    if (key.draw != 0 || !HasExperts()) {
      EXPECT_TRUE(t.experts.ids.empty());
      continue;
    }
    EXPECT_EQ(t.experts.moe_layers, 2);
    EXPECT_EQ(t.experts.per_token, 2);
    ASSERT_EQ(t.experts.ids.size(), (70 + t.tokens.size() - 1) * 4);
    for (uint16_t id : t.experts.ids) EXPECT_LT(id, 8);
    EXPECT_GT(std::count_if(t.experts.ids.begin(), t.experts.ids.end(), [](uint16_t id) { return id > 0; }),
              100);
  }
}

TEST_P(EngineInvariantTest, TheSharedPromptIsComputedOnce) {
  EngineOptions options = Options();
  const auto shared = Start(options);
  ASSERT_TRUE(shared->Sample(Request(0, 100, 8, 3)).ok());
  EXPECT_EQ(shared->Metric("sluice_prompt_tokens_total"), 100);
  options.share_prefixes = false;
  const auto separate = Start(options);
  ASSERT_TRUE(separate->Sample(Request(0, 100, 8, 3)).ok());
  EXPECT_EQ(separate->Metric("sluice_prompt_tokens_total"), 800);
}

std::string Name(const ::testing::TestParamInfo<std::tuple<Family, DType>>& info) {
  return absl::StrCat(testing_model::FamilyName(std::get<0>(info.param)),
                      std::get<1>(info.param) == DType::kBF16 ? "BF16" : "F32");
}
INSTANTIATE_TEST_SUITE_P(Families, EngineInvariantTest,
                         ::testing::Combine(::testing::Values(Family::kLatentExperts, Family::kLatentDense,
                                                              Family::kGrouped),
                                            ::testing::Values(DType::kBF16, DType::kF32)),
                         Name);

}  // namespace
}  // namespace sluice
