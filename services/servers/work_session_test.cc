// The Work stream between the real coordinator and workers, over loopback.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "coordinator/testing_coordinator.h"
#include "core/rl/trajectory_parts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/clients/work_adapter.h"
#include "services/rpc/channel.h"
#include "services/servers/fleet_adapter.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

v1::WorkJoin JoinOf(uint32_t worker, const std::string& name) {
  v1::WorkJoin join;
  join.set_worker(worker);
  join.set_slots(2);
  join.mutable_registration()->set_name(name);
  join.mutable_registration()->set_role(v1::ROLLOUT);
  join.mutable_registration()->set_address("127.0.0.1:9");
  join.mutable_registration()->set_incarnation("incarnation");
  return join;
}

// A client that speaks by itself.
class RawStream {
 public:
  explicit RawStream(const std::string& address)
      : channel_(*MakeChannel(address)), stub_(v1::FleetService::NewStub(channel_)) {
    context_.set_deadline(absl::ToChronoTime(Soon()));
    stream_ = stub_->Work(&context_);
  }
  ~RawStream() {
    context_.TryCancel();
    if (stream_ != nullptr) Status();
  }
  bool Say(const v1::WorkRequest& request) { return stream_->Write(request); }
  // The next message for which `wanted` holds.
  template <typename Wanted>
  v1::WorkResponse Hear(Wanted wanted) {
    v1::WorkResponse response;
    while (stream_->Read(&response)) {
      largest_ = std::max(largest_, response.ByteSizeLong());
      begun_.insert(begun_.end(), response.begun().begin(), response.begun().end());
      orders_.insert(orders_.end(), response.orders().begin(), response.orders().end());
      if (wanted(response)) return response;
    }
    ADD_FAILURE() << "the stream ended: " << Status().error_message();
    return {};
  }
  v1::WorkJoined Join(const v1::WorkJoin& join) {
    v1::WorkRequest request;
    *request.add_joins() = join;
    Say(request);
    return Hear([](const auto& r) { return r.joined_size() > 0; }).joined(0);
  }
  v1::WorkOrder AwaitOrder(bool generate) {
    const auto find = [&] {
      return std::find_if(orders_.begin(), orders_.end(),
                          [&](const v1::WorkOrder& order) { return order.has_generate() == generate; });
    };
    if (find() == orders_.end()) Hear([&](const v1::WorkResponse&) { return find() != orders_.end(); });
    return find() == orders_.end() ? v1::WorkOrder() : *find();
  }
  // One that goes on from what others began.
  v1::WorkOrder AwaitBegunOrder() {
    const auto find = [&] {
      return std::find_if(orders_.begin(), orders_.end(), [&](const v1::WorkOrder& order) {
        return !begun_.empty() && order.order() == begun_[0].order();
      });
    };
    if (find() == orders_.end()) Hear([&](const v1::WorkResponse&) { return find() != orders_.end(); });
    return find() == orders_.end() ? v1::WorkOrder() : *find();
  }
  void SayAll() { stream_->WritesDone(); }
  size_t largest() const { return largest_; }  // message that came, in bytes
  const std::vector<v1::WorkBegun>& begun() const { return begun_; }
  grpc::Status Status() {
    v1::WorkResponse response;
    while (stream_->Read(&response)) {
    }
    const grpc::Status status = stream_->Finish();
    stream_ = nullptr;
    return status;
  }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::FleetService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkRequest, v1::WorkResponse>> stream_;
  std::vector<v1::WorkOrder> orders_;  // that came
  std::vector<v1::WorkBegun> begun_;
  size_t largest_ = 0;
};

class WorkStreamTest : public CoordinatorTest {
 protected:
  ~WorkStreamTest() override { StopServer(); }
  void StartAll(absl::Duration lease = absl::Hours(1)) {
    Start(Clock::Real(), lease);
    service_ = std::make_unique<FleetAdapter>(*coordinator_, registry_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(service_.get());
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void StopServer() {
    workers_.clear();
    if (server_ == nullptr) return;
    if (coordinator_ != nullptr) coordinator_->Shutdown();
    service_->Stop();
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
    service_.reset();
  }
  std::string Address() const { return absl::StrCat("127.0.0.1:", port_); }
  // A worker that dials in, with the fake engine of that number.
  void DialIn(int i, int32_t slots = 4) {
    v1::RegisterWorkerRequest who = JoinOf(0, absl::StrCat("rollout-", i)).registration();
    who.clear_incarnation();
    workers_.push_back(std::make_unique<WorkAdapter>(
        rollouts_[static_cast<size_t>(i)]->worker, [this] { return *MakeChannel(Address()); }, who, slots));
  }
  WorkerView ViewOf(const std::string& name) {
    for (const WorkerView& worker : coordinator_->Workers()) {
      if (worker.name == name) return worker;
    }
    return {};
  }
  double Metric(const std::string& name) {
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      if (family.name == name) return family.metric[0].counter.value;
    }
    return -1;
  }

  int port_ = 0;
  std::unique_ptr<FleetAdapter> service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<WorkAdapter>> workers_;
};

TEST_F(WorkStreamTest, WorkersThatDialInDoAWholeJob) {
  StartAll();
  RegisterLearner();
  RegisterReward();
  for (int i = 0; i < 2; ++i) DialIn(i);
  const JobView view = AwaitEnd(Submit());
  EXPECT_EQ(view.state, JobState::kSucceeded) << view.error;
  EXPECT_FALSE(rollouts_[0]->worker.requests().empty());
  EXPECT_FALSE(rollouts_[1]->worker.requests().empty());
  StopServer();
  ExpectSound(view);
}

TEST_F(WorkStreamTest, AWorkerThatGoesLeavesItsGroupsToAnother) {
  StartAll();
  RegisterLearner();
  RegisterReward();
  rollouts_[0]->worker.Block();
  DialIn(0);
  const JobId job = Submit();
  const absl::Time limit = Soon();
  for (uint64_t seen = 0; rollouts_[0]->worker.requests().empty() && absl::Now() < limit;)
    seen = coordinator_->WaitForChange(job, seen, absl::Milliseconds(10))->revision;
  workers_.clear();  // its stream breaks
  rollouts_[0]->worker.Unblock();
  DialIn(1);
  const JobView view = AwaitEnd(job);
  EXPECT_EQ(view.state, JobState::kSucceeded) << view.error;
  StopServer();
  ExpectSound(view);
}

TEST_F(WorkStreamTest, AWorkerThatLeavesIsGoneAtOnce) {
  StartAll();
  DialIn(0);
  ASSERT_TRUE(workers_[0]->link().AwaitJoined(1, Soon()));
  EXPECT_TRUE(ViewOf("rollout-0").alive);
  workers_[0]->Leave(Soon());
  EXPECT_FALSE(ViewOf("rollout-0").alive);
}

TEST_F(WorkStreamTest, WhatIsWrongWithOneWorkerIsNamedAndTheOthersStay) {
  StartAll();
  RawStream stream(Address());
  const auto refusal = [&](const v1::WorkJoin& join) { return stream.Join(join).refused(); };
  v1::WorkJoin bad = JoinOf(0, "rollout-0");
  bad.mutable_registration()->clear_name();
  EXPECT_THAT(refusal(bad).message(), HasSubstr("joins[0].registration.name"));
  EXPECT_EQ(refusal(bad).code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  bad = JoinOf(0, "rollout-0");
  bad.set_slots(0);
  EXPECT_THAT(refusal(bad).message(), HasSubstr("joins[0].slots"));
  bad = JoinOf(1 << 20, "rollout-0");
  EXPECT_THAT(refusal(bad).message(), HasSubstr("joins[0].worker"));
  bad = JoinOf(0, "rollout-0");
  bad.mutable_registration()->set_role(v1::REWARD);
  EXPECT_THAT(refusal(bad).message(), HasSubstr("joins[0].registration.role"));
  bad = JoinOf(0, "rollout-0");
  bad.mutable_registration()->set_address("192.0.2.1:80");
  EXPECT_THAT(refusal(bad).message(), HasSubstr("joins[0].registration.address"));
  EXPECT_TRUE(stream.Join(JoinOf(0, "rollout-0")).has_registered());
  EXPECT_THAT(refusal(JoinOf(0, "rollout-1")).message(), HasSubstr("joins[0].worker: 0 is rollout-0"));
}

TEST_F(WorkStreamTest, AMessageThatMeansNothingEndsTheStreamAndNamesTheField) {
  StartAll();
  const auto ended_with = [&](const v1::WorkRequest& request) {
    RawStream stream(Address());
    stream.Say(request);
    const grpc::Status status = stream.Status();
    return absl::StrCat(static_cast<int>(status.error_code()), " ", status.error_message());
  };
  v1::WorkRequest request;
  request.mutable_renewal()->add_workers(3);
  EXPECT_THAT(ended_with(request), HasSubstr("3 renewal.workers: 3 did not join"));
  request.Clear();
  request.add_leaves(4);
  EXPECT_THAT(ended_with(request), HasSubstr("3 leaves: 4 did not join"));
  request.Clear();
  for (uint32_t i = 0; i < 1025; ++i) *request.add_joins() = JoinOf(i, "rollout");
  EXPECT_THAT(ended_with(request), HasSubstr("3 joins"));
  request.Clear();
  for (int i = 0; i < 4097; ++i) request.add_reports();
  EXPECT_THAT(ended_with(request), HasSubstr("3 reports"));
}

TEST_F(WorkStreamTest, AnUnreadableReportEndsItsOrderAlone) {
  StartAll();
  RegisterLearner();
  RegisterReward();
  const JobId job = Submit();
  RawStream stream(Address());
  ASSERT_TRUE(stream.Join(JoinOf(0, "rollout-0")).has_registered());
  const v1::WorkOrder load = stream.AwaitOrder(/*generate=*/false);
  v1::WorkRequest say;
  say.add_reports()->set_order(load.order());
  say.mutable_reports(0)->mutable_ended();
  ASSERT_TRUE(stream.Say(say));
  const v1::WorkOrder order = stream.AwaitOrder(/*generate=*/true);
  say.Clear();
  say.add_reports()->set_order(order.order());
  say.mutable_reports(0)->mutable_generated()->mutable_trajectory()->add_tokens(-1);
  say.add_reports()->set_worker(5);
  say.mutable_reports(1)->set_order(77);
  ASSERT_TRUE(stream.Say(say));
  std::map<uint64_t, std::string> refused;
  stream.Hear([&](const v1::WorkResponse& response) {
    for (const v1::WorkCancel& cancel : response.cancels()) refused[cancel.order()] = cancel.why().message();
    return refused.size() == 2;
  });
  EXPECT_THAT(refused[order.order()], HasSubstr("generated.trajectory"));
  EXPECT_THAT(refused[77], HasSubstr("worker: 5 did not join on this stream"));
  say.Clear();
  say.add_leaves(0);
  ASSERT_TRUE(stream.Say(say));
  DialIn(1);
  EXPECT_EQ(AwaitEnd(job).state, JobState::kSucceeded);
}

class LongContext final : public PromptEncoder {
 public:
  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text) const override {
    return bytes_.Encode(text);
  }
  absl::StatusOr<std::string> RenderChat(const std::vector<PromptMessage>& messages) const override {
    return bytes_.RenderChat(messages);
  }
  int64_t max_positions() const override { return 1 << 16; }
  int32_t eos_token() const override { return bytes_.eos_token(); }

 private:
  const BytesEncoder bytes_;
};

// Completions of 16k tokens in groups of 64 with recorded experts (48 layers, 8 of each token).
class LongWorkTest : public WorkStreamTest {
 protected:
  static constexpr int32_t kTokens = 1 << 14, kLayers = 48, kPerToken = 8;
  LongWorkTest() {
    adjust_ = [](CoordinatorOptions& options) {
      options.encoder = [](const JobSpec&) -> absl::StatusOr<std::unique_ptr<const PromptEncoder>> {
        return std::make_unique<LongContext>();
      };
    };
    spec_.sampling.group_size = 64;
    spec_.sampling.params.max_new_tokens = kTokens;
    spec_.sampling.params.record_experts = true;
    spec_.checkpoint.progress_tokens = 64;
  }
  // Joins and takes the policy; the group that it is to sample.
  static v1::WorkOrder TakeGroup(RawStream& stream, const std::string& name, v1::PolicyRef* policy) {
    EXPECT_TRUE(stream.Join(JoinOf(0, name)).has_registered());
    const v1::WorkOrder load = stream.AwaitOrder(/*generate=*/false);
    *policy = load.load().policy();
    v1::WorkRequest say;
    say.add_reports()->set_order(load.order());
    say.mutable_reports(0)->mutable_ended();
    EXPECT_TRUE(stream.Say(say));
    return stream.AwaitOrder(/*generate=*/true);
  }
  // All that was said is taken in.
  static void Leave(RawStream& stream) {
    v1::WorkRequest say;
    say.add_leaves(0);
    EXPECT_TRUE(stream.Say(say));
    stream.SayAll();
    EXPECT_TRUE(stream.Status().ok());
  }
  static Trajectory Begun(const v1::WorkOrder& order, uint32_t index, int32_t tokens,
                          const v1::PolicyRef& policy) {
    Trajectory out;
    out.key = {order.generate().draw(), index};
    for (int32_t t = 0; t < tokens; ++t) out.tokens.push_back((t + static_cast<int32_t>(index)) % 97);
    out.raw_logprobs = out.processed_logprobs = std::vector<float>(out.tokens.size(), -1);
    out.spans = {{0, tokens, policy.policy_version(), policy.manifest_hash(), "cpu"}};
    out.experts = {kLayers, kPerToken, {}};
    const int fed = order.generate().prompt_tokens_size() + tokens - 1;
    for (int i = 0; i < fed * kLayers * kPerToken; ++i)
      out.experts.ids.push_back(static_cast<uint16_t>((i + static_cast<int>(index)) % 251));
    return out;
  }
};

TEST_F(LongWorkTest, MuchProgressGoesOverTheStreamInPartsAndIsGoneOnFrom) {
  StartAll();
  RegisterLearner();
  RegisterReward();
  const JobId job = Submit();
  std::map<uint32_t, Trajectory> begun;
  v1::PolicyRef policy;
  size_t reported = 0, there = 0;
  {
    RawStream first(Address());
    const v1::WorkOrder order = TakeGroup(first, "rollout-5", &policy);
    EXPECT_TRUE(order.generate().progress_in_parts());
    ASSERT_EQ(order.generate().indices_size(), 64);
    for (uint32_t index : order.generate().indices()) {
      begun[index] = Begun(order, index, index < 8 ? kTokens - 1 : 64, policy);
      there += ToProto(begun[index]).ByteSizeLong();
      for (const Trajectory& part : PartsOf(begun[index], 64 * 2 * kLayers * kPerToken)) {
        v1::WorkRequest say;
        say.add_reports()->set_order(order.order());
        *say.mutable_reports(0)->mutable_generated()->mutable_trajectory() = ToProto(part);
        reported += say.ByteSizeLong();
        ASSERT_TRUE(first.Say(say));
      }
    }
    Leave(first);
  }
  EXPECT_GT(there, size_t{64} << 20) << "more than a message";
  EXPECT_LT(reported, there * 11 / 10) << "each token once";
  {
    RawStream second(Address());
    TakeGroup(second, "rollout-6", &policy);
    const v1::WorkOrder order = second.AwaitBegunOrder();
    EXPECT_EQ(order.generate().begun_size(), 0);
    EXPECT_GT(second.begun().size(), 64u);
    EXPECT_LT(second.largest(), size_t{4} << 20);
    std::map<uint32_t, Trajectory> got;
    for (const v1::WorkBegun& part : second.begun()) {
      if (part.order() != order.order()) continue;
      Trajectory read = *PartFromProto(part.trajectory());
      const auto [it, fresh] = got.emplace(read.key.index, read);
      if (!fresh) {
        ASSERT_TRUE(Append(std::move(read), it->second).ok());
      }
    }
    EXPECT_EQ(got.size(), 64u);
    Leave(second);
  }
  rollouts_[0]->worker.Block();
  DialIn(0);
  const RolloutRequest third = rollouts_[0]->worker.AwaitRequest(
      [](const RolloutRequest& request) { return !request.begun.empty(); }, Soon());
  ASSERT_EQ(third.begun.size(), 64u);
  for (const Trajectory& each : third.begun) {
    const Trajectory& want = begun.at(each.key.index);
    EXPECT_EQ(each.tokens, want.tokens);
    EXPECT_EQ(each.raw_logprobs, want.raw_logprobs);
    EXPECT_EQ(each.experts, want.experts);
    EXPECT_EQ(each.spans, want.spans);
  }
}

// Says more than can be sent, then samples on until it is stopped.
class EndlessWorker final : public RolloutWorker {
 public:
  absl::Status LoadPolicy(const PolicyRef&, SwapMode, absl::Time) override { return absl::OkStatus(); }
  absl::StatusOr<RolloutWorkerState> GetState() override { return RolloutWorkerState(); }
  absl::Status Control(RolloutCommand, absl::Time) override { return absl::OkStatus(); }
  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override {
    Trajectory huge;
    huge.key = {request.draw, request.indices[0]};
    huge.text.assign(size_t{61} << 20, 'x');
    on_trajectory(std::move(huge));
    absl::Notification cancelled;
    const std::stop_callback wake(cancel.stop_token(), [&] { cancelled.Notify(); });
    cancelled.WaitForNotificationWithDeadline(Soon());
    if (cancel.cancelled() && !told_.exchange(true)) stopped.Notify();
    return absl::CancelledError("stopped");
  }
  absl::Notification stopped;

 private:
  std::atomic<bool> told_{false};
};

TEST_F(WorkStreamTest, AReportThatIsTooLargeEndsItsOrderAndTheSampling) {
  StartAll();
  RegisterLearner();
  RegisterReward();
  EndlessWorker worker;
  v1::RegisterWorkerRequest who = JoinOf(0, "rollout-0").registration();
  who.clear_incarnation();
  WorkAdapter adapter(
      worker, [this] { return *MakeChannel(Address()); }, who, 1);
  Submit();
  EXPECT_TRUE(worker.stopped.WaitForNotificationWithDeadline(Soon()))
      << "what cannot be sent is not sampled on";
}

TEST_F(WorkStreamTest, ResultsOfAnOlderRegistrationAreFenced) {
  StartAll();
  RegisterLearner();
  RegisterReward();
  Submit();
  RawStream zombie(Address()), heir(Address());
  ASSERT_TRUE(zombie.Join(JoinOf(0, "rollout-0")).has_registered());
  const v1::WorkOrder order = zombie.AwaitOrder(/*generate=*/false);
  ASSERT_TRUE(heir.Join(JoinOf(0, "rollout-0")).has_registered());
  v1::WorkRequest say;
  say.add_reports()->set_order(order.order());
  say.mutable_reports(0)->mutable_ended();
  say.mutable_renewal();
  ASSERT_TRUE(zombie.Say(say));
  const v1::WorkResponse answer = zombie.Hear([](const auto& r) { return r.has_renewed(); });
  ASSERT_EQ(answer.renewed().refused_size(), 1);
  EXPECT_EQ(answer.renewed().refused(0), 0u);
  zombie.SayAll();
  EXPECT_TRUE(zombie.Status().ok());  // all that it said was taken in
  EXPECT_EQ(Metric("sluice_fenced_results_total"), 1);
  EXPECT_TRUE(ViewOf("rollout-0").alive);
}

TEST_F(WorkStreamTest, ALeaseThatIsNotRenewedRunsOut) {
  StartAll(absl::Milliseconds(30));
  RawStream stream(Address());
  ASSERT_TRUE(stream.Join(JoinOf(0, "rollout-0")).has_registered());
  const absl::Time limit = Soon();
  while (ViewOf("rollout-0").alive && absl::Now() < limit) std::this_thread::yield();
  v1::WorkRequest say;
  say.mutable_renewal()->add_workers(0);
  ASSERT_TRUE(stream.Say(say));
  // Leases that were kept while it joined may be answered first.
  EXPECT_EQ(stream.Hear([](const auto& r) { return r.renewed().refused_size() > 0; }).renewed().refused(0),
            0u);
}

TEST_F(WorkStreamTest, StoppingEndsTheStreamsAndRefusesNewOnes) {
  StartAll();
  RawStream stream(Address());
  ASSERT_TRUE(stream.Join(JoinOf(0, "rollout-0")).has_registered());
  service_->Stop();
  EXPECT_EQ(stream.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
  RawStream late(Address());
  EXPECT_EQ(late.Status().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace sluice
