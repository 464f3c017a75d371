#include "rollout/engine.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/model/decoder_backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing_model::Options;
using testing_model::Publisher;
using testing_model::Request;
using testing_model::StepClock;
using testing_model::TestEngine;

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { policy_ = publisher_.Publish("job", 0); }
  void Load(TestEngine& engine) {
    const absl::Status status = engine->LoadPolicy(policy_, SwapMode::kFinish, absl::InfiniteFuture());
    ASSERT_TRUE(status.ok()) << status;
  }
  Publisher publisher_;
  PolicyRef policy_;
};

TEST_F(EngineTest, MetricsAreThereFromTheStart) {
  TestEngine engine;
  for (const char* name :
       {"sluice_tokens_generated_total", "sluice_prompt_tokens_total", "sluice_sequences_running",
        "sluice_sequences_queued", "sluice_cache_blocks_used", "sluice_cache_blocks_capacity",
        "sluice_weight_sync_seconds", "sluice_weight_sync_bytes_total", "sluice_weight_patched_bytes_total",
        "sluice_weights_refused_total", "sluice_preemptions_total", "sluice_rollouts_total",
        "sluice_engine_step_seconds", "sluice_prefix_cache_hits_total", "sluice_prefix_cache_misses_total",
        "sluice_prefix_cache_tokens_saved_total", "sluice_prefix_cache_blocks",
        "sluice_time_to_first_token_seconds", "sluice_token_seconds"}) {
    EXPECT_EQ(engine.Metric(name), 0) << name;
  }
  EXPECT_EQ(engine.Metric("sluice_policy_version"), -1);
}

TEST_F(EngineTest, CountsWhatItDoes) {
  TestEngine engine;
  Load(engine);
  ASSERT_TRUE(engine.Sample(Request(0, 10, 4, 6)).ok());
  EXPECT_EQ(engine.Metric("sluice_tokens_generated_total"), 24);
  EXPECT_EQ(engine.Metric("sluice_rollouts_total"), 4);
  EXPECT_EQ(engine.Metric("sluice_policy_version"), 0);
  EXPECT_GT(engine.Metric("sluice_weight_sync_bytes_total"), 10000);
  const auto state = engine->GetState();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->tokens_generated, 24);
  EXPECT_EQ(state->queued, 0);
}

TEST_F(EngineTest, AnEndOfSequenceTokenStopsUnlessIgnored) {
  TestEngine engine;
  Load(engine);
  int stopped = 0;
  for (Draw draw = 0; draw < 8; ++draw) {
    RolloutRequest request = Request(draw, 5, 8, 100);
    const auto ignoring = engine.Sample(request);
    request.sampling.ignore_eos = false;
    const auto stopping = engine.Sample(request);
    ASSERT_TRUE(ignoring.ok() && stopping.ok());
    for (const auto& [index, t] : *stopping) {
      const std::vector<int32_t>& whole = ignoring->at(index).tokens;
      const auto eos = std::find(whole.begin(), whole.end(), testing_model::kEos);
      EXPECT_EQ(ignoring->at(index).finish_reason, FinishReason::kLength);
      EXPECT_EQ(t.tokens, std::vector<int32_t>(whole.begin(), eos == whole.end() ? eos : eos + 1));
      EXPECT_EQ(t.finish_reason, eos == whole.end() ? FinishReason::kLength : FinishReason::kStop);
      stopped += t.finish_reason == FinishReason::kStop ? 1 : 0;
    }
  }
  EXPECT_GT(stopped, 0) << "the seeds must give some end-of-sequence tokens";
}

TEST_F(EngineTest, AStopTextOverSeveralTokensEndsTheCompletionAndIsCutFromTheText) {
  TestEngine engine;
  Load(engine);
  RolloutRequest request = Request(1, 8, 1, 40);
  const auto whole = engine.Sample(request);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const std::vector<int32_t>& tokens = whole->at(0).tokens;
  // Two neighbouring ASCII bytes of the completion, each a token of its own.
  size_t at = 1;
  while (at + 1 < tokens.size() && !(tokens[at] < 128 && tokens[at + 1] < 128)) ++at;
  ASSERT_LT(at + 1, tokens.size());
  const std::string stop = {static_cast<char>(tokens[at]), static_cast<char>(tokens[at + 1])};
  request.sampling.stop = {"never to be seen", stop};
  const auto cut = engine.Sample(request);
  ASSERT_TRUE(cut.ok()) << cut.status();
  const Trajectory& t = cut->at(0);
  EXPECT_EQ(t.tokens, std::vector<int32_t>(tokens.begin(), tokens.begin() + static_cast<int64_t>(at) + 2));
  EXPECT_EQ(t.finish_reason, FinishReason::kStop);
  const std::vector<int32_t> before(tokens.begin(), tokens.begin() + static_cast<int64_t>(at));
  EXPECT_EQ(t.text, engine->policy()->tokenizer->Decode(before, true));
}

TEST_F(EngineTest, TextsAreThoseOfTheTokenizer) {
  TestEngine engine;
  Load(engine);
  const auto samples = engine.Sample(Request(2, 8, 6, 30));
  ASSERT_TRUE(samples.ok()) << samples.status();
  for (const auto& [index, t] : *samples) {
    EXPECT_EQ(t.text, engine->policy()->tokenizer->Decode(t.tokens, true));
    EXPECT_EQ(t.worker, "engine-under-test");
  }
}

TEST_F(EngineTest, BadRequestsNameTheField) {
  TestEngine engine;
  Load(engine);
  const struct {
    const char* field;
    std::function<void(RolloutRequest&)> spoil;
  } table[] = {
      {"indices",
       [](RolloutRequest& r) {
         r.indices = {1, 2, 1};
       }},
      {"indices", [](RolloutRequest& r) { r.indices.clear(); }},
      {"prompt_tokens[3]", [](RolloutRequest& r) { r.prompt_tokens[3] = testing_model::kVocab; }},
      {"max_new_tokens", [](RolloutRequest& r) { r.sampling.max_new_tokens = 509; }},
      {"temperature", [](RolloutRequest& r) { r.sampling.temperature = -1; }},
      {"temperature", [](RolloutRequest& r) { r.sampling.temperature = std::nanf(""); }},
      {"temperature", [](RolloutRequest& r) { r.sampling.temperature = 1e-30f; }},
      {"top_k", [](RolloutRequest& r) { r.sampling.top_k = -1; }},
      {"top_p", [](RolloutRequest& r) { r.sampling.top_p = 0; }},
      {"top_p", [](RolloutRequest& r) { r.sampling.top_p = 1.5f; }},
      {"stop", [](RolloutRequest& r) { r.sampling.stop = {""}; }},
      {"stop", [](RolloutRequest& r) { r.sampling.stop.assign(17, "x"); }},
      {"stop_token_ids", [](RolloutRequest& r) { r.sampling.stop_token_ids.assign(2000, 1); }},
      {"stop_token_ids[1]",
       [](RolloutRequest& r) {
         r.sampling.stop_token_ids = {1, testing_model::kVocab};
       }},
      {"logit_bias", [](RolloutRequest& r) { r.sampling.logit_bias[testing_model::kVocab] = 1; }},
      {"logit_bias", [](RolloutRequest& r) { r.sampling.logit_bias[3] = std::nanf(""); }},
      {"min_p", [](RolloutRequest& r) { r.sampling.min_p = 1.5f; }},
      {"repetition_penalty", [](RolloutRequest& r) { r.sampling.repetition_penalty = -1; }},
      {"presence_penalty", [](RolloutRequest& r) { r.sampling.presence_penalty = 1e6f; }},
      {"top_logprobs", [](RolloutRequest& r) { r.sampling.top_logprobs = 21; }},
      {"min_new_tokens", [](RolloutRequest& r) { r.sampling.min_new_tokens = 6; }},
      {"every token ends",
       [](RolloutRequest& r) {
         for (int32_t id = 0; id < testing_model::kVocab; ++id) r.sampling.stop_token_ids.push_back(id);
         r.sampling.min_new_tokens = 1;
       }},
      {"prompt_tokens is empty", [](RolloutRequest& r) { r.prompt_tokens.clear(); }},
  };
  for (const auto& row : table) {
    RolloutRequest request = Request(0, 4, 2, 5);
    row.spoil(request);
    const absl::Status status = engine.Sample(request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.field << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(row.field));
  }
  EXPECT_TRUE(engine.Sample(Request(0, 4, 2, 508)).ok()) << "exactly the context fits";
}

TEST_F(EngineTest, ASequenceLargerThanTheCacheIsRefused) {
  TestEngine probe;
  Load(probe);
  EngineOptions options = Options();
  options.cache_bytes = 3 * probe->policy()->cache.block_bytes() - 1;  // two blocks
  TestEngine engine(options);
  Load(engine);
  EXPECT_TRUE(engine.Sample(Request(0, 28, 3, 101)).ok());  // 128 positions: the last token is not cached
  const absl::Status status = engine.Sample(Request(0, 28, 3, 102)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("cache"));
}

TEST_F(EngineTest, ScoreTokensRefusesWhatGenerateRefuses) {
  TestEngine engine;
  EXPECT_TRUE(absl::IsFailedPrecondition(engine->ScoreTokens("job", {1, 2}).status()));
  Load(engine);
  EXPECT_TRUE(absl::IsInvalidArgument(engine->ScoreTokens("job", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(engine->ScoreTokens("job", {1, -2}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(engine->ScoreTokens("job", std::vector<int32_t>(513, 1)).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(engine->ScoreTokens("job", {1, 2}, absl::UnixEpoch()).status()));
  const auto one = engine->ScoreTokens("job", {5});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_TRUE(one->logprobs.empty());
  EXPECT_EQ(one->version, 0);
}

TEST_F(EngineTest, CancellationWithinACallFreesItsBlocksAndKeepsWhatWasHandedOver) {
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine);
  CancelToken cancel;
  clock.At(30, [&] { cancel.Cancel(); });
  RolloutRequest request = Request(0, 70, 3, 300);
  request.sampling.stop_token_ids = {};
  std::set<uint32_t> handed_over;
  const absl::Status status =
      engine->Generate(request, cancel, [&](Trajectory t) { handed_over.insert(t.key.index); });
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_TRUE(handed_over.empty());
  EXPECT_EQ(engine.Metric("sluice_cache_blocks_used"), engine.Metric("sluice_prefix_cache_blocks"));
  EXPECT_EQ(engine.Metric("sluice_rollouts_total"), 3);
  EXPECT_GT(engine.Metric("sluice_tokens_generated_total"), 0);
  EXPECT_TRUE(engine.Sample(Request(1, 70, 3, 3)).ok());
}

TEST_F(EngineTest, ADeadlineWithinACallEndsItAndSaysWhatIsMissing) {
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine);
  RolloutRequest request = Request(0, 5, 3, 300);
  request.deadline = clock.Now() + absl::Seconds(10);
  clock.At(20, [&] { clock.Advance(absl::Seconds(9)); });
  EXPECT_TRUE(engine.Sample(Request(0, 5, 3, 50)).ok());
  clock.At(20, [&] { clock.Advance(absl::Seconds(9)); });
  const absl::Status status = engine.Sample(request).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("3 of 3"));
}

TEST_F(EngineTest, AFullQueueRefusesAndRecovers) {
  StepClock clock;
  EngineOptions options = Options();
  options.max_running_sequences = 1;
  options.max_queued_sequences = 4;
  TestEngine engine(options, clock);
  Load(engine);
  // In the middle of the first request, on the engine's own thread, others arrive: nothing is taken from the
  // queue meanwhile. Refusals come back at once; a request that is taken waits on a thread of its own.
  absl::Status taken = absl::UnknownError("not run"), refused;
  std::thread waiting;
  clock.At(10, [&] {
    waiting = std::thread([&] { taken = engine.Sample(Request(1, 5, 4, 3)).status(); });
    while (engine->GetState()->queued < 4) std::this_thread::yield();
    refused = engine.Sample(Request(2, 5, 1, 3)).status();
  });
  ASSERT_TRUE(engine.Sample(Request(0, 5, 1, 40)).ok());
  waiting.join();
  EXPECT_TRUE(taken.ok()) << taken;
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(engine.Sample(Request(2, 5, 9, 3)).ok())
      << "a group larger than the queue runs when nothing waits";
}

TEST_F(EngineTest, ShutdownEndsCallsUnderWay) {
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine);
  std::thread stopper;
  absl::Status status;
  clock.At(10, [&] { stopper = std::thread([&] { engine->Shutdown(); }); });
  RolloutRequest request = Request(0, 5, 2, 500);
  while (status.ok()) status = engine.Sample(request).status();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(engine.Sample(request).status()));
}

// The kernels, but hidden states of the token '!' are not numbers.
class SpoiltRun final : public DecoderRun {
 public:
  explicit SpoiltRun(std::unique_ptr<DecoderRun> run, int64_t hidden)
      : run_(std::move(run)), width_(hidden) {}
  absl::Status Forward(absl::Span<const DecoderRow> rows, float* hidden) override {
    const absl::Status status = run_->Forward(rows, hidden);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (rows[r].token == '!') std::fill_n(hidden + static_cast<int64_t>(r) * width_, width_, std::nanf(""));
    }
    return status;
  }
  absl::Status Logits(const float* hidden, int64_t rows, float* logits) override {
    return run_->Logits(hidden, rows, logits);
  }

 private:
  const std::unique_ptr<DecoderRun> run_;
  const int64_t width_;
};
class SpoiltBackend final : public DecoderBackend {
 public:
  const std::string& kernel_path() const override { return kernels_.kernel_path(); }
  absl::StatusOr<std::shared_ptr<const BackendWeights>> PackWeights(const ModelConfig& config,
                                                                    TensorMap tensors,
                                                                    DType dtype) const override {
    return kernels_.PackWeights(config, std::move(tensors), dtype);
  }
  std::unique_ptr<DecoderRun> NewRun(std::shared_ptr<const BackendWeights> weights,
                                     ThreadPool* pool) const override {
    constexpr int64_t kHidden = 32;
    return std::make_unique<SpoiltRun>(kernels_.NewRun(std::move(weights), pool), kHidden);
  }
  int64_t LayerBlockBytes(const ModelConfig& config, DType dtype) const override {
    return kernels_.LayerBlockBytes(config, dtype);
  }
  std::shared_ptr<std::byte[]> AllocateCache(int64_t bytes) const override {
    return kernels_.AllocateCache(bytes);
  }
  void CopyCache(const std::byte* from, int64_t bytes, std::byte* to) const override {
    kernels_.CopyCache(from, bytes, to);
  }

 private:
  const KernelBackend kernels_;
};

TEST_F(EngineTest, LogitsThatAreNotNumbersEndOnlyTheirRequest) {
  RolloutRequest good = Request(0, 70, 2, 20), bad = Request(1, 70, 2, 20);
  good.sampling.logit_bias = {{'!', -100.0f}};
  bad.prompt_tokens.push_back('!');
  TestEngine sound;
  Load(sound);
  const auto want = sound.Sample(good);
  ASSERT_TRUE(want.ok()) << want.status();
  EngineOptions options = Options();
  options.backend = std::make_shared<SpoiltBackend>();
  TestEngine engine(options);
  Load(engine);
  for (int round = 0; round < 3; ++round) {
    absl::Status spoilt;
    std::thread other([&] { spoilt = engine.Sample(bad).status(); });
    const auto got = engine.Sample(good);
    other.join();
    EXPECT_TRUE(absl::IsInternal(spoilt)) << spoilt;
    EXPECT_THAT(spoilt.message(), HasSubstr("not finite"));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->at(0).tokens, want->at(0).tokens);
    EXPECT_EQ(got->at(1).raw_logprobs, want->at(1).raw_logprobs);
  }
}

TEST_F(EngineTest, PreemptedSequencesFindThePromptsBlocksAgain) {
  TestEngine probe;
  Load(probe);
  EngineOptions options = Options();
  options.cache_bytes = 6 * probe->policy()->cache.block_bytes();
  TestEngine engine(options);
  Load(engine);
  ASSERT_TRUE(engine.Sample(Request(0, 140, 4, 100)).ok());
  EXPECT_GT(engine.Metric("sluice_preemptions_total"), 0);
  EXPECT_GT(engine.Metric("sluice_prefix_cache_hits_total"), 0);
  EXPECT_LE(engine.Metric("sluice_cache_blocks_used"), 6);
}

TEST_F(EngineTest, RefusesOptionsOutOfRange) {
  prometheus::Registry registry;
  const std::function<void(EngineOptions&)> spoils[] = {
      [](EngineOptions& o) { o.max_running_sequences = 0; },
      [](EngineOptions& o) { o.max_queued_sequences = 0; },
      [](EngineOptions& o) { o.cache_bytes = 0; },
      [](EngineOptions& o) { o.prefill_chunk_tokens = 0; },
      [](EngineOptions& o) { o.threads = 0; },
      [](EngineOptions& o) { o.dtype = DType::kI32; },
  };
  for (const auto& spoil : spoils) {
    EngineOptions options = Options();
    spoil(options);
    EXPECT_TRUE(absl::IsInvalidArgument(Engine::Create(options, registry).status()));
  }
}

}  // namespace
}  // namespace sluice
