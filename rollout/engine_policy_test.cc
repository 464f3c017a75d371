// Which policy version serves whom.
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

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

absl::Status Load(TestEngine& engine, const PolicyRef& ref) {
  return engine->LoadPolicy(ref, SwapMode::kFinish, absl::InfiniteFuture());
}

TEST(EnginePolicyTest, ACorruptTensorIsNamedAndTheOldVersionStays) {
  Publisher publisher;
  TestEngine engine;
  ASSERT_TRUE(Load(engine, publisher.Publish("job", 0)).ok());
  const auto before = engine.Sample(Request(0, 5, 2, 8));
  const absl::Status status = Load(engine, publisher.PublishCorrupt("job", 1));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("tensor model.layers."));
  EXPECT_EQ(engine->policy()->version, 0);
  EXPECT_EQ(engine.Metric("sluice_policy_version"), 0);
  const auto after = engine.Sample(Request(0, 5, 2, 8));
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(before->at(1).raw_logprobs, after->at(1).raw_logprobs);
  EXPECT_TRUE(Load(engine, publisher.Publish("job", 2)).ok()) << "a good version is still taken";
}

TEST(EnginePolicyTest, ASwapLeavesRunningSequencesOnTheirVersion) {
  Publisher publisher;
  const PolicyRef v0 = publisher.Publish("job", 0), v1 = publisher.Publish("job", 1);
  TestEngine undisturbed;
  ASSERT_TRUE(Load(undisturbed, v0).ok());
  const auto want0 = undisturbed.Sample(Request(0, 70, 3, 60));
  ASSERT_TRUE(Load(undisturbed, v1).ok());
  const auto want1 = undisturbed.Sample(Request(1, 70, 3, 60));
  ASSERT_TRUE(want0.ok() && want1.ok());

  StepClock clock;
  TestEngine engine(Options(), clock);
  ASSERT_TRUE(Load(engine, v0).ok());
  absl::Status load = absl::UnknownError("not run");
  std::thread second;
  absl::StatusOr<std::map<uint32_t, Trajectory>> got1 = absl::UnknownError("not run");
  // In the middle of the first request the policy is swapped and the second request arrives: both run in one
  // batch.
  clock.At(20, [&] {
    load = Load(engine, v1);
    second = std::thread([&] { got1 = engine.Sample(Request(1, 70, 3, 60)); });
    while (engine->GetState()->queued == 0) std::this_thread::yield();
  });
  const auto got0 = engine.Sample(Request(0, 70, 3, 60));
  second.join();
  ASSERT_TRUE(load.ok()) << load;
  ASSERT_TRUE(got0.ok() && got1.ok()) << got0.status() << got1.status();
  for (uint32_t index : {0u, 1u, 2u}) {
    EXPECT_EQ(got0->at(index).spans, want0->at(index).spans);
    EXPECT_EQ(got0->at(index).spans[0].version, 0);
    EXPECT_EQ(got0->at(index).raw_logprobs, want0->at(index).raw_logprobs);
    EXPECT_EQ(got1->at(index).spans[0].version, 1);
    EXPECT_EQ(got1->at(index).spans[0].manifest_hash, v1.manifest_hash);
    EXPECT_EQ(got1->at(index).raw_logprobs, want1->at(index).raw_logprobs);
  }
}

TEST(EnginePolicyTest, AnOldPolicyIsFreedWithItsLastSequence) {
  Publisher publisher;
  TestEngine engine;
  ASSERT_TRUE(Load(engine, publisher.Publish("job", 0)).ok());
  ASSERT_TRUE(engine.Sample(Request(0, 5, 2, 8)).ok());
  const std::weak_ptr<const LoadedPolicy> old = engine->policy();
  ASSERT_TRUE(Load(engine, publisher.Publish("job", 1)).ok());
  EXPECT_TRUE(old.expired());
}

TEST(EnginePolicyTest, AWaitingRequestOfAReplacedJobIsToldSo) {
  Publisher publisher;
  const PolicyRef job = publisher.Publish("job", 0), next = publisher.Publish("next", 0);
  StepClock clock;
  EngineOptions options = Options();
  options.max_running_sequences = 1;
  TestEngine engine(options, clock);
  ASSERT_TRUE(Load(engine, job).ok());
  std::thread second;
  absl::Status waiting;
  clock.At(10, [&] {
    second = std::thread([&] { waiting = engine.Sample(Request(1, 5, 1, 3)).status(); });
    while (engine->GetState()->queued == 0) std::this_thread::yield();
    ASSERT_TRUE(Load(engine, next).ok());
  });
  EXPECT_TRUE(engine.Sample(Request(0, 5, 1, 40)).ok()) << "the running one finishes on its policy";
  second.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(waiting)) << waiting;
}

TEST(EnginePolicyTest, TheSameVersionWithOtherContentIsDataLoss) {
  Publisher publisher;
  TestEngine engine;
  PolicyRef ref = publisher.Publish("job", 0);
  ASSERT_TRUE(Load(engine, ref).ok());
  ref.manifest_hash = std::string(64, '0');
  EXPECT_TRUE(absl::IsDataLoss(Load(engine, ref)));
}

TEST(EnginePolicyTest, RefusesRefsThatCannotBeFetched) {
  Publisher publisher;
  TestEngine engine;
  const PolicyRef good = publisher.Publish("job", 0);
  PolicyRef ref = good;
  ref.job = "";
  EXPECT_TRUE(absl::IsInvalidArgument(Load(engine, ref)));
  ref = good;
  ref.version = -1;
  EXPECT_TRUE(absl::IsInvalidArgument(Load(engine, ref)));
  ref = good;
  ref.manifest_hash = "abc";
  EXPECT_TRUE(absl::IsInvalidArgument(Load(engine, ref)));
  ref = good;
  ref.version = 9;
  EXPECT_TRUE(absl::IsNotFound(Load(engine, ref)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(engine->LoadPolicy(good, SwapMode::kFinish, absl::UnixEpoch())));
  EngineOptions options = Options();
  options.open_channel = nullptr;
  TestEngine closed(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(Load(closed, good)));
  EXPECT_EQ(engine->policy(), nullptr);
}

TEST(EnginePolicyTest, Float32PoliciesAreServedAsStored) {
  Publisher publisher;
  TestEngine stored, rounded([] {
    EngineOptions options = Options();
    options.dtype = DType::kBF16;
    return options;
  }());
  const PolicyRef ref = publisher.Publish("job", 0, DType::kF32);
  ASSERT_TRUE(Load(stored, ref).ok());
  ASSERT_TRUE(Load(rounded, ref).ok());
  const auto a = stored->ScoreTokens("job", {1, 2, 3, 4}), b = rounded->ScoreTokens("job", {1, 2, 3, 4});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->logprobs, b->logprobs);
  for (size_t i = 0; i < a->logprobs.size(); ++i) EXPECT_NEAR(a->logprobs[i], b->logprobs[i], 0.5);
}

TEST(EnginePolicyTest, ADirectoryIsServedAsTheLocalJob) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/engine_directory_", getpid());
  ASSERT_TRUE(RemoveTree(path).ok());
  ASSERT_TRUE(
      WriteModelDirectory(path, testing_model::Files(), testing_model::Tensors(11), DType::kBF16).ok());
  Publisher publisher;
  TestEngine fetched, direct;
  ASSERT_TRUE(Load(fetched, publisher.Publish("job", 0)).ok());  // the same tensors: seed 11
  const absl::Status status = direct->LoadDirectory(path);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(direct->GetState()->job, "local");
  EXPECT_EQ(direct->GetState()->version, 0);
  const auto a = fetched->ScoreTokens("job", {1, 2, 3, 4}), b = direct->ScoreTokens("local", {1, 2, 3, 4});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->logprobs, b->logprobs);
  EXPECT_FALSE(direct->LoadDirectory(path + "/absent").ok());
  EXPECT_TRUE(RemoveTree(path).ok());
}

}  // namespace
}  // namespace sluice
