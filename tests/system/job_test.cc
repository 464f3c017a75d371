// The whole loop in processes: coordinator, learner ranks, rollout worker and the Python reward service,
// driven by the Python client.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "services/cli/demo/random_model.h"
#include "services/clients/job_client.h"
#include "sluice/v1/rollout.grpc.pb.h"
#include "tests/system/service_process.h"

namespace sluice::system_test {
namespace {

using testing::HasSubstr;

class JobTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cli::WriteDemoModel({}, 1, folder_ / "model").ok());
    std::string rows;
    for (int i = 0; i < 8; ++i)
      absl::StrAppend(&rows, "{\"id\": \"p", i, "\", \"prompt\": \"1 2 3:\", \"answer\": \"123\"}\n");
    ASSERT_TRUE(WriteFileAtomically(folder_ / "train.jsonl", rows).ok());
    ASSERT_TRUE(WriteFileAtomically(folder_ / "job.textproto", R"(
name: "system"
seed: 3
model { path: "model" dtype: BF16 }
prompts { file: "train.jsonl" max_tokens: 32 }
sampling { group_size: 4 max_new_tokens: 6 }
reward { component { name: "answer" math {} } component { name: "form" weight: 0.1 regex { pattern: "^[1-9]+$" } } }
algorithm { grpo { aggregation: TOKEN_MEAN } }
optimizer { adamw { learning_rate: 1e-4 } }
batch { groups_per_step: 4 }
staleness { max_versions: 1 }
stop { steps: 3 }
)")
                    .ok());
    coordinator_ = std::make_unique<ServiceProcess>(
        std::vector<std::string>{BinaryPath("sluice-coordinator"), "--state", folder_ / "coordinator"});
    ASSERT_TRUE(coordinator_->AwaitServing());
  }
  // A worker of the fleet.
  std::unique_ptr<ServiceProcess> Worker(const std::string& binary, const std::string& name,
                                         std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {BinaryPath(binary), "--coordinator", coordinator_->address(), "--name",
                                     name};
    argv.insert(argv.end(), more.begin(), more.end());
    auto out = std::make_unique<ServiceProcess>(std::move(argv));
    EXPECT_TRUE(out->AwaitServing());
    return out;
  }
  std::unique_ptr<ServiceProcess> Learner(int rank, int world, const std::string& rendezvous) {
    std::vector<std::string> more = {"--rank",  absl::StrCat(rank), "--world", absl::StrCat(world),
                                     "--state", folder_ / "learner"};
    if (rank > 0) more.insert(more.end(), {"--rendezvous", rendezvous});
    return Worker("sluice-learner", absl::StrCat("learner-", rank), more);
  }
  std::unique_ptr<ServiceProcess> PythonClient() {
    return std::make_unique<ServiceProcess>(
        std::vector<std::string>{"/usr/bin/python3", SourcePath("examples/python_client/client.py"),
                                 coordinator_->address(), folder_ / "job.textproto"},
        /*serves=*/false);
  }

  TemporaryFolder folder_;
  std::unique_ptr<ServiceProcess> coordinator_;
};

TEST_F(JobTest, PythonClientRunsAJobThatAPythonServiceJudges) {
  auto first = Learner(0, 2, "");
  auto second = Learner(1, 2, first->address());
  auto rollout = Worker("sluice-rollout", "rollout-0", {"--cache-bytes", "33554432"});
  ServiceProcess reward({"/usr/bin/python3", SourcePath("examples/python_reward/server.py"), "--coordinator",
                         coordinator_->address(), "--name", "reward-python"});
  ASSERT_TRUE(reward.AwaitServing());
  auto client = PythonClient();
  EXPECT_EQ(client->AwaitExit(absl::Seconds(240)).ToString(), "exit code 0")
      << client->Log() << coordinator_->Log() << first->Log() << second->Log() << rollout->Log()
      << reward.Log();
  EXPECT_THAT(client->Log(), HasSubstr("submitted "));
  EXPECT_THAT(client->Log(), HasSubstr("succeeded step 3"));

  JobClient jobs(*Connect(coordinator_->address()));
  auto all = jobs.List();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 1u);
  const v1::Ledger& ledger = all->front().ledger();
  EXPECT_EQ(ledger.trained(), 3 * 4 * 4);
  EXPECT_EQ(ledger.issued(), ledger.in_flight() + ledger.trained() + ledger.dropped_stale() +
                                 ledger.dropped_failed() + ledger.dropped_filtered() + ledger.quarantined() +
                                 ledger.cancelled() + ledger.rolled_back());
  v1::ListSamplesRequest request;
  request.set_job(all->front().job());
  int samples = 0;
  ASSERT_TRUE(jobs.ListSamples(request,
                               [&](const v1::ListSamplesResponse& sample) {
                                 ++samples;
                                 EXPECT_THAT(sample.verdict().components(0).detail(), HasSubstr("python"));
                                 return true;
                               })
                  .ok());
  EXPECT_GT(samples, 0);
}

TEST_F(JobTest, PythonClientIsToldWhatIsWrong) {
  ASSERT_TRUE(
      WriteFileAtomically(folder_ / "train.jsonl", "{\"prompt\": \"1:\", \"answer\": \"1\"}\nnot JSON\n")
          .ok());
  auto client = PythonClient();
  EXPECT_EQ(client->AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(client->Log(), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(client->Log(), HasSubstr("train.jsonl"));
  EXPECT_THAT(client->Log(), HasSubstr("2"));  // the line
}

TEST_F(JobTest, StateDirectoryIsHeldByOneProcess) {
  ServiceProcess second({BinaryPath("sluice-coordinator"), "--state", folder_ / "coordinator"});
  EXPECT_EQ(second.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(second.Log(), HasSubstr("in use"));
  auto learner = Learner(0, 1, "");
  ServiceProcess other({BinaryPath("sluice-learner"), "--state", folder_ / "learner"});
  EXPECT_EQ(other.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(other.Log(), HasSubstr("in use"));
}

TEST_F(JobTest, LearnerFlagsThatContradictAreRefused) {
  ServiceProcess beyond({BinaryPath("sluice-learner"), "--rank", "2", "--world", "2"});
  EXPECT_EQ(beyond.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(beyond.Log(), HasSubstr("--rank"));
  ServiceProcess alone({BinaryPath("sluice-learner"), "--rank", "1", "--world", "2"});
  EXPECT_EQ(alone.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(alone.Log(), HasSubstr("--rendezvous"));
  ServiceProcess stateless({BinaryPath("sluice-learner")});
  EXPECT_EQ(stateless.AwaitExit().ToString(), "exit code 2");
  EXPECT_THAT(stateless.Log(), HasSubstr("--state"));
}

// EXACT, from file to file: the learner's forward gives the rollout worker's numbers, to the last bit.
TEST_F(JobTest, LearnerScoresAsTheRolloutWorkerDoes) {
  std::string tokens = "3";
  v1::ScoreTokensRequest request;
  request.set_job("local");
  request.add_tokens(3);
  for (int i = 1; i < 100; ++i) {
    request.add_tokens((i * 7) % 11 + 1);
    absl::StrAppend(&tokens, ", ", (i * 7) % 11 + 1);
  }
  ASSERT_TRUE(
      WriteFileAtomically(folder_ / "in", absl::StrCat("{\"id\": \"a\", \"tokens\": [", tokens, "]}\n"))
          .ok());
  for (const char* dtype : {"bf16", "fp32"}) {
    ServiceProcess learner({BinaryPath("sluice-learner"), "--score-model", folder_ / "model", "--dtype",
                            dtype, "--input", folder_ / "in", "--output", folder_ / "out"},
                           /*serves=*/false);
    ServiceProcess rollout({BinaryPath("sluice-rollout"), "--model", folder_ / "model", "--dtype", dtype});
    EXPECT_EQ(learner.AwaitExit().ToString(), "exit code 0") << learner.Log();
    ASSERT_TRUE(rollout.AwaitServing());
    Peer peer = *Connect(rollout.address());
    ClientCall call(peer, absl::Now() + absl::Seconds(60));
    v1::ScoreTokensResponse response;
    auto stub = v1::RolloutService::NewStub(peer.channel);
    ASSERT_TRUE(call.Result(stub->ScoreTokens(call.context(), request, &response)).ok());
    auto out = ReadFile(folder_ / "out");
    ASSERT_TRUE(out.ok()) << out.status();
    const nlohmann::json row = nlohmann::json::parse(*out, nullptr, false);
    ASSERT_TRUE(row.is_object()) << *out;
    EXPECT_EQ(row["id"], "a");
    ASSERT_EQ(row["logprobs"].size(), 99u);
    ASSERT_EQ(response.logprobs_size(), 99);
    for (int i = 0; i < 99; ++i) EXPECT_EQ(row["logprobs"][i].get<float>(), response.logprobs(i)) << i;
  }
}

TEST_F(JobTest, ScoringTellsABadRowByItsLineAndGoesOn) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "in",
                                  "{\"id\": 1, \"tokens\": [1, 2]}\n\n{\"id\": 2}\n{bad\n"
                                  "{\"id\": 3, \"tokens\": [1, 99]}\n{\"tokens\": [3]}\n")
                  .ok());
  std::vector<std::string> outputs;
  for (const char* path : {"learner", "rollout"}) {
    ServiceProcess score({BinaryPath("sluice"), "score", "--path", path, "--model", folder_ / "model",
                          "--input", folder_ / "in", "--output", folder_ / path},
                         /*serves=*/false);
    EXPECT_EQ(score.AwaitExit().ToString(), "exit code 1") << score.Log();
    EXPECT_THAT(score.Log(), HasSubstr("3 of 5 rows failed"));
    EXPECT_THAT(score.Log(), HasSubstr("in: line 3: \"tokens\" is missing"));
    outputs.push_back(ReadFile(folder_ / path).value_or("nothing is written"));
  }
  EXPECT_EQ(outputs[0], outputs[1]);  // the numbers and the errors, to the letter
  EXPECT_THAT(outputs[0], HasSubstr("{\"id\":2,\"error\":\"\\\"tokens\\\" is missing\",\"line\":3}\n"));
  EXPECT_THAT(outputs[0], HasSubstr("malformed JSON at column 2"));
  EXPECT_THAT(outputs[0], HasSubstr("{\"id\":3,\"error\":\"token 99 is not in the vocabulary"));
  EXPECT_THAT(outputs[0], HasSubstr("{\"id\":4,\"logprobs\":[]}\n"));
}

TEST_F(JobTest, GangEndsWhenOneOfItsRanksDies) {
  auto first = Learner(0, 2, "");
  auto second = Learner(1, 2, first->address());
  // The first rank to be gone takes the other with it, with an error, so that both are started again.
  ASSERT_TRUE(first->AwaitLog("gang_ready"));
  ASSERT_TRUE(second->AwaitLog("gang_ready"));
  first->Kill();
  EXPECT_EQ(second->AwaitExit(absl::Seconds(200)).ToString(), "exit code 1") << second->Log();
}

}  // namespace
}  // namespace sluice::system_test
