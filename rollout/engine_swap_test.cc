// A new policy while sequences run: they finish on the old one, or go on with the new one.
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

using testing_model::BegunOf;
using testing_model::Options;
using testing_model::Publisher;
using testing_model::Request;
using testing_model::StepClock;
using testing_model::TestEngine;

using Samples = std::map<uint32_t, Trajectory>;

class EngineSwapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    v0_ = publisher_.Publish("job", 0);
    v1_ = publisher_.Publish("job", 1);
  }
  static void Load(TestEngine& engine, const PolicyRef& ref, SwapMode mode = SwapMode::kFinish) {
    const absl::Status status = engine->LoadPolicy(ref, mode, absl::InfiniteFuture());
    ASSERT_TRUE(status.ok()) << status;
  }
  Samples Undisturbed(const PolicyRef& ref, const RolloutRequest& request) {
    TestEngine engine;
    Load(engine, ref);
    auto out = engine.Sample(request);
    EXPECT_TRUE(out.ok()) << out.status();
    return out.ok() ? *out : Samples();
  }
  // Tokens before `cut` are as v0 samples them alone; the rest is scored by v1 as it was sampled.
  void ExpectContinued(const RolloutRequest& request, const Trajectory& got, const Trajectory& alone,
                       int32_t cut) {
    ASSERT_EQ(got.spans.size(), 2u);
    EXPECT_EQ(got.spans[0], (VersionSpan{0, cut, 0, v0_.manifest_hash, got.spans[1].kernel_path}));
    EXPECT_EQ(got.spans[1].begin, cut);
    EXPECT_EQ(got.spans[1].end, static_cast<int32_t>(got.tokens.size()));
    EXPECT_EQ(got.spans[1].version, 1);
    EXPECT_EQ(got.spans[1].manifest_hash, v1_.manifest_hash);
    const size_t n = static_cast<size_t>(cut);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(got.tokens[i], alone.tokens[i]);
      EXPECT_EQ(got.raw_logprobs[i], alone.raw_logprobs[i]);
    }
    TestEngine scorer;
    Load(scorer, v1_);
    std::vector<int32_t> tokens = request.prompt_tokens;
    tokens.insert(tokens.end(), got.tokens.begin(), got.tokens.end());
    const auto scores = scorer->ScoreTokens("job", tokens);
    ASSERT_TRUE(scores.ok()) << scores.status();
    bool differs = false;
    for (size_t i = 0; i < got.tokens.size(); ++i) {
      const float v1 = scores->logprobs[request.prompt_tokens.size() - 1 + i];
      if (i < n) {
        differs |= got.raw_logprobs[i] != v1;
      } else {
        EXPECT_EQ(got.raw_logprobs[i], v1) << i;
      }
    }
    EXPECT_TRUE(differs) << "the versions must differ for this to say anything";
  }

  Publisher publisher_;
  PolicyRef v0_, v1_;
};

TEST_F(EngineSwapTest, RunningSequencesGoOnWithTheNewVersionAndSaySo) {
  const RolloutRequest request = Request(0, 70, 3, 60);
  const Samples alone = Undisturbed(v0_, request);
  for (bool share : {true, false}) {
    for (int32_t chunk : {256, 50}) {
      SCOPED_TRACE(absl::StrCat("sharing ", share, " chunk ", chunk));
      StepClock clock;
      EngineOptions options = Options();
      options.share_prefixes = share;
      options.prefill_chunk_tokens = chunk;
      TestEngine engine(options, clock);
      Load(engine, v0_);
      std::weak_ptr<const LoadedPolicy> old = engine->policy();
      bool freed = false;
      clock.At(20, [&] {
        Load(engine, v1_, SwapMode::kContinue);
        clock.At(2, [&] { freed = old.expired(); });
      });
      const auto got = engine.Sample(request);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_TRUE(freed) << "nothing runs on the old version";
      for (const auto& [index, t] : *got) {
        ASSERT_FALSE(t.spans.empty());
        EXPECT_GT(t.spans[0].end, 0);
        ExpectContinued(request, t, alone.at(index), t.spans[0].end);
      }
    }
  }
}

TEST_F(EngineSwapTest, ASwapCostsAStepAtMostAndRecomputationItsChunks) {
  const RolloutRequest request = Request(0, 128, 4, 60);
  const auto steps = [&](SwapMode mode, bool swap) {
    StepClock clock;
    EngineOptions options = Options();
    options.prefill_chunk_tokens = 64;
    TestEngine engine(options, clock);
    Load(engine, v0_);
    if (swap) clock.At(30, [&] { Load(engine, v1_, mode); });
    const int before = clock.readings();
    EXPECT_TRUE(engine.Sample(request).ok());
    return clock.readings() - before;
  };
  const int undisturbed = steps(SwapMode::kFinish, false);
  EXPECT_LE(steps(SwapMode::kFinish, true), undisturbed + 1);
  // The prompt's 128 tokens once, and under 30 of each member: no more than four chunks of 64. Members that
  // are ready decode while others are computed.
  EXPECT_LE(steps(SwapMode::kContinue, true), undisturbed + 1 + 4);
}

TEST_F(EngineSwapTest, OthersDecodeInEveryStepWhileALongCacheIsComputedAgain) {
  StepClock clock;
  EngineOptions options = Options();
  options.prefill_chunk_tokens = 16;
  TestEngine engine(options, clock);
  Load(engine, v0_);
  std::thread second;
  absl::Status other;
  double at_swap = 0, later = 0;
  clock.At(2, [&] {
    second = std::thread([&] { other = engine.Sample(Request(1, 300, 1, 100)).status(); });
    while (engine->GetState()->queued == 0) std::this_thread::yield();
    clock.At(40, [&] {  // both decode
      Load(engine, v1_, SwapMode::kContinue);
      at_swap = engine.Metric("sluice_tokens_generated_total");
      clock.At(15, [&] { later = engine.Metric("sluice_tokens_generated_total"); });
    });
  });
  ASSERT_TRUE(engine.Sample(Request(0, 5, 1, 100)).ok());
  second.join();
  EXPECT_TRUE(other.ok()) << other;
  // The long one takes 20 steps to be computed again. The short one takes 3, then a token in each.
  EXPECT_GE(later - at_swap, 11);
  EXPECT_LE(later - at_swap, 15);
}

TEST_F(EngineSwapTest, WaitingAndPreemptedSequencesGoOnToo) {
  const RolloutRequest request = Request(0, 70, 4, 80);
  const Samples alone = Undisturbed(v0_, request);
  TestEngine probe;
  Load(probe, v0_);
  StepClock clock;
  EngineOptions options = Options();
  options.cache_bytes = 4 * probe->policy()->cache.block_bytes();
  TestEngine engine(options, clock);
  Load(engine, v0_);
  clock.At(80, [&] { Load(engine, v1_, SwapMode::kContinue); });
  const auto got = engine.Sample(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_GT(engine.Metric("sluice_preemptions_total"), 0);
  bool moved = false;
  for (const auto& [index, t] : *got) {
    if (t.spans.size() != 2) continue;
    moved = true;
    ExpectContinued(request, t, alone.at(index), t.spans[0].end);
  }
  EXPECT_TRUE(moved);
}

TEST_F(EngineSwapTest, KeptPrefixesGoWithTheirPolicy) {
  for (SwapMode mode : {SwapMode::kFinish, SwapMode::kContinue}) {
    TestEngine engine;
    Load(engine, v0_);
    const RolloutRequest request = Request(0, 140, 2, 10);
    ASSERT_TRUE(engine.Sample(request).ok());
    EXPECT_EQ(engine.Metric("sluice_prefix_cache_blocks"), 2);
    ASSERT_TRUE(engine.Sample(request).ok());
    const double hits = engine.Metric("sluice_prefix_cache_hits_total");
    EXPECT_EQ(hits, 2);
    EXPECT_EQ(engine.Metric("sluice_prefix_cache_tokens_saved_total"), 128);
    Load(engine, v1_, mode);
    while (engine.Metric("sluice_prefix_cache_blocks") > 0) std::this_thread::yield();  // without any call
    const auto got = engine.Sample(request);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(engine.Metric("sluice_prefix_cache_hits_total"), hits);
    EXPECT_EQ(got->at(1).raw_logprobs, Undisturbed(v1_, request).at(1).raw_logprobs);
  }
}

TEST_F(EngineSwapTest, ACompletionBegunUnderAnotherVersionGoesOnUnderTheServedOne) {
  RolloutRequest request = Request(0, 70, 2, 40);
  const Samples alone = Undisturbed(v0_, request);
  request.begun = {BegunOf(alone.at(0), 25, 70), BegunOf(alone.at(1), 1, 70)};
  const Samples got = Undisturbed(v1_, request);
  ExpectContinued(request, got.at(0), alone.at(0), 25);
  ExpectContinued(request, got.at(1), alone.at(1), 1);
}

TEST_F(EngineSwapTest, SequencesOfAnotherJobFinishOnTheirPolicy) {
  const PolicyRef other = publisher_.Publish("other", 1);
  const RolloutRequest request = Request(0, 70, 2, 60);
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine, v0_);
  clock.At(20, [&] { Load(engine, other, SwapMode::kContinue); });
  const auto got = engine.Sample(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->at(0).spans.size(), 1u);
  EXPECT_EQ(got->at(0).tokens, Undisturbed(v0_, request).at(0).tokens);
}

// The other job's load said CONTINUE, the own one FINISH.
TEST_F(EngineSwapTest, LoadsOfAnotherJobDoNotMoveSequencesWhenTheirOwnIsLoadedAgain) {
  const PolicyRef other = publisher_.Publish("other", 1);
  const RolloutRequest request = Request(0, 70, 2, 60);
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine, v0_);
  clock.At(20, [&] {
    Load(engine, other, SwapMode::kContinue);
    Load(engine, v1_, SwapMode::kFinish);
  });
  const auto got = engine.Sample(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->at(0).spans.size(), 1u);
  EXPECT_EQ(got->at(0).tokens, Undisturbed(v0_, request).at(0).tokens);
}

TEST_F(EngineSwapTest, WhatWantsOneVersionIsNotMovedFromItNorStartedOnAnother) {
  RolloutRequest request = Request(0, 70, 2, 60);
  const Samples alone = Undisturbed(v0_, request);
  request.only_version = v0_.version;
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine, v0_);
  clock.At(20, [&] { Load(engine, v1_, SwapMode::kContinue); });
  const auto got = engine.Sample(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->at(0).spans.size(), 1u);
  EXPECT_EQ(got->at(0).tokens, alone.at(0).tokens);
  const absl::Status late = engine.Sample(request).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(late)) << late;
  EXPECT_NE(late.message().find("version 0 of job \"job\" is not served"), std::string::npos) << late;
}

TEST_F(EngineSwapTest, ExpertsStayThoseThatTheTokensWereRoutedTo) {
  RolloutRequest request = Request(0, 70, 2, 60);
  request.sampling.record_experts = true;
  const Samples alone = Undisturbed(v0_, request);
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine, v0_);
  clock.At(20, [&] { Load(engine, v1_, SwapMode::kContinue); });
  const auto got = engine.Sample(request);
  ASSERT_TRUE(got.ok()) << got.status();
  for (const auto& [index, t] : *got) {
    ASSERT_EQ(t.spans.size(), 2u);
    ASSERT_EQ(t.experts.ids.size(), (70 + 60 - 1) * 4u);
    const int64_t before = (70 + t.spans[0].end - 1) * 4;
    EXPECT_TRUE(std::equal(t.experts.ids.begin(), t.experts.ids.begin() + before,
                           alone.at(index).experts.ids.begin()));
  }
}

}  // namespace
}  // namespace sluice
