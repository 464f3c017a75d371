// What every RolloutWorker does, whatever is behind it. Included by one file of a test binary, which
// instantiates RolloutWorkerContract with its cases:
//
//   INSTANTIATE_TEST_SUITE_P(Engine, RolloutWorkerContract, ::testing::Values(RolloutWorkerCase{"Direct",
//   &Make}),
//                            RolloutWorkerCaseName);
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/rl/rollout_worker.h"
#include "gtest/gtest.h"

namespace sluice {

// A worker with the means to give it policies.
class RolloutWorkerSubject {
 public:
  virtual ~RolloutWorkerSubject() = default;
  virtual RolloutWorker& worker() = 0;
  // Makes a version that the worker can fetch; versions differ in content. Models have a vocabulary of at
  // least 256.
  virtual PolicyRef Publish(const JobId& job, PolicyVersion version) = 0;
  // One whose bytes do not match its manifest; empty where the subject cannot make one.
  virtual std::optional<PolicyRef> PublishCorrupt(const JobId& job, PolicyVersion version) = 0;
  virtual int32_t vocab() const = 0;
  virtual int64_t max_positions() const = 0;
};

struct RolloutWorkerCase {
  std::string name;
  std::function<std::unique_ptr<RolloutWorkerSubject>()> make;
};
inline void PrintTo(const RolloutWorkerCase& c, std::ostream* out) { *out << c.name; }
inline std::string RolloutWorkerCaseName(const ::testing::TestParamInfo<RolloutWorkerCase>& info) {
  return info.param.name;
}

class RolloutWorkerContract : public ::testing::TestWithParam<RolloutWorkerCase> {
 protected:
  void SetUp() override {
    subject_ = GetParam().make();
    ASSERT_NE(subject_, nullptr);
  }
  RolloutWorker& worker() { return subject_->worker(); }
  static absl::Time Soon() { return absl::Now() + absl::Minutes(2); }

  void Load(const PolicyRef& ref) {
    const absl::Status status = worker().LoadPolicy(ref, SwapMode::kFinish, Soon());
    ASSERT_TRUE(status.ok()) << status;
  }
  RolloutRequest Request(Draw draw = 5) const {
    RolloutRequest out;
    out.job = "job";
    out.seed = 42;
    out.draw = draw;
    out.indices = {0, 1, 2};
    out.attempt = 4;
    out.prompt_tokens = {10, 20, 30, 40, 50};
    out.sampling.max_new_tokens = 9;
    out.sampling.ignore_eos = true;
    out.deadline = Soon();
    return out;
  }
  absl::Status Run(const RolloutRequest& request, std::map<uint32_t, Trajectory>* out) {
    return worker().Generate(request, CancelToken(), [&](Trajectory t) {
      if (t.finish_reason == FinishReason::kUnspecified) return;  // progress
      EXPECT_EQ(out->count(t.key.index), 0u) << "handed over twice";
      (*out)[t.key.index] = std::move(t);
    });
  }
  std::map<uint32_t, Trajectory> Sample(const RolloutRequest& request) {
    std::map<uint32_t, Trajectory> out;
    const absl::Status status = Run(request, &out);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(out.size(), request.indices.size());
    return out;
  }
  absl::Status Error(const RolloutRequest& request) {
    std::map<uint32_t, Trajectory> out;
    return Run(request, &out);
  }

  std::unique_ptr<RolloutWorkerSubject> subject_;
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RolloutWorkerContract);

TEST_P(RolloutWorkerContract, StateNamesThePolicyServed) {
  auto state = worker().GetState();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->job, "");
  EXPECT_EQ(state->version, kNoPolicyVersion);
  Load(subject_->Publish("job", 3));
  state = worker().GetState();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->job, "job");
  EXPECT_EQ(state->version, 3);
  EXPECT_NE(state->kernel_path, "");
}

TEST_P(RolloutWorkerContract, RefusesToSampleWithoutThePolicyOfTheJob) {
  EXPECT_EQ(Error(Request()).code(), absl::StatusCode::kFailedPrecondition);
  Load(subject_->Publish("other", 0));
  EXPECT_EQ(Error(Request()).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_P(RolloutWorkerContract, HandsOverEachMemberOnceWithAllThatTheLearnerNeeds) {
  const PolicyRef ref = subject_->Publish("job", 2);
  Load(ref);
  const RolloutRequest request = Request();
  for (const auto& [index, t] : Sample(request)) {
    EXPECT_EQ(t.key, (SampleKey{request.draw, index}));
    EXPECT_EQ(t.attempt, request.attempt);
    EXPECT_NE(t.worker, "");
    EXPECT_EQ(t.finish_reason, FinishReason::kLength);
    ASSERT_EQ(t.tokens.size(), 9u);
    ASSERT_EQ(t.raw_logprobs.size(), t.tokens.size());
    ASSERT_EQ(t.processed_logprobs.size(), t.tokens.size());
    for (size_t i = 0; i < t.tokens.size(); ++i) {
      EXPECT_GE(t.tokens[i], 0);
      EXPECT_LT(t.tokens[i], subject_->vocab());
      EXPECT_LE(t.raw_logprobs[i], 0);
      EXPECT_LE(t.processed_logprobs[i], 0);
    }
    ASSERT_EQ(t.spans.size(), 1u);
    EXPECT_EQ(t.spans[0].begin, 0);
    EXPECT_EQ(t.spans[0].end, 9);
    EXPECT_EQ(t.spans[0].version, 2);
    EXPECT_EQ(t.spans[0].manifest_hash, ref.manifest_hash);
    EXPECT_NE(t.spans[0].kernel_path, "");
  }
}

TEST_P(RolloutWorkerContract, SamplesArePureFunctionsOfTheirKey) {
  Load(subject_->Publish("job", 0));
  const auto first = Sample(Request());
  RolloutRequest one = Request();
  one.indices = {2};
  one.attempt = 5;
  const auto again = Sample(one);
  EXPECT_EQ(again.at(2).tokens, first.at(2).tokens);
  EXPECT_EQ(again.at(2).raw_logprobs, first.at(2).raw_logprobs);
  EXPECT_NE(first.at(0).tokens, first.at(1).tokens);
  EXPECT_NE(Sample(Request(6)).at(0).tokens, first.at(0).tokens);
  RolloutRequest evaluation = Request();
  evaluation.domain = RandomDomain::kEvaluation;
  EXPECT_NE(Sample(evaluation).at(0).tokens, first.at(0).tokens);
}

TEST_P(RolloutWorkerContract, AStopTokenEndsACompletionAndIsKept) {
  Load(subject_->Publish("job", 0));
  RolloutRequest request = Request();
  request.indices = {1};
  const std::vector<int32_t> whole = Sample(request).at(1).tokens;
  const int32_t stop = whole[4];
  request.sampling.stop_token_ids = {stop};
  const Trajectory cut = Sample(request).at(1);
  const auto end = std::find(whole.begin(), whole.end(), stop) + 1;
  EXPECT_EQ(cut.tokens, std::vector<int32_t>(whole.begin(), end));
  EXPECT_EQ(cut.finish_reason, FinishReason::kStop);
  EXPECT_EQ(cut.raw_logprobs.size(), cut.tokens.size());
  EXPECT_EQ(cut.spans.back().end, static_cast<int32_t>(cut.tokens.size()));
}

TEST_P(RolloutWorkerContract, RefusesBadRequests) {
  Load(subject_->Publish("job", 0));
  const auto code = [&](const std::function<void(RolloutRequest&)>& spoil) {
    RolloutRequest request = Request();
    spoil(request);
    return Error(request).code();
  };
  const auto bad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code([](RolloutRequest& r) { r.indices.clear(); }), bad);
  EXPECT_EQ(code([](RolloutRequest& r) { r.prompt_tokens.clear(); }), bad);
  EXPECT_EQ(code([](RolloutRequest& r) { r.prompt_tokens[1] = -1; }), bad);
  EXPECT_EQ(code([&](RolloutRequest& r) { r.prompt_tokens[1] = subject_->vocab(); }), bad);
  EXPECT_EQ(code([](RolloutRequest& r) { r.sampling.max_new_tokens = 0; }), bad);
  EXPECT_EQ(code([&](RolloutRequest& r) {
              r.sampling.max_new_tokens = static_cast<int32_t>(subject_->max_positions());
            }),
            bad);
  EXPECT_TRUE(Error(Request()).ok()) << "a bad request leaves the worker usable";
}

TEST_P(RolloutWorkerContract, LoadingIsIdempotentAndNeverGoesBack) {
  const PolicyRef old = subject_->Publish("job", 1), current = subject_->Publish("job", 4);
  Load(old);
  Load(current);
  Load(current);
  EXPECT_EQ(worker().LoadPolicy(old, SwapMode::kFinish, Soon()).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(worker().GetState()->version, 4);
  EXPECT_EQ(Sample(Request()).at(0).spans[0].manifest_hash, current.manifest_hash);
}

TEST_P(RolloutWorkerContract, APolicyOfAnotherJobTakesOver) {
  Load(subject_->Publish("job", 7));
  Load(subject_->Publish("next", 0));
  EXPECT_EQ(worker().GetState()->job, "next");
  RolloutRequest request = Request();
  request.job = "next";
  EXPECT_EQ(Sample(request).at(0).spans[0].version, 0);
}

TEST_P(RolloutWorkerContract, ACorruptPolicyIsRefusedAndTheOldOneStays) {
  Load(subject_->Publish("job", 0));
  const std::optional<PolicyRef> corrupt = subject_->PublishCorrupt("job", 1);
  if (!corrupt.has_value()) GTEST_SKIP() << "this subject has no bytes to corrupt";
  EXPECT_EQ(worker().LoadPolicy(*corrupt, SwapMode::kFinish, Soon()).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(worker().GetState()->version, 0);
  EXPECT_EQ(Sample(Request()).at(0).spans[0].version, 0);
}

TEST_P(RolloutWorkerContract, CancellationAndDeadlineEndACall) {
  Load(subject_->Publish("job", 0));
  CancelToken cancel;
  cancel.Cancel();
  EXPECT_EQ(worker().Generate(Request(), cancel, [](Trajectory) {}).code(), absl::StatusCode::kCancelled);
  RolloutRequest late = Request();
  late.deadline = absl::UnixEpoch();
  EXPECT_EQ(Error(late).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(Error(Request()).ok());
}

TEST_P(RolloutWorkerContract, OverlappingCallsDoNotMix) {
  Load(subject_->Publish("job", 0));
  std::vector<std::map<uint32_t, Trajectory>> alone, together(4);
  for (Draw draw = 0; draw < 4; ++draw) alone.push_back(Sample(Request(draw)));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < together.size(); ++i) {
    threads.emplace_back([&, i] { together[i] = Sample(Request(static_cast<Draw>(i))); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < together.size(); ++i) {
    ASSERT_EQ(together[i].size(), alone[i].size());
    for (const auto& [index, t] : together[i]) {
      EXPECT_EQ(t.key.draw, i);
      EXPECT_EQ(t.tokens, alone[i].at(index).tokens);
      EXPECT_EQ(t.raw_logprobs, alone[i].at(index).raw_logprobs);
    }
  }
}

TEST_P(RolloutWorkerContract, RefusesSamplingOutOfRange) {
  Load(subject_->Publish("job", 0));
  const std::function<void(RolloutRequest&)> spoils[] = {
      [](RolloutRequest& r) { r.sampling.temperature = -1; },
      [](RolloutRequest& r) { r.sampling.top_p = 0; },
      [](RolloutRequest& r) { r.sampling.min_p = 2; },
      [](RolloutRequest& r) { r.sampling.repetition_penalty = 0; },
      [](RolloutRequest& r) { r.sampling.frequency_penalty = 1e9f; },
      [](RolloutRequest& r) { r.sampling.min_new_tokens = r.sampling.max_new_tokens + 1; },
      [](RolloutRequest& r) { r.sampling.top_logprobs = 21; },
      [](RolloutRequest& r) { r.sampling.logit_bias[-1] = 1; },
      [&](RolloutRequest& r) { r.sampling.logit_bias[subject_->vocab()] = 1; },
      [](RolloutRequest& r) {
        for (int32_t i = 0; i < 1025; ++i) r.sampling.logit_bias[i] = 1;
      },
  };
  for (const auto& spoil : spoils) {
    RolloutRequest request = Request();
    spoil(request);
    EXPECT_EQ(Error(request).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(RolloutWorkerContract, AlternativesAreReportedMostProbableFirst) {
  Load(subject_->Publish("job", 0));
  RolloutRequest request = Request();
  request.sampling.top_logprobs = 3;
  for (const auto& [index, t] : Sample(request)) {
    ASSERT_EQ(t.alternatives.size(), t.tokens.size() * 3);
    for (size_t i = 0; i < t.alternatives.size(); ++i) {
      if (i % 3 == 0) continue;
      EXPECT_LE(t.alternatives[i].raw_logprob, t.alternatives[i - 1].raw_logprob);
    }
  }
}

TEST_P(RolloutWorkerContract, ExpertsAreOfAllTokensThatWereFed) {
  Load(subject_->Publish("job", 0));
  RolloutRequest request = Request();
  request.sampling.record_experts = true;
  for (const auto& [index, t] : Sample(request)) {
    EXPECT_EQ(t.experts.ids.size(), (request.prompt_tokens.size() + t.tokens.size() - 1) *
                                        static_cast<size_t>(t.experts.moe_layers * t.experts.per_token));
  }
}

TEST_P(RolloutWorkerContract, ProgressComesBeforeTheWhole) {
  Load(subject_->Publish("job", 0));
  RolloutRequest request = Request();
  const auto want = Sample(request);
  request.progress_every_tokens = 4;
  std::map<uint32_t, std::vector<Trajectory>> got;
  const absl::Status status = worker().Generate(
      request, CancelToken(), [&](Trajectory t) { got[t.key.index].push_back(std::move(t)); });
  ASSERT_TRUE(status.ok()) << status;
  for (const auto& [index, whole] : want) {
    const std::vector<Trajectory>& parts = got[index];
    ASSERT_FALSE(parts.empty());
    EXPECT_EQ(parts.back().tokens, whole.tokens);
    EXPECT_EQ(parts.back().finish_reason, whole.finish_reason);
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const Trajectory& part = parts[i];
      EXPECT_EQ(part.finish_reason, FinishReason::kUnspecified);
      EXPECT_EQ(part.tokens.size() % 4, 0u);
      ASSERT_LT(part.tokens.size(), whole.tokens.size());
      EXPECT_TRUE(std::equal(part.tokens.begin(), part.tokens.end(), whole.tokens.begin()));
      EXPECT_EQ(part.raw_logprobs.size(), part.tokens.size());
      ASSERT_FALSE(part.spans.empty());
      EXPECT_EQ(part.spans.back().end, static_cast<int32_t>(part.tokens.size()));
    }
  }
}

TEST_P(RolloutWorkerContract, BegunCompletionsGoOnToTheSameResult) {
  Load(subject_->Publish("job", 0));
  RolloutRequest request = Request();
  request.sampling.top_logprobs = 2;
  const auto want = Sample(request);
  for (uint32_t index : {0u, 2u}) {  // 1 stays fresh
    Trajectory part = want.at(index);
    const size_t tokens = 3 + index;
    part.tokens.resize(tokens);
    part.raw_logprobs.resize(tokens);
    part.processed_logprobs.resize(tokens);
    part.alternatives.resize(tokens * 2);
    part.spans.back().end = static_cast<int32_t>(tokens);
    part.finish_reason = FinishReason::kUnspecified;
    request.begun.push_back(part);
  }
  for (const auto& [index, t] : Sample(request)) {
    EXPECT_EQ(t.tokens, want.at(index).tokens);
    EXPECT_EQ(t.raw_logprobs, want.at(index).raw_logprobs);
    EXPECT_EQ(t.processed_logprobs, want.at(index).processed_logprobs);
    EXPECT_EQ(t.alternatives, want.at(index).alternatives);
    EXPECT_EQ(t.spans, want.at(index).spans);
    EXPECT_EQ(t.text, want.at(index).text);
  }
  request.begun[0].key.index = 77;
  EXPECT_EQ(Error(request).code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(RolloutWorkerContract, ABegunCompletionOfAnOlderVersionSaysWhereTheNewOneBegins) {
  const PolicyRef old = subject_->Publish("job", 0), current = subject_->Publish("job", 1);
  Load(old);
  RolloutRequest request = Request();
  request.indices = {1};
  Trajectory part = Sample(request).at(1);
  part.tokens.resize(5);
  part.raw_logprobs.resize(5);
  part.processed_logprobs.resize(5);
  part.spans.back().end = 5;
  part.finish_reason = FinishReason::kUnspecified;
  request.begun = {part};
  Load(current);
  const Trajectory got = Sample(request).at(1);
  ASSERT_EQ(got.spans.size(), 2u);
  EXPECT_EQ(got.spans[0], part.spans[0]);
  EXPECT_EQ(got.spans[1].begin, 5);
  EXPECT_EQ(got.spans[1].end, static_cast<int32_t>(got.tokens.size()));
  EXPECT_EQ(got.spans[1].manifest_hash, current.manifest_hash);
  EXPECT_TRUE(std::equal(part.raw_logprobs.begin(), part.raw_logprobs.end(), got.raw_logprobs.begin()));
}

TEST_P(RolloutWorkerContract, APauseHoldsCallsUntilTheyResumeOrAreAborted) {
  Load(subject_->Publish("job", 0));
  const auto want = Sample(Request());
  for (RolloutCommand end : {RolloutCommand::kResume, RolloutCommand::kAbort}) {
    ASSERT_TRUE(worker().Control(RolloutCommand::kPause, Soon()).ok());
    ASSERT_TRUE(worker().Control(RolloutCommand::kPause, Soon()).ok());
    EXPECT_TRUE(worker().GetState()->paused);
    std::map<uint32_t, Trajectory> got;
    absl::Status status;
    std::thread call([&] { status = Run(Request(), &got); });
    while (worker().GetState()->queued + worker().GetState()->running == 0) std::this_thread::yield();
    EXPECT_TRUE(worker().Control(end, Soon()).ok());
    call.join();
    if (end == RolloutCommand::kResume) {
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_EQ(got.at(1).raw_logprobs, want.at(1).raw_logprobs);
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
      EXPECT_TRUE(got.empty());
    }
  }
  EXPECT_TRUE(worker().Control(RolloutCommand::kResume, Soon()).ok());
  EXPECT_FALSE(worker().GetState()->paused);
  EXPECT_TRUE(Error(Request()).ok());
}

TEST_P(RolloutWorkerContract, ADrainedWorkerTakesNoCallsUntilItResumes) {
  Load(subject_->Publish("job", 0));
  ASSERT_TRUE(worker().Control(RolloutCommand::kDrain, Soon()).ok());
  EXPECT_TRUE(worker().GetState()->draining);
  EXPECT_EQ(Error(Request()).code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(worker().Control(RolloutCommand::kResume, Soon()).ok());
  EXPECT_TRUE(Error(Request()).ok());
}

}  // namespace sluice
