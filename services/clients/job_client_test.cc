#include "services/clients/job_client.h"

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/rpc/testing_server.h"

namespace sluice {
namespace {

// Answers from a table; Watch goes on until the client has enough.
class FakeJobs final : public v1::JobService::Service {
 public:
  grpc::Status SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override {
    response->set_job(request->spec().name() + "/" + request->request_id());
    return grpc::Status::OK;
  }
  grpc::Status CheckJob(grpc::ServerContext*, const v1::CheckJobRequest*,
                        v1::CheckJobResponse* response) override {
    response->add_plan("one line");
    return grpc::Status::OK;
  }
  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request,
                      v1::GetJobResponse* response) override {
    if (request->job() != "j") return grpc::Status(grpc::StatusCode::NOT_FOUND, "no job " + request->job());
    *response->mutable_job() = Job(v1::RUNNING);
    return grpc::Status::OK;
  }
  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest*,
                        v1::ListJobsResponse* response) override {
    *response->add_jobs() = Job(v1::SUCCEEDED);
    *response->add_jobs() = Job(v1::RUNNING);
    return grpc::Status::OK;
  }
  grpc::Status PauseJob(grpc::ServerContext*, const v1::PauseJobRequest*,
                        v1::PauseJobResponse* response) override {
    *response->mutable_job() = Job(v1::PAUSED);
    return grpc::Status::OK;
  }
  grpc::Status ResumeJob(grpc::ServerContext*, const v1::ResumeJobRequest*,
                         v1::ResumeJobResponse* response) override {
    *response->mutable_job() = Job(v1::RUNNING);
    return grpc::Status::OK;
  }
  grpc::Status CancelJob(grpc::ServerContext*, const v1::CancelJobRequest*,
                         v1::CancelJobResponse* response) override {
    *response->mutable_job() = Job(v1::JOB_CANCELLED);
    return grpc::Status::OK;
  }
  grpc::Status ListCheckpoints(grpc::ServerContext*, const v1::ListCheckpointsRequest*,
                               v1::ListCheckpointsResponse* response) override {
    response->add_checkpoints()->set_policy_version(4);
    return grpc::Status::OK;
  }
  grpc::Status ExportJob(grpc::ServerContext*, const v1::ExportJobRequest* request,
                         v1::ExportJobResponse* response) override {
    response->set_policy_version(request->has_policy_version() ? request->policy_version() : 9);
    return grpc::Status::OK;
  }
  grpc::Status WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest*,
                        grpc::ServerWriter<v1::WatchJobResponse>* writer) override {
    v1::WatchJobResponse response;
    while (!context->IsCancelled() && writer->Write(response)) {
    }
    return grpc::Status::CANCELLED;
  }
  grpc::Status ListSamples(grpc::ServerContext*, const v1::ListSamplesRequest* request,
                           grpc::ServerWriter<v1::ListSamplesResponse>* writer) override {
    for (int i = 0; i < request->limit(); ++i) {
      v1::ListSamplesResponse response;
      response.set_step(i);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  static v1::Job Job(v1::JobState state) {
    v1::Job job;
    job.set_state(state);
    return job;
  }
};

class JobClientTest : public ::testing::Test {
 protected:
  FakeJobs jobs_;
  TestingServer server_{jobs_};
  JobClient client_{server_.peer()};
};

TEST_F(JobClientTest, CarriesEachCallAndItsAnswer) {
  v1::JobSpec spec;
  spec.set_name("j");
  EXPECT_EQ(*client_.Submit(spec, "id"), "j/id");
  EXPECT_EQ(client_.Check(spec)->plan(0), "one line");
  EXPECT_EQ(client_.Get("j")->state(), v1::RUNNING);
  EXPECT_EQ(client_.List()->size(), 2u);
  EXPECT_EQ(client_.Pause("j")->state(), v1::PAUSED);
  EXPECT_EQ(client_.Resume("j")->state(), v1::RUNNING);
  EXPECT_EQ(client_.Cancel("j")->state(), v1::JOB_CANCELLED);
  EXPECT_EQ(client_.ListCheckpoints("j")->at(0).policy_version(), 4);
  EXPECT_EQ(*client_.Export("j", 2, "p"), 2);
  EXPECT_EQ(*client_.Export("j", 0, "p"), 0);
  EXPECT_EQ(*client_.Export("j", std::nullopt, "p"), 9);
}

TEST_F(JobClientTest, WaitsForPromptsToBeReadLongerThanForOtherCalls) {
  JobClientOptions options;
  options.timeout = -absl::Seconds(1);  // is over before the call
  EXPECT_EQ(JobClient(server_.peer(), options).Get("j").status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(JobClient(server_.peer(), options).Submit({}, "id").ok());
  options.submit_timeout = -absl::Seconds(1);
  EXPECT_EQ(JobClient(server_.peer(), options).Submit({}, "id").status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(JobClientTest, KeepsTheErrorAndNamesThePeer) {
  EXPECT_EQ(client_.Get("x").status(), absl::NotFoundError("in-process: no job x"));
}

TEST_F(JobClientTest, WatchesUntilTheCallerHasEnough) {
  int states = 0;
  EXPECT_TRUE(client_
                  .Watch("j", absl::Now() + absl::Seconds(60),
                         [&](const v1::WatchJobResponse&) { return ++states < 3; })
                  .ok());
  EXPECT_EQ(states, 3);
}

TEST_F(JobClientTest, StopsWatchingAtTheDeadlineOrWhenCancelled) {
  EXPECT_EQ(
      client_
          .Watch("j", absl::Now() + absl::Milliseconds(30), [](const v1::WatchJobResponse&) { return true; })
          .code(),
      absl::StatusCode::kDeadlineExceeded);
  JobClientOptions options;
  JobClient client(server_.peer(), options);
  EXPECT_EQ(client
                .Watch("j", absl::InfiniteFuture(),
                       [&](const v1::WatchJobResponse&) {
                         options.cancel.Cancel();
                         return true;
                       })
                .code(),
            absl::StatusCode::kCancelled);
}

TEST_F(JobClientTest, ListsSamplesToTheEndOfTheStream) {
  v1::ListSamplesRequest request;
  request.set_limit(5);
  std::vector<int64_t> steps;
  EXPECT_TRUE(client_
                  .ListSamples(request,
                               [&](const v1::ListSamplesResponse& sample) {
                                 steps.push_back(sample.step());
                                 return true;
                               })
                  .ok());
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace sluice
