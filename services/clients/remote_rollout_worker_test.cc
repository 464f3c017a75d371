#include "services/clients/remote_rollout_worker.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/rpc/testing_server.h"
#include "services/servers/rollout_adapter.h"
#include "services/wire/types.h"
#include "tests/contract/rollout_worker_contract.h"
#include "tests/fakes/fake_rollout_worker.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// A fake behind the adapter behind an in-process channel behind the client.
class RemoteSubject final : public RolloutWorkerSubject {
 public:
  RemoteSubject()
      : fake_(Options()), adapter_(fake_, executor_), server_(adapter_), remote_(server_.peer()) {}
  RolloutWorker& worker() override { return remote_; }
  PolicyRef Publish(const JobId& job, PolicyVersion version) override {
    return {job, version, "hash-" + std::to_string(version), "127.0.0.1:1"};
  }
  std::optional<PolicyRef> PublishCorrupt(const JobId& job, PolicyVersion version) override {
    fake_.FailLoad(absl::DataLossError("tensor \"a\": SHA-256 does not match the manifest"));
    return Publish(job, version);
  }
  int32_t vocab() const override { return 256; }
  int64_t max_positions() const override { return 4096; }
  FakeRolloutWorker& fake() { return fake_; }
  Peer peer() { return server_.peer(); }

 private:
  static FakeRolloutWorker::Options Options() {
    FakeRolloutWorker::Options options;
    options.vocab = 256;
    options.max_positions = 4096;
    return options;
  }
  FakeRolloutWorker fake_;
  Executor executor_;
  RolloutAdapter adapter_;
  TestingServer server_;
  RemoteRolloutWorker remote_;
};

std::unique_ptr<RolloutWorkerSubject> Make() { return std::make_unique<RemoteSubject>(); }

}  // namespace

INSTANTIATE_TEST_SUITE_P(Remote, RolloutWorkerContract,
                         ::testing::Values(RolloutWorkerCase{"InProcess", &Make}), RolloutWorkerCaseName);

namespace {

absl::Time Soon() { return absl::Now() + absl::Seconds(60); }

RolloutRequest SomeRequest() {
  RolloutRequest out;
  out.job = "job";
  out.draw = 5;
  out.indices = {0, 1};
  out.prompt_tokens = {1, 2};
  out.sampling.max_new_tokens = 3;
  out.deadline = Soon();
  return out;
}

// A worker whose Generate ends only when it is cancelled.
class EndlessWorker final : public RolloutWorker {
 public:
  absl::Status LoadPolicy(const PolicyRef&, SwapMode, absl::Time) override { return absl::OkStatus(); }
  absl::Status Generate(const RolloutRequest&, const CancelToken& cancel,
                        const std::function<void(Trajectory)>&) override {
    absl::Notification cancelled;
    const std::stop_callback wake(cancel.stop_token(), [&] { cancelled.Notify(); });
    started.Notify();
    cancelled.WaitForNotification();
    ended.Notify();
    return absl::CancelledError("");
  }
  absl::Status Control(RolloutCommand, absl::Time) override { return absl::OkStatus(); }
  absl::StatusOr<RolloutWorkerState> GetState() override { return absl::UnavailableError("busy"); }
  absl::Notification started, ended;
};

TEST(RemoteRolloutWorker, CancelsAtTheServerWhenItsTokenIsRaised) {
  EndlessWorker worker;
  Executor executor;
  RolloutAdapter adapter(worker, executor);
  TestingServer server(adapter);
  RemoteRolloutWorker remote(server.peer());
  CancelToken cancel;
  std::thread canceller([&] {
    worker.started.WaitForNotification();
    cancel.Cancel();
  });
  EXPECT_EQ(remote.Generate(SomeRequest(), cancel, [](Trajectory) {}).code(), absl::StatusCode::kCancelled);
  canceller.join();
  worker.ended.WaitForNotification();
}

TEST(RemoteRolloutWorker, EndsAtItsDeadlineOnBothSides) {
  EndlessWorker worker;
  Executor executor;
  RolloutAdapter adapter(worker, executor);
  TestingServer server(adapter);
  RemoteRolloutWorker remote(server.peer());
  RolloutRequest request = SomeRequest();
  request.deadline = absl::Now() + absl::Milliseconds(50);
  EXPECT_EQ(remote.Generate(request, CancelToken(), [](Trajectory) {}).code(),
            absl::StatusCode::kDeadlineExceeded);
  if (worker.started.HasBeenNotified()) worker.ended.WaitForNotification();
}

TEST(RemoteRolloutWorker, NamesThePeerInItsErrors) {
  EndlessWorker worker;
  Executor executor;
  RolloutAdapter adapter(worker, executor);
  TestingServer server(adapter);
  EXPECT_EQ(RemoteRolloutWorker(server.peer()).GetState().status(),
            absl::UnavailableError("in-process: busy"));
}

TEST(RemoteRolloutWorker, HandsOverWhatCameBeforeAnError) {
  RemoteSubject subject;
  ASSERT_TRUE(subject.worker().LoadPolicy(subject.Publish("job", 0), SwapMode::kFinish, Soon()).ok());
  subject.fake().FailGenerate(absl::ResourceExhaustedError("full"), 1, 1);
  int delivered = 0;
  const absl::Status status =
      subject.worker().Generate(SomeRequest(), CancelToken(), [&](Trajectory) { ++delivered; });
  EXPECT_EQ(status, absl::ResourceExhaustedError("in-process: full"));
  EXPECT_EQ(delivered, 1);
}

TEST(RemoteRolloutWorker, IsUnavailableWhenNobodyListens) {
  FakeRolloutWorker fake;
  Executor executor;
  RolloutAdapter adapter(fake, executor);
  const std::string address = TestingServer(adapter).address();
  const absl::StatusOr<Peer> peer = Connect(address);
  ASSERT_TRUE(peer.ok());
  const absl::Status status = RemoteRolloutWorker(*peer).GetState().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
}

TEST(RemoteRolloutWorker, WorksOverARealConnection) {
  FakeRolloutWorker fake;
  Executor executor;
  RolloutAdapter adapter(fake, executor);
  const TestingServer server(adapter);
  RemoteRolloutWorker remote(*Connect(server.address()));
  ASSERT_TRUE(remote.LoadPolicy({"job", 0, "h", "s"}, SwapMode::kFinish, Soon()).ok());
  int delivered = 0;
  EXPECT_TRUE(remote.Generate(SomeRequest(), CancelToken(), [&](Trajectory) { ++delivered; }).ok());
  EXPECT_EQ(delivered, 2);
}

TEST(Connect, RefusesAnAddressOffLoopback) {
  EXPECT_EQ(Connect("10.0.0.1:80").status().code(), absl::StatusCode::kInvalidArgument);
}

// A peer that answers with whatever a test wants.
class CannedRollout final : public v1::RolloutService::Service {
 public:
  grpc::Status Generate(grpc::ServerContext*, const v1::GenerateRequest*,
                        grpc::ServerWriter<v1::GenerateResponse>* writer) override {
    for (const v1::GenerateResponse& response : responses) writer->Write(response);
    return grpc::Status::OK;
  }
  std::vector<v1::GenerateResponse> responses;
};

v1::GenerateResponse Answer(uint32_t index) {
  Trajectory trajectory;
  trajectory.key = {5, index};
  trajectory.tokens = {1};
  trajectory.raw_logprobs = trajectory.processed_logprobs = {-1};
  trajectory.spans = {{0, 1, 0, "h", "cpu"}};
  trajectory.finish_reason = FinishReason::kLength;
  v1::GenerateResponse response;
  *response.mutable_trajectory() = ToProto(trajectory);
  return response;
}

absl::Status GenerateFrom(std::vector<v1::GenerateResponse> responses, int32_t progress_every_tokens = 0) {
  CannedRollout service;
  service.responses = std::move(responses);
  TestingServer server(service);
  RolloutRequest request = SomeRequest();
  request.progress_every_tokens = progress_every_tokens;
  return RemoteRolloutWorker(server.peer()).Generate(request, CancelToken(), [](Trajectory) {});
}

v1::GenerateResponse Progress(uint32_t index) {
  v1::GenerateResponse response = Answer(index);
  response.mutable_trajectory()->clear_finish_reason();
  return response;
}

TEST(RemoteRolloutWorker, CatchesAPeerThatBreaksTheProtocol) {
  EXPECT_TRUE(GenerateFrom({Answer(0), Answer(1)}).ok());
  v1::GenerateResponse corrupt = Answer(1);
  corrupt.mutable_trajectory()->set_raw_logprobs(0, 5);
  const std::vector<std::vector<v1::GenerateResponse>> cases = {
      {Answer(0)}, {Answer(0), Answer(0)}, {Answer(0), Answer(1), Answer(2)}, {Answer(0), corrupt}};
  for (const auto& responses : cases) {
    const absl::Status status = GenerateFrom(responses);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("in-process: bad response"));
  }
}

TEST(RemoteRolloutWorker, TakesProgressOnlyWhenItWasAskedFor) {
  EXPECT_TRUE(GenerateFrom({Progress(0), Progress(1), Progress(0), Answer(0), Answer(1)}, 1).ok());
  v1::GenerateResponse empty = Progress(0);
  empty.mutable_trajectory()->Clear();
  empty.mutable_trajectory()->mutable_key()->set_draw(5);
  const std::vector<std::pair<std::vector<v1::GenerateResponse>, int32_t>> cases = {
      {{Progress(0), Answer(0), Answer(1)}, 0},
      {{Answer(0), Progress(0), Answer(1)}, 1},
      {{Progress(0), empty, Answer(0), Answer(1)}, 1},
      {{Progress(0), Answer(1)}, 1},
  };
  for (const auto& [responses, every] : cases) {
    const absl::Status status = GenerateFrom(responses, every);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("in-process: bad response"));
  }
}

// A worker that keeps what it was told and answers with what a test wants.
class RecordingWorker final : public RolloutWorker {
 public:
  absl::Status LoadPolicy(const PolicyRef&, SwapMode mode, absl::Time) override {
    modes.push_back(mode);
    return absl::OkStatus();
  }
  absl::Status Generate(const RolloutRequest&, const CancelToken&,
                        const std::function<void(Trajectory)>& on_trajectory) override {
    on_trajectory(answer);
    return absl::OkStatus();
  }
  absl::Status Control(RolloutCommand command, absl::Time) override {
    commands.push_back(command);
    return command == RolloutCommand::kDrain ? absl::DeadlineExceededError("still running")
                                             : absl::OkStatus();
  }
  absl::StatusOr<RolloutWorkerState> GetState() override { return absl::UnavailableError(""); }
  std::vector<SwapMode> modes;
  std::vector<RolloutCommand> commands;
  Trajectory answer;
};

TEST(RemoteRolloutWorker, PassesSwapModesAndCommandsOn) {
  RecordingWorker worker;
  Executor executor;
  RolloutAdapter adapter(worker, executor);
  TestingServer server(adapter);
  RemoteRolloutWorker remote(server.peer());
  ASSERT_TRUE(remote.LoadPolicy({"job", 0, "h", "s"}, SwapMode::kContinue, Soon()).ok());
  ASSERT_TRUE(remote.LoadPolicy({"job", 0, "h", "s"}, SwapMode::kFinish, Soon()).ok());
  EXPECT_THAT(worker.modes, ::testing::ElementsAre(SwapMode::kContinue, SwapMode::kFinish));
  EXPECT_TRUE(remote.Control(RolloutCommand::kPause, Soon()).ok());
  EXPECT_EQ(remote.Control(RolloutCommand::kDrain, Soon()),
            absl::DeadlineExceededError("in-process: still running"));
  EXPECT_THAT(worker.commands, ::testing::ElementsAre(RolloutCommand::kPause, RolloutCommand::kDrain));
}

TEST(RolloutAdapter, SaysWhenACompletionIsTooLargeToSend) {
  RecordingWorker worker;
  worker.answer.text.assign(61 << 20, 'x');
  Executor executor;
  RolloutAdapter adapter(worker, executor);
  TestingServer server(adapter);
  RemoteRolloutWorker remote(server.peer());
  const absl::Status status = remote.Generate(SomeRequest(), CancelToken(), [](Trajectory) {});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("record_experts"));
}

TEST(RolloutAdapter, RefusesCorruptRequestsWithTheFieldNamed) {
  FakeRolloutWorker fake;
  Executor executor;
  RolloutAdapter adapter(fake, executor);
  TestingServer server(adapter);
  const auto stub = v1::RolloutService::NewStub(server.peer().channel);
  grpc::ClientContext load;
  v1::LoadPolicyResponse loaded;
  grpc::Status status = stub->LoadPolicy(&load, {}, &loaded);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("policy.job:"));
  grpc::ClientContext generate;
  v1::GenerateResponse response;
  const auto reader = stub->Generate(&generate, {});
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(fake.requests().empty());
}

TEST(RolloutAdapter, ScoringIsCancelledWhenTheClientGivesUp) {
  FakeRolloutWorker fake;
  std::atomic<bool> cancelled{false};
  Executor executor;
  RolloutAdapter adapter(fake, executor,
                         [&](const JobId&, absl::Span<const int32_t>, absl::Time,
                             const CancelToken& cancel) -> absl::StatusOr<ScoredTokens> {
                           const absl::Time limit = absl::Now() + absl::Seconds(30);
                           while (!cancel.cancelled() && absl::Now() < limit) std::this_thread::yield();
                           cancelled = cancel.cancelled();
                           return absl::CancelledError("scoring");
                         });
  TestingServer server(adapter);
  v1::ScoreTokensRequest request;
  request.set_job("job");
  request.add_tokens(1);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::ScoreTokensResponse response;
  EXPECT_EQ(v1::RolloutService::NewStub(server.peer().channel)
                ->ScoreTokens(&context, request, &response)
                .error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  executor.Stop();
  EXPECT_TRUE(cancelled);
}

TEST(RolloutAdapter, ScoresTokensWithItsFunction) {
  FakeRolloutWorker fake;
  Executor executor;
  RolloutAdapter with(
      fake, executor, [](const JobId& job, absl::Span<const int32_t> tokens, absl::Time, const CancelToken&) {
        return absl::StatusOr<ScoredTokens>(ScoredTokens{std::vector<float>(tokens.size() - 1, -0.5f),
                                                         static_cast<PolicyVersion>(job.size())});
      });
  RolloutAdapter without(fake, executor);
  TestingServer server_with(with), server_without(without);
  v1::ScoreTokensRequest request;
  request.set_job("job");
  for (int token : {1, 2, 3}) request.add_tokens(token);
  grpc::ClientContext first, second, third;
  v1::ScoreTokensResponse response;
  ASSERT_TRUE(
      v1::RolloutService::NewStub(server_with.peer().channel)->ScoreTokens(&first, request, &response).ok());
  EXPECT_EQ(response.logprobs_size(), 2);
  EXPECT_EQ(response.policy_version(), 3);
  EXPECT_EQ(v1::RolloutService::NewStub(server_without.peer().channel)
                ->ScoreTokens(&second, request, &response)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  request.clear_tokens();
  EXPECT_EQ(v1::RolloutService::NewStub(server_with.peer().channel)
                ->ScoreTokens(&third, request, &response)
                .error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sluice
