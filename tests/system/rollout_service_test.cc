// A private rollout worker as a process: one model directory, no coordinator.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/demo/random_model.h"
#include "services/clients/remote_rollout_worker.h"
#include "tests/system/service_process.h"

namespace sluice::system_test {
namespace {

using testing::HasSubstr;

class RolloutServiceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cli::WriteDemoModel({}, 1, folder_ / "model").ok()); }

  std::vector<std::string> Command(const std::string& dtype = "bf16") {
    return {BinaryPath("sluice-rollout"),
            "--model",
            folder_ / "model",
            "--dtype",
            dtype,
            "--cache-bytes",
            "33554432"};
  }
  static RolloutRequest Request() {
    RolloutRequest request;
    request.job = "local";
    request.seed = 5;
    request.draw = 9;
    request.indices = {0, 1, 2};
    request.prompt_tokens = {3, 4, 5, 6};
    request.sampling.max_new_tokens = 12;
    request.sampling.ignore_eos = true;
    request.deadline = absl::Now() + absl::Seconds(60);
    return request;
  }
  static absl::StatusOr<std::map<uint32_t, Trajectory>> Sample(RolloutWorker& worker) {
    std::map<uint32_t, Trajectory> out;
    absl::Status status =
        worker.Generate(Request(), CancelToken(), [&](Trajectory t) { out[t.key.index] = std::move(t); });
    if (!status.ok()) return status;
    return out;
  }
  TemporaryFolder folder_;
};

TEST_F(RolloutServiceTest, ServesItsModelAndSamplesTheSameInAnyProcess) {
  ServiceProcess one(Command());
  std::vector<std::string> threads = Command();
  threads.insert(threads.end(), {"--threads", "2"});
  ServiceProcess two(threads);
  ASSERT_TRUE(one.AwaitServing());
  ASSERT_TRUE(two.AwaitServing());
  RemoteRolloutWorker first(*Connect(one.address())), second(*Connect(two.address()));
  auto state = first.GetState();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->job, "local");
  EXPECT_EQ(state->version, 0);
  auto a = Sample(first), b = Sample(second);
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  ASSERT_EQ(a->size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(a->at(i).tokens.size(), 12u);
    EXPECT_EQ(a->at(i).tokens, b->at(i).tokens);
    EXPECT_EQ(a->at(i).raw_logprobs, b->at(i).raw_logprobs);  // bit for bit
  }
  EXPECT_NE(a->at(0).tokens, a->at(1).tokens);
  EXPECT_EQ(one.Stop().ToString(), "exit code 0");
}

TEST_F(RolloutServiceTest, ScoringGivesTheLogProbabilitiesOfSampling) {
  ServiceProcess service(Command("fp32"));
  ASSERT_TRUE(service.AwaitServing());
  Peer peer = *Connect(service.address());
  RemoteRolloutWorker worker(peer);
  auto sampled = Sample(worker);
  ASSERT_TRUE(sampled.ok()) << sampled.status();
  v1::ScoreTokensRequest request;
  request.set_job("local");
  for (int32_t t : Request().prompt_tokens) request.add_tokens(t);
  for (int32_t t : sampled->at(0).tokens) request.add_tokens(t);
  v1::ScoreTokensResponse response;
  ClientCall call(peer, absl::Now() + absl::Seconds(60));
  auto stub = v1::RolloutService::NewStub(peer.channel);
  ASSERT_TRUE(call.Result(stub->ScoreTokens(call.context(), request, &response)).ok());
  ASSERT_EQ(response.logprobs_size(), 15);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(response.logprobs(3 + i), sampled->at(0).raw_logprobs[i]) << i;
}

TEST_F(RolloutServiceTest, WhatItDoesNotServeIsRefused) {
  ServiceProcess service(Command());
  ASSERT_TRUE(service.AwaitServing());
  RemoteRolloutWorker worker(*Connect(service.address()));
  RolloutRequest other = Request();
  other.job = "another";
  EXPECT_EQ(worker.Generate(other, CancelToken(), [](Trajectory) {}).code(),
            absl::StatusCode::kFailedPrecondition);
  RolloutRequest longer = Request();
  longer.sampling.max_new_tokens = 1 << 20;
  EXPECT_EQ(worker.Generate(longer, CancelToken(), [](Trajectory) {}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Sample(worker).ok());
}

TEST_F(RolloutServiceTest, BadModelIsAClearError) {
  ServiceProcess absent({BinaryPath("sluice-rollout"), "--model", folder_ / "none"});
  EXPECT_EQ(absent.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(absent.Log(), HasSubstr("none"));
  auto bytes = ReadFile(folder_ / "model/model.safetensors");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  ASSERT_TRUE(
      WriteFileAtomically(folder_ / "model/model.safetensors", bytes->substr(0, bytes->size() / 2)).ok());
  ServiceProcess truncated(Command());
  EXPECT_EQ(truncated.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(truncated.Log(), HasSubstr("model.safetensors"));
}

TEST_F(RolloutServiceTest, ContradictoryFlagsAreRefused) {
  std::vector<std::string> both = Command();
  both.insert(both.end(), {"--coordinator", "127.0.0.1:1"});
  ServiceProcess contradictory(both);
  EXPECT_EQ(contradictory.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(contradictory.Log(), HasSubstr("--coordinator"));
}

}  // namespace
}  // namespace sluice::system_test
