// Commands, progress, and completions that move from one engine to another.
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/rl/trajectory_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rollout/testing_model.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing_model::BegunOf;
using testing_model::Options;
using testing_model::Publisher;
using testing_model::Request;
using testing_model::StepClock;
using testing_model::TestEngine;

constexpr absl::Time kForever = absl::InfiniteFuture();

class EngineControlTest : public ::testing::Test {
 protected:
  void SetUp() override { policy_ = publisher_.Publish("job", 0); }
  void Load(TestEngine& engine) {
    const absl::Status status = engine->LoadPolicy(policy_, SwapMode::kFinish, kForever);
    ASSERT_TRUE(status.ok()) << status;
  }
  // All that is handed over: by index, in order.
  using Reports = std::map<uint32_t, std::vector<Trajectory>>;
  static absl::Status Run(TestEngine& engine, const RolloutRequest& request, Reports* out,
                          const CancelToken& cancel = CancelToken()) {
    return engine->Generate(request, cancel,
                            [&](Trajectory t) { (*out)[t.key.index].push_back(std::move(t)); });
  }
  // A call on a thread of its own that `act` meets in the middle.
  absl::Status RunAndMeet(TestEngine& engine, StepClock& clock, const RolloutRequest& request,
                          Reports* reports, const std::function<void()>& act) {
    std::thread actor;
    clock.At(30, [&] {
      actor = std::thread(act);
      // The engine's thread stays here until the command is given.
      while (!met_) std::this_thread::yield();
    });
    const absl::Status status = Run(engine, request, reports);
    actor.join();
    return status;
  }

  Publisher publisher_;
  PolicyRef policy_;
  std::atomic<bool> met_{false};
};

void ExpectPrefix(const Trajectory& part, const Trajectory& whole) {
  ASSERT_LE(part.tokens.size(), whole.tokens.size());
  const auto n = static_cast<int64_t>(part.tokens.size());
  EXPECT_EQ(part.tokens, std::vector<int32_t>(whole.tokens.begin(), whole.tokens.begin() + n));
  EXPECT_EQ(part.raw_logprobs,
            std::vector<float>(whole.raw_logprobs.begin(), whole.raw_logprobs.begin() + n));
  EXPECT_EQ(part.processed_logprobs.size(), part.tokens.size());
  ASSERT_FALSE(part.spans.empty());
  EXPECT_EQ(part.spans.back().end, n);
  EXPECT_EQ(whole.text.substr(0, part.text.size()), part.text) << "only what is certain is shown";
}

TEST_F(EngineControlTest, ProgressIsReportedEverySoManyTokens) {
  TestEngine engine;
  Load(engine);
  RolloutRequest request = Request(0, 20, 3, 23);
  request.progress_every_tokens = 5;
  request.sampling.top_logprobs = 2;
  request.sampling.record_experts = true;
  Reports reports;
  ASSERT_TRUE(Run(engine, request, &reports).ok());
  ASSERT_EQ(reports.size(), 3u);
  for (const auto& [index, parts] : reports) {
    EXPECT_EQ(parts.back().finish_reason, FinishReason::kLength);
    EXPECT_LE(parts.size(), 5u);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      EXPECT_EQ(parts[i].finish_reason, FinishReason::kUnspecified);
      EXPECT_EQ(parts[i].tokens.size() % 5, 0u);
      EXPECT_EQ(parts[i].alternatives.size(), parts[i].tokens.size() * 2);
      EXPECT_EQ(parts[i].experts.ids.size(), (20 + parts[i].tokens.size() - 1) * 4);
      ExpectPrefix(parts[i], parts.back());
    }
  }
}

// Reports are linear in the tokens, however often they come.
TEST_F(EngineControlTest, ProgressInPartsIsTogetherAsLongAsTheCompletion) {
  TestEngine engine;
  Load(engine);
  RolloutRequest request = Request(0, 20, 3, 300);
  request.sampling.top_logprobs = 2;
  request.sampling.record_experts = true;
  const auto want = engine.Sample(request);
  ASSERT_TRUE(want.ok()) << want.status();
  request.progress_every_tokens = 1;
  request.progress_in_parts = true;
  request.begun = {BegunOf(want->at(1), 100, 20)};
  Reports reports;
  ASSERT_TRUE(Run(engine, request, &reports).ok());
  ASSERT_EQ(reports.size(), 3u);
  for (const auto& [index, parts] : reports) {
    const Trajectory& whole = parts.back();
    EXPECT_EQ(FirstToken(whole), 0u);
    EXPECT_EQ(whole.tokens, want->at(index).tokens);
    EXPECT_EQ(whole.experts, want->at(index).experts);
    Trajectory all = index == 1 ? request.begun[0] : Trajectory();
    if (index != 1) all.key = whole.key;
    size_t reported = 0, ids = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      reported += parts[i].tokens.size();
      ids += parts[i].experts.ids.size();
      if (all.tokens.empty()) {
        all = parts[i];
      } else {
        ASSERT_TRUE(Append(parts[i], all).ok()) << i;
      }
    }
    EXPECT_EQ(all.experts.ids.size(), (20 + all.tokens.size() - 1) * 4);
    EXPECT_TRUE(std::equal(all.experts.ids.begin(), all.experts.ids.end(), whole.experts.ids.begin()));
    EXPECT_EQ(all.alternatives.size(), all.tokens.size() * 2);
    EXPECT_TRUE(std::equal(all.alternatives.begin(), all.alternatives.end(), whole.alternatives.begin()));
    if (index != 1) ExpectPrefix(all, whole);
    EXPECT_LE(reported, whole.tokens.size());
    EXPECT_LE(ids, whole.experts.ids.size());
  }
}

TEST_F(EngineControlTest, AbortReportsProgressAndAnotherEngineGoesOnFromIt) {
  StepClock clock;
  TestEngine engine(Options(), clock), other;
  Load(engine);
  Load(other);
  RolloutRequest request = Request(0, 70, 3, 200);
  const auto want = other.Sample(request);
  ASSERT_TRUE(want.ok());
  request.progress_every_tokens = 50;
  Reports reports;
  absl::Status control;
  const absl::Status status = RunAndMeet(engine, clock, request, &reports, [&] {
    std::thread abort([&] { control = engine->Control(RolloutCommand::kAbort, kForever); });
    std::this_thread::yield();
    met_ = true;
    abort.join();
  });
  EXPECT_TRUE(control.ok()) << control;
  ASSERT_TRUE(absl::IsAborted(status)) << status;
  ASSERT_EQ(reports.size(), 3u);
  for (const auto& [index, parts] : reports) {
    EXPECT_EQ(parts.back().finish_reason, FinishReason::kUnspecified);
    ExpectPrefix(parts.back(), want->at(index));
    request.begun.push_back(parts.back());
  }
  const auto got = other.Sample(request);
  ASSERT_TRUE(got.ok()) << got.status();
  for (uint32_t index : {0u, 1u, 2u}) {
    EXPECT_EQ(got->at(index).tokens, want->at(index).tokens);
    EXPECT_EQ(got->at(index).raw_logprobs, want->at(index).raw_logprobs);
    EXPECT_EQ(got->at(index).spans, want->at(index).spans);
  }
  request.begun.clear();
  EXPECT_TRUE(engine.Sample(request).ok()) << "later calls are taken";
}

TEST_F(EngineControlTest, ErrorsComeAfterAReportOfProgress) {
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine);
  RolloutRequest request = Request(0, 5, 2, 400);
  request.progress_every_tokens = 1000;
  request.deadline = clock.Now() + absl::Seconds(10);
  clock.At(20, [&] { clock.Advance(absl::Seconds(20)); });
  Reports reports;
  EXPECT_TRUE(absl::IsDeadlineExceeded(Run(engine, request, &reports)));
  ASSERT_EQ(reports.size(), 2u);
  for (const auto& [index, parts] : reports) {
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_GT(parts[0].tokens.size(), 10u);
  }
}

TEST_F(EngineControlTest, WhilePausedNothingIsComputedButDeadlinesAndCancellationsCount) {
  TestEngine engine;
  Load(engine);
  ASSERT_TRUE(engine->Control(RolloutCommand::kPause, kForever).ok());
  ASSERT_TRUE(engine->Control(RolloutCommand::kPause, kForever).ok()) << "idempotent";
  EXPECT_TRUE(engine->GetState()->paused);
  RolloutRequest late = Request(0, 5, 2, 5);
  late.deadline = absl::Now() + absl::Milliseconds(20);
  EXPECT_TRUE(absl::IsDeadlineExceeded(engine.Sample(late).status()));
  CancelToken cancel;
  absl::Status cancelled;
  std::thread waiting([&] { cancelled = engine.Sample(Request(1, 5, 2, 5), cancel).status(); });
  while (engine->GetState()->queued == 0) std::this_thread::yield();
  cancel.Cancel();
  waiting.join();
  EXPECT_TRUE(absl::IsCancelled(cancelled)) << cancelled;
  EXPECT_EQ(engine.Metric("sluice_tokens_generated_total"), 0);
  absl::Status aborted, resumed;
  std::thread second([&] { aborted = engine.Sample(Request(1, 5, 2, 5)).status(); });
  while (engine->GetState()->queued == 0) std::this_thread::yield();
  EXPECT_TRUE(engine->Control(RolloutCommand::kAbort, kForever).ok());
  second.join();
  EXPECT_TRUE(absl::IsAborted(aborted)) << aborted;
  std::thread third([&] { resumed = engine.Sample(Request(1, 5, 2, 5)).status(); });
  while (engine->GetState()->queued == 0) std::this_thread::yield();
  EXPECT_TRUE(engine->Control(RolloutCommand::kResume, kForever).ok());
  third.join();
  EXPECT_TRUE(resumed.ok()) << resumed;
  EXPECT_FALSE(engine->GetState()->paused);
}

TEST_F(EngineControlTest, DrainLetsRunningCallsEndAndTakesNoOthers) {
  StepClock clock;
  TestEngine engine(Options(), clock);
  Load(engine);
  Reports reports;
  absl::Status drain, refused;
  const absl::Status status = RunAndMeet(engine, clock, Request(0, 5, 2, 60), &reports, [&] {
    std::thread draining([&] { drain = engine->Control(RolloutCommand::kDrain, kForever); });
    while (!engine->GetState()->draining) std::this_thread::yield();
    refused = engine.Sample(Request(1, 5, 1, 3)).status();
    met_ = true;
    draining.join();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(drain.ok()) << drain;
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_TRUE(absl::IsUnavailable(engine.Sample(Request(1, 5, 1, 3)).status()));
  EXPECT_TRUE(engine->Control(RolloutCommand::kDrain, kForever).ok()) << "idempotent";
  EXPECT_TRUE(engine->Control(RolloutCommand::kResume, kForever).ok());
  EXPECT_TRUE(engine.Sample(Request(1, 5, 1, 3)).ok());
}

TEST_F(EngineControlTest, ACommandThatCannotEndInTimeSaysWhatItWaitsFor) {
  TestEngine engine;
  Load(engine);
  ASSERT_TRUE(engine->Control(RolloutCommand::kPause, kForever).ok());
  std::thread waiting([&] { engine.Sample(Request(0, 5, 1, 3)).status().IgnoreError(); });
  while (engine->GetState()->queued == 0) std::this_thread::yield();
  const absl::Status status = engine->Control(RolloutCommand::kDrain, absl::Now() + absl::Milliseconds(20));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("running calls"));
  EXPECT_TRUE(engine->Control(RolloutCommand::kResume, kForever).ok());
  waiting.join();
}

TEST_F(EngineControlTest, ABegunCompletionThatHasEndedIsHandedOverAsItIs) {
  TestEngine engine;
  Load(engine);
  RolloutRequest request = Request(0, 70, 2, 9);
  const auto want = engine.Sample(request);
  ASSERT_TRUE(want.ok());
  for (const auto& [index, t] : *want) request.begun.push_back(BegunOf(t, 9, 70));
  const double before = engine.Metric("sluice_tokens_generated_total");
  const auto got = engine.Sample(request);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(engine.Metric("sluice_tokens_generated_total"), before);
  for (const auto& [index, t] : *want) {
    EXPECT_EQ(got->at(index).tokens, t.tokens);
    EXPECT_EQ(got->at(index).finish_reason, FinishReason::kLength);
    EXPECT_EQ(got->at(index).text, t.text);
  }
}

TEST_F(EngineControlTest, BegunCompletionsThatCannotBeAreRefused) {
  TestEngine engine;
  Load(engine);
  RolloutRequest good = Request(0, 20, 2, 12);
  good.sampling.top_logprobs = 2;
  good.sampling.record_experts = true;
  const auto want = engine.Sample(good);
  ASSERT_TRUE(want.ok()) << want.status();
  good.begun = {BegunOf(want->at(0), 6, 20), BegunOf(want->at(1), 3, 20)};
  const std::pair<const char*, std::function<void(RolloutRequest&)>> table[] = {
      {"draw", [](RolloutRequest& r) { r.begun[0].key.draw = 9; }},
      {"index 7", [](RolloutRequest& r) { r.begun[0].key.index = 7; }},
      {"twice", [](RolloutRequest& r) { r.begun[1] = r.begun[0]; }},
      {"begun.tokens[2]", [](RolloutRequest& r) { r.begun[0].tokens[2] = testing_model::kVocab; }},
      {"log-probabilities", [](RolloutRequest& r) { r.begun[0].raw_logprobs.pop_back(); }},
      {"log-probabilities", [](RolloutRequest& r) { r.begun[0].processed_logprobs.push_back(0); }},
      {"spans", [](RolloutRequest& r) { r.begun[0].spans[0].end = 5; }},
      {"spans", [](RolloutRequest& r) { r.begun[0].spans.clear(); }},
      {"alternatives", [](RolloutRequest& r) { r.begun[0].alternatives.pop_back(); }},
      {"experts", [](RolloutRequest& r) { r.begun[0].experts.ids.pop_back(); }},
      {"max_new_tokens", [](RolloutRequest& r) { r.sampling.max_new_tokens = 5; }},
      {"ends at token 2", [](RolloutRequest& r) { r.sampling.stop_token_ids = {r.begun[1].tokens[1]}; }},
      {"progress_every_tokens", [](RolloutRequest& r) { r.progress_every_tokens = -1; }},
  };
  for (const auto& [message, spoil] : table) {
    RolloutRequest request = good;
    spoil(request);
    const absl::Status status = engine.Sample(request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << message << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
  EXPECT_TRUE(engine.Sample(good).ok());
}

}  // namespace
}  // namespace sluice
