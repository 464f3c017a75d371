#include "services/clients/remote_trainer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "services/rpc/testing_server.h"
#include "services/servers/trainer_adapter.h"
#include "services/wire/group_stream.h"
#include "services/wire/job_spec.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

JobSpec SomeSpec() {
  JobSpec spec;
  spec.name = "job";
  spec.model.path = "m";
  spec.prompts.file = "p";
  spec.reward.components = {{"answer", 1, MathScorerSpec{}}};
  spec.timeout.train_seconds = 60;
  return spec;
}

Group SomeGroup(Draw draw, size_t tokens = 2) {
  Group group;
  group.draw = draw;
  group.prompt.tokens = {1, 2};
  for (uint32_t index : {0u, 1u}) {
    ScoredSample sample;
    sample.trajectory.key = {draw, index};
    sample.trajectory.tokens.assign(tokens, 5);
    sample.trajectory.raw_logprobs.assign(tokens, -1);
    sample.trajectory.processed_logprobs.assign(tokens, -1);
    sample.trajectory.spans = {{0, static_cast<int32_t>(tokens), 0, "h", "cpu"}};
    sample.verdict.kind = index == 0 ? VerdictKind::kCorrect : VerdictKind::kWrong;
    sample.verdict.value = index == 0 ? 1 : 0;
    sample.advantage = index == 0 ? 0.5 : -0.5;
    group.samples.push_back(sample);
  }
  return group;
}

// Keeps the port's rules about order, without weights. Notices calls that overlap.
class OrderTrainer final : public Trainer {
 public:
  absl::StatusOr<TrainerState> Open(const JobId&, const JobSpec& spec) override {
    const Call call(*this);
    opened = spec;
    return TrainerState{"incarnation", steps_, version_, version_ >= 0 ? Ref(version_) : PolicyRef()};
  }
  absl::StatusOr<StepMetrics> Supervise(const JobId&, int64_t step,
                                        absl::Span<const SupervisedExample> batch) override {
    const Call call(*this);
    if (step != steps_) return absl::FailedPreconditionError(absl::StrCat("step ", steps_, " is next"));
    ++steps_;
    return StepMetrics{{{"tokens", static_cast<double>(batch[0].tokens.size())}}};
  }
  absl::StatusOr<PolicyRef> PublishFirst(const JobId&) override {
    const Call call(*this);
    if (blocked != nullptr) {
      if (!started.HasBeenNotified()) started.Notify();  // calls take turns
      blocked->WaitForNotification();
    }
    version_ = std::max<PolicyVersion>(version_, 0);
    return Ref(0);
  }
  absl::Status AddGroup(const JobId&, PolicyVersion version, const Group& group) override {
    const Call call(*this);
    groups_[version][group.draw] = group;
    return absl::OkStatus();
  }
  const std::map<PolicyVersion, std::map<Draw, Group>>& groups() const { return groups_; }
  absl::StatusOr<StepResult> Step(const JobId&, PolicyVersion version,
                                  absl::Span<const Draw> draws) override {
    const Call call(*this);
    if (version > version_ + 1) return absl::FailedPreconditionError("not the next version");
    double advantage = 0;
    for (Draw draw : draws) {
      if (groups_[version].count(draw) == 0)
        return absl::FailedPreconditionError(absl::StrCat("draw ", draw));
      advantage = groups_[version][draw].samples[0].advantage;
    }
    version_ = std::max(version_, version);
    StepResult result;
    result.policy = Ref(version);
    result.metrics.values = {{"advantage", advantage}};
    result.checkpointed = true;
    return result;
  }
  absl::StatusOr<PolicyRef> RollBack(const JobId&, PolicyVersion parent, PolicyVersion version) override {
    const Call call(*this);
    if (parent > version_) return absl::NotFoundError(absl::StrCat("no checkpoint ", parent));
    version_ = std::max(version_, version);
    return Ref(version);
  }
  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion version) override {
    if (version != version_) return absl::FailedPreconditionError("not the last version");
    return Checkpoint(job);
  }
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId&) override {
    return CheckpointInfo{version_, "/c", 10, absl::FromUnixSeconds(1700000000)};
  }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) override {
    return std::vector<CheckpointInfo>{*Checkpoint(job), *Checkpoint(job)};
  }
  absl::Status Export(const JobId&, PolicyVersion version, const std::string& path) override {
    exported = absl::StrCat(version, " ", path);
    return absl::OkStatus();
  }
  absl::Status Forget(const JobId& job) override {
    forgotten = job;
    return absl::OkStatus();
  }

  JobSpec opened;
  std::string exported, forgotten;
  absl::Notification started;
  absl::Notification* blocked = nullptr;  // PublishFirst waits for it
  std::atomic<bool> overlapped = false;

 private:
  struct Call {
    explicit Call(OrderTrainer& t) : trainer(t) {
      if (++trainer.calls_ > 1) trainer.overlapped = true;
    }
    ~Call() { --trainer.calls_; }
    OrderTrainer& trainer;
  };
  static PolicyRef Ref(PolicyVersion version) {
    return {"job", version, absl::StrCat("h", version), "127.0.0.1:9"};
  }

  std::atomic<int> calls_ = 0;
  int64_t steps_ = 0;
  PolicyVersion version_ = kNoPolicyVersion;
  std::map<PolicyVersion, std::map<Draw, Group>> groups_;
};

class RemoteTrainerTest : public ::testing::Test {
 protected:
  absl::Notification go_;  // a call that its client gave up may come after the test's body
  OrderTrainer trainer_;
  Executor executor_;
  TrainerAdapter adapter_{trainer_, executor_};
  TestingServer server_{adapter_};
  RemoteTrainer remote_{server_.peer()};
};

TEST_F(RemoteTrainerTest, GoesThroughTheLifeOfAJob) {
  const auto fresh = remote_.Open("job", SomeSpec());
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_EQ(fresh->version, kNoPolicyVersion);
  EXPECT_EQ(trainer_.opened.timeout.train_seconds, 60);
  const std::vector<SupervisedExample> rows = {{{1, 2, 3}, 1}};
  EXPECT_EQ(remote_.Supervise("job", 0, rows)->values.at("tokens"), 3);
  EXPECT_EQ(remote_.Supervise("job", 5, rows).status(),
            absl::FailedPreconditionError("in-process: step 1 is next"));
  EXPECT_EQ(remote_.PublishFirst("job")->version, 0);
  ASSERT_TRUE(remote_.AddGroup("job", 1, SomeGroup(7)).ok());
  const auto result = remote_.Step("job", 1, {7});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->policy, (PolicyRef{"job", 1, "h1", "127.0.0.1:9"}));
  EXPECT_EQ(result->metrics.values.at("advantage"), 0.5);
  EXPECT_TRUE(result->checkpointed);
  const auto again = remote_.Open("job", SomeSpec());
  EXPECT_EQ(again->version, 1);
  EXPECT_EQ(again->warm_start_steps, 1);
  EXPECT_EQ(*remote_.RollBack("job", 0, 2), (PolicyRef{"job", 2, "h2", "127.0.0.1:9"}));
  EXPECT_EQ(remote_.RollBack("job", 7, 8).status(), absl::NotFoundError("in-process: no checkpoint 7"));
  EXPECT_EQ(remote_.Promote("job", 2)->version, 2);
  EXPECT_EQ(remote_.Promote("job", 1).status(),
            absl::FailedPreconditionError("in-process: not the last version"));
  EXPECT_EQ(remote_.Checkpoint("job")->created, absl::FromUnixSeconds(1700000000));
  EXPECT_EQ(remote_.ListCheckpoints("job")->size(), 2u);
  EXPECT_TRUE(remote_.Export("job", kNoPolicyVersion, "/out").ok());
  EXPECT_EQ(trainer_.exported, "-1 /out");
  EXPECT_TRUE(remote_.Forget("job").ok());
  EXPECT_EQ(trainer_.forgotten, "job");
  EXPECT_EQ(remote_.Forget("").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RemoteTrainerTest, NamesAMissingDraw) {
  ASSERT_TRUE(remote_.PublishFirst("job").ok());
  EXPECT_EQ(remote_.Step("job", 1, {3}).status(), absl::FailedPreconditionError("in-process: draw 3"));
}

TEST_F(RemoteTrainerTest, RefusesWhatIsNotValid) {
  JobSpec bad = SomeSpec();
  bad.sampling.group_size = 1;
  EXPECT_THAT(std::string(remote_.Open("job", bad).status().message()),
              HasSubstr("spec.sampling.group_size:"));
  Group group = SomeGroup(7);
  group.samples[1].trajectory.raw_logprobs[0] = 3;
  const absl::Status status = remote_.AddGroup("job", 1, group);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("samples[1].trajectory.raw_logprobs:"));
  EXPECT_EQ(remote_.Supervise("job", 0, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(remote_.Step("job", 0, {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(remote_.Export("job", 1, "").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(remote_.RollBack("job", -1, 1).status().message()), HasSubstr("parent:"));
  EXPECT_THAT(std::string(remote_.RollBack("job", 3, 3).status().message()), HasSubstr("policy_version:"));
  EXPECT_THAT(std::string(remote_.Promote("job", -1).status().message()), HasSubstr("policy_version:"));
}

// 8 completions of 16k tokens with the experts of 48 layers x 8: more than any message may have.
// A field that would be dropped is a job that learns something else than was asked for.
TEST_F(RemoteTrainerTest, RefusesAJobWithFieldsOfANewerCoordinator) {
  const auto stub = v1::LearnerService::NewStub(server_.peer().channel);
  v1::OpenJobRequest request;
  request.set_job("job");
  *request.mutable_spec() = ToProto(SomeSpec());
  v1::SamplingSpec& sampling = *request.mutable_spec()->mutable_sampling();
  sampling.GetReflection()->MutableUnknownFields(&sampling)->AddVarint(4000, 1);
  grpc::ClientContext context;
  v1::OpenJobResponse response;
  const grpc::Status status = stub->OpenJob(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("spec.sampling has field 4000"));
  EXPECT_THAT(status.error_message(), HasSubstr("Upgrade the learner"));
}

TEST_F(RemoteTrainerTest, HandsOverAGroupThatIsLargerThanAnyMessage) {
  constexpr size_t kTokens = 16384;
  Group group = SomeGroup(7, kTokens);
  group.samples.resize(1);
  RoutedExperts& experts = group.samples[0].trajectory.experts;
  experts.moe_layers = 48;
  experts.per_token = 8;
  for (size_t i = 0; i < (group.prompt.tokens.size() + kTokens - 1) * 48 * 8; ++i)
    experts.ids.push_back(static_cast<uint16_t>(i * 40503u >> 3));
  for (uint32_t index = 1; index < 8; ++index) {
    group.samples.push_back(group.samples[0]);
    Trajectory& t = group.samples.back().trajectory;
    t.key.index = index;
    for (size_t i = 0; i < kTokens; ++i) {
      t.tokens[i] = static_cast<int32_t>(i * index);
      t.raw_logprobs[i] = -static_cast<float>(i) / 1024;
    }
    t.experts.ids[index] ^= 0x5a5a;
  }
  ASSERT_GT(StreamedBytes(group), int64_t{kMaxMessageBytes} * 3 / 2);
  for (int tries = 0; tries < 2; ++tries) {  // again: the same
    ASSERT_EQ(remote_.AddGroup("job", 1, group), absl::OkStatus());
    const auto added = trainer_.groups();
    ASSERT_EQ(added.size(), 1u);
    const Group& got = added.at(1).at(7);
    EXPECT_EQ(got.prompt.tokens, group.prompt.tokens);
    ASSERT_EQ(got.samples.size(), 8u);
    for (size_t i = 0; i < 8; ++i) {
      const Trajectory &in = group.samples[i].trajectory, &out = got.samples[i].trajectory;
      EXPECT_EQ(out.key, in.key);
      EXPECT_TRUE(out.tokens == in.tokens && out.raw_logprobs == in.raw_logprobs &&
                  out.processed_logprobs == in.processed_logprobs && out.spans == in.spans);
      EXPECT_TRUE(out.experts == in.experts);
      EXPECT_EQ(got.samples[i].advantage, group.samples[i].advantage);
    }
  }
}

TEST_F(RemoteTrainerTest, AddsNothingOfAGroupWhoseStreamEndsMidway) {
  const Group group = SomeGroup(7, 300000);
  const auto stub = v1::LearnerService::NewStub(server_.peer().channel);
  for (const bool dropped : {false, true}) {
    grpc::ClientContext context;
    v1::AddGroupResponse response;
    const auto writer = stub->AddGroup(&context, &response);
    GroupPieces pieces("job", 1, 0, group);
    v1::AddGroupRequest piece;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(pieces.Next(piece));
      ASSERT_TRUE(writer->Write(piece));
    }
    ASSERT_FALSE(piece.last());
    if (dropped) {
      context.TryCancel();
    } else {
      writer->WritesDone();
    }
    EXPECT_EQ(writer->Finish().error_code(),
              dropped ? grpc::StatusCode::CANCELLED : grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_TRUE(trainer_.groups().empty());
  ASSERT_EQ(remote_.AddGroup("job", 1, group), absl::OkStatus());  // the dropped one is out of the way
  EXPECT_EQ(trainer_.groups().at(1).at(7).samples.size(), 2u);
}

TEST(OldLearner, IsToldFromOneThatIsBusyAndNothingIsLost) {
  v1::LearnerService::Service knows_nothing;
  TestingServer server(knows_nothing);
  const absl::Status status = RemoteTrainer(server.peer()).AddGroup("job", 1, SomeGroup(7));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it is older than its coordinator"));
}

class TwoCoordinatorsTest : public RemoteTrainerTest {
 protected:
  RemoteTrainer WithEpoch(uint64_t epoch) {
    RemoteTrainerOptions options;
    options.coordinator_epoch = epoch;
    return RemoteTrainer(server_.peer(), options);
  }
};

TEST_F(TwoCoordinatorsTest, RefusesTheOlderOneInEveryCallThatChangesSomething) {
  RemoteTrainer older = WithEpoch(7), newer = WithEpoch(12), none = WithEpoch(0);
  ASSERT_TRUE(older.Open("job", SomeSpec()).ok());
  ASSERT_TRUE(older.PublishFirst("job").ok());
  ASSERT_TRUE(newer.Open("job", SomeSpec()).ok());
  ASSERT_TRUE(newer.AddGroup("job", 1, SomeGroup(7)).ok());
  for (RemoteTrainer* old : {&older, &none}) {
    const absl::Status refused[] = {
        old->Open("job", SomeSpec()).status(), old->Supervise("job", 0, {{{{1, 2}, 1}}}).status(),
        old->PublishFirst("job").status(),     old->AddGroup("job", 1, SomeGroup(8)),
        old->Step("job", 1, {7}).status(),     old->RollBack("job", 0, 1).status(),
        old->Promote("job", 0).status(),       old->Checkpoint("job").status()};
    for (const absl::Status& status : refused) {
      EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(old == &none ? "epoch 0;" : "epoch 7;"));
      EXPECT_THAT(std::string(status.message()), HasSubstr("one with epoch 12"));
    }
    EXPECT_TRUE(old->ListCheckpoints("job").ok());  // changes nothing
  }
  EXPECT_EQ(trainer_.groups().at(1).count(8), 0u);
  EXPECT_TRUE(newer.Step("job", 1, {7}).ok());
}

TEST_F(TwoCoordinatorsTest, RefusesACallOfTheOlderOneThatWaitsForItsTurn) {
  RemoteTrainer older = WithEpoch(7), newer = WithEpoch(12);
  trainer_.blocked = &go_;
  std::thread first([&] { EXPECT_TRUE(older.PublishFirst("job").ok()); });
  trainer_.started.WaitForNotification();
  std::thread waiting(
      [&] { EXPECT_EQ(older.Step("job", 1, {}).status().code(), absl::StatusCode::kAborted); });
  std::thread next([&] { EXPECT_TRUE(newer.Open("job", SomeSpec()).ok()); });
  waiting.join();  // while the first call goes on
  go_.Notify();
  first.join();
  next.join();
}

TEST_F(TwoCoordinatorsTest, ARestartedLearnerTakesTheFirstThatItSees) {
  ASSERT_TRUE(WithEpoch(12).Open("job", SomeSpec()).ok());
  TrainerAdapter restarted(trainer_, executor_);
  TestingServer server(restarted);
  RemoteTrainerOptions options;
  options.coordinator_epoch = 7;
  EXPECT_TRUE(RemoteTrainer(server.peer(), options).Open("job", SomeSpec()).ok());
}

TEST_F(RemoteTrainerTest, MakesCallsTakeTurns) {
  trainer_.blocked = &go_;
  std::thread first([&] { EXPECT_TRUE(remote_.PublishFirst("job").ok()); });
  trainer_.started.WaitForNotification();
  // While the first call is under way a second one waits, and gives up at its deadline.
  RemoteTrainerOptions hasty;
  hasty.short_timeout = absl::Milliseconds(50);
  RemoteTrainer other(server_.peer(), hasty);
  EXPECT_EQ(other.AddGroup("job", 1, SomeGroup(1)).code(), absl::StatusCode::kDeadlineExceeded);
  std::thread second(
      [&] { EXPECT_TRUE(RemoteTrainer(server_.peer()).AddGroup("job", 1, SomeGroup(2)).ok()); });
  go_.Notify();
  first.join();
  second.join();
  EXPECT_FALSE(trainer_.overlapped);
}

TEST_F(RemoteTrainerTest, EndsACallWhenItsTokenIsRaised) {
  trainer_.blocked = &go_;
  RemoteTrainerOptions options;
  RemoteTrainer remote(server_.peer(), options);
  std::thread canceller([&] {
    trainer_.started.WaitForNotification();
    options.cancel.Cancel();
  });
  EXPECT_EQ(remote.PublishFirst("job").status().code(), absl::StatusCode::kCancelled);
  canceller.join();
  go_.Notify();
  EXPECT_EQ(remote.PublishFirst("job").status().code(), absl::StatusCode::kCancelled);
}

// A peer that takes connections and never says anything: its process is stopped, or its machine is gone.
class SilentPeer {
 public:
  SilentPeer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(bind(socket_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    EXPECT_EQ(getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(at.sin_port));
  }
  ~SilentPeer() { close(socket_); }
  const std::string& address() const { return address_; }

 private:
  const int socket_;
  std::string address_;
};

TEST(SilentPeerTest, EveryCallOfTheLearnerEndsAtItsDeadline) {
  const SilentPeer peer;
  RemoteTrainerOptions options;
  options.train_timeout = options.short_timeout = absl::Milliseconds(50);
  RemoteTrainer trainer(*Connect(peer.address(), ChannelUse::kLongSilentCalls), options);
  JobSpec spec = SomeSpec();
  spec.timeout.train_seconds = 0.05;
  const absl::Status ends[] = {trainer.Open("j", spec).status(),
                               trainer.Supervise("j", 0, {{{{1, 2}, 1}}}).status(),
                               trainer.PublishFirst("j").status(),
                               trainer.AddGroup("j", 1, SomeGroup(1)),
                               trainer.Step("j", 1, {1}).status(),
                               trainer.Checkpoint("j").status(),
                               trainer.RollBack("j", 0, 1).status(),
                               trainer.Promote("j", 1).status(),
                               trainer.ListCheckpoints("j").status(),
                               trainer.Export("j", 1, "/out"),
                               trainer.Forget("j")};
  for (const absl::Status& end : ends) {
    EXPECT_EQ(end.code(), absl::StatusCode::kDeadlineExceeded) << end;
    EXPECT_THAT(std::string(end.message()), HasSubstr(peer.address()));
  }
}

// A learner in a process of its own, whose steps take for ever. Its address comes through `pipe`.
[[noreturn]] void ServeForEver(int pipe) {
  absl::Notification never;
  OrderTrainer trainer;
  trainer.blocked = &never;
  Executor executor;
  TrainerAdapter adapter(trainer, executor);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1);
  builder.RegisterService(&adapter);
  const auto server = builder.BuildAndStart();
  if (write(pipe, &port, sizeof(port)) != sizeof(port)) _exit(1);
  trainer.started.WaitForNotification();
  if (write(pipe, &port, sizeof(port)) != sizeof(port)) _exit(1);  // the call is here
  server->Wait();
  _exit(0);
}

// Stops a peer after a long silent call went on for many pings: the call must not wait for its deadline.
int CallAStoppedPeer() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();  // before this process has threads of gRPC
  if (child == 0) ServeForEver(ends[1]);
  int port = 0;
  if (read(ends[0], &port, sizeof(port)) != sizeof(port)) return 2;
  grpc::ChannelArguments arguments;
  std::map<std::string, int> keepalive = ClientKeepalive(ChannelUse::kLongSilentCalls);
  keepalive[GRPC_ARG_KEEPALIVE_TIME_MS] = 20;  // a thousand times as often
  keepalive[GRPC_ARG_KEEPALIVE_TIMEOUT_MS] = 1000;
  for (const auto& [name, value] : keepalive) arguments.SetInt(name, value);
  const std::string address = absl::StrCat("127.0.0.1:", port);
  RemoteTrainer trainer(
      {address, grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)});
  std::thread stopper([&] {
    if (read(ends[0], &port, sizeof(port)) != sizeof(port)) _exit(3);
    // The call is silent for longer than the two pings take that go without data by default.
    pollfd more = {ends[0], POLLIN, 0};
    if (poll(&more, 1, 300) != 0) _exit(5);
    kill(child, SIGSTOP);
  });
  const absl::Status status = trainer.PublishFirst("j").status();  // in half an hour
  stopper.join();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return absl::IsUnavailable(status) ? 0 : 4;
}

TEST(StoppedPeerDeathTest, IsNoticedDuringALongSilentCall) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(60);  // a failing test only
        _exit(CallAStoppedPeer());
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace sluice
