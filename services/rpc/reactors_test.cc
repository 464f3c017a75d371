#include "services/rpc/reactors.h"

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/rpc/channel.h"
#include "services/rpc/testing_server.h"
#include "sluice/v1/learner.grpc.pb.h"
#include "sluice/v1/weights.grpc.pb.h"

namespace sluice {
namespace {

constexpr absl::Duration kLong = absl::Minutes(1);
constexpr absl::Duration kPatience = absl::Milliseconds(50);

// Writes until it may not.
class EndlessWeights final : public v1::WeightService::CallbackService {
 public:
  explicit EndlessWeights(Executor& executor) : executor_(executor) {}
  grpc::ServerWriteReactor<v1::PullTensorsResponse>* PullTensors(grpc::CallbackServerContext* context,
                                                                 const v1::PullTensorsRequest*) override {
    return RunServerStream<v1::PullTensorsResponse>(
        executor_, context,
        [this](const CallContext& call, MessageWriter<v1::PullTensorsResponse>& writer) -> absl::Status {
          deadline = call.deadline;
          v1::PullTensorsResponse chunk;
          chunk.set_data(std::string(1 << 20, 'x'));
          while (status.ok()) status = writer.Write(chunk);
          ended.Notify();
          return status;
        },
        kPatience);
  }
  absl::Status status;
  absl::Time deadline;
  absl::Notification ended;

 private:
  Executor& executor_;
};

// Reads until there is nothing more.
class PatientLearner final : public v1::LearnerService::CallbackService {
 public:
  explicit PatientLearner(Executor& executor) : executor_(executor) {}
  grpc::ServerReadReactor<v1::AddGroupsRequest>* AddGroups(grpc::CallbackServerContext* context,
                                                           v1::AddGroupsResponse*) override {
    return RunClientStream<v1::AddGroupsRequest>(
        executor_, context,
        [this](MessageReader<v1::AddGroupsRequest>& reader) -> absl::Status {
          v1::AddGroupsRequest request;
          while (reader.Read(request)) ++messages;
          ended.Notify();
          return absl::OkStatus();
        },
        kPatience);
  }
  int messages = 0;
  absl::Notification ended;

 private:
  Executor& executor_;
};

class ReactorsTest : public ::testing::Test {
 protected:
  Executor executor_;
  EndlessWeights weights_{executor_};
  PatientLearner learner_{executor_};
  TestingServer server_{&weights_, &learner_};
  std::shared_ptr<grpc::Channel> channel_ = *MakeChannel(server_.address());
};

TEST_F(ReactorsTest, AClientThatTakesNothingLosesItsCall) {
  const auto stub = v1::WeightService::NewStub(channel_);
  grpc::ClientContext context;
  const auto reader = stub->PullTensors(&context, {});
  ASSERT_TRUE(weights_.ended.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(weights_.status.code(), absl::StatusCode::kCancelled);
  context.TryCancel();
  EXPECT_FALSE(reader->Finish().ok());
}

TEST_F(ReactorsTest, AClientThatSendsNothingLosesItsCall) {
  const auto stub = v1::LearnerService::NewStub(channel_);
  grpc::ClientContext context;
  v1::AddGroupsResponse response;
  const auto writer = stub->AddGroups(&context, &response);
  ASSERT_TRUE(writer->Write({}));
  ASSERT_TRUE(learner_.ended.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(learner_.messages, 1);
  EXPECT_FALSE(writer->Finish().ok());
}

TEST_F(ReactorsTest, ACallWithoutADeadlineHasOneAllTheSame) {
  const auto stub = v1::WeightService::NewStub(channel_);
  grpc::ClientContext context;
  const auto reader = stub->PullTensors(&context, {});
  ASSERT_TRUE(weights_.ended.WaitForNotificationWithTimeout(kLong));
  EXPECT_LE(weights_.deadline, absl::Now() + kLongestCall);
  context.TryCancel();
  reader->Finish();
}

}  // namespace
}  // namespace sluice
