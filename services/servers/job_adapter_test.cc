#include "services/servers/job_adapter.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/clients/job_client.h"
#include "services/servers/fleet_adapter.h"
#include "services/wire/job_spec.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// Keeps views that the test changes; records what it is asked.
class FakeCoordinator final : public Coordinator {
 public:
  void Change(const JobId& job, const std::function<void(JobView&)>& change) {
    absl::MutexLock lock(&mu_);
    JobView& view = jobs_[job];
    view.job = job;
    change(view);
    ++view.revision;
  }

  absl::StatusOr<JobId> Submit(const JobSpec& spec, const std::string& request_id,
                               const CancelToken&) override {
    if (spec.name == "refused") return absl::InvalidArgumentError("prompts.file: line 3: not JSON");
    submitted = spec;
    return absl::StrCat("job-", request_id);
  }
  absl::StatusOr<CheckedJob> Check(const JobSpec& spec, const CancelToken&) override {
    return CheckedJob{spec, {"one", "two"}, {"careful"}};
  }
  absl::StatusOr<JobView> Get(const JobId& job) override {
    absl::MutexLock lock(&mu_);
    auto it = jobs_.find(job);
    if (it == jobs_.end()) return absl::NotFoundError(absl::StrCat("no job ", job));
    return it->second;
  }
  // In the order of their names, backwards.
  absl::StatusOr<std::vector<JobView>> List(int64_t limit, const JobPlace& after) override {
    absl::MutexLock lock(&mu_);
    std::vector<JobView> out;
    for (auto it = after.job.empty() ? jobs_.end() : jobs_.lower_bound(after.job);
         it != jobs_.begin() && static_cast<int64_t>(out.size()) < limit;) {
      out.push_back((--it)->second);
    }
    return out;
  }
  absl::Status Delete(const JobId& job) override {
    absl::MutexLock lock(&mu_);
    return jobs_.erase(job) > 0 ? absl::OkStatus() : absl::NotFoundError("no such job");
  }
  absl::StatusOr<JobView> WaitForChange(const JobId& job, uint64_t last_revision,
                                        absl::Duration timeout) override {
    absl::MutexLock lock(&mu_);
    if (jobs_.count(job) == 0) return absl::NotFoundError("no such job");
    auto changed = [&] { return jobs_[job].revision > last_revision; };
    mu_.AwaitWithTimeout(absl::Condition(&changed), timeout);
    return jobs_[job];
  }
  std::vector<WorkerView> Workers() override {
    WorkerView worker;
    worker.name = "rollout-0";
    worker.role = "rollout";
    return {worker};
  }
  absl::StatusOr<JobView> Pause(const JobId& job) override { return Get(job); }
  absl::StatusOr<JobView> Resume(const JobId&) override {
    return absl::FailedPreconditionError("the job has ended");
  }
  absl::StatusOr<JobView> Cancel(const JobId& job) override { return Get(job); }
  absl::StatusOr<JobView> SetPriority(const JobId& job, int32_t priority) override {
    SLUICE_ASSIGN_OR_RETURN(JobView view, Get(job));
    view.spec.share.priority = priority;
    return view;
  }
  absl::Status ListSamples(const JobId&, int32_t limit, int64_t step, bool evaluation,
                           const std::function<bool(const SampleView&)>& on_sample) override {
    for (int32_t i = 0; i < limit; ++i) {
      SampleView view;
      view.sample.trajectory.key = {static_cast<Draw>(step), static_cast<uint32_t>(i)};
      view.prompt = evaluation ? "evaluation" : "training";
      if (!on_sample(view)) break;
    }
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<AttemptView>> ListAttempts(const JobId&, std::optional<Draw> draw,
                                                        int32_t limit) override {
    AttemptView view;
    view.draw = draw.value_or(1);
    view.started = absl::FromUnixSeconds(5);
    view.samples = limit;
    return std::vector<AttemptView>{view};
  }
  absl::StatusOr<std::vector<QuarantineView>> ListQuarantine(const JobId&, int32_t) override {
    QuarantineView view;
    view.sample = {4, 2};
    view.reason = "it crashes";
    return std::vector<QuarantineView>{view};
  }
  absl::StatusOr<std::vector<ReplayStepView>> ListReplaySteps(const JobId&, PolicyVersion after,
                                                              int32_t) override {
    ReplayStepView view;
    view.version = after + 1;
    view.metric = ReplayDifference{"kl", "1", "2"};
    return std::vector<ReplayStepView>{view};
  }
  absl::StatusOr<int64_t> ReleaseQuarantine(const JobId&, const std::vector<uint64_t>& rows) override {
    released = rows;
    return 3;
  }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId&) override {
    return std::vector<CheckpointInfo>{{7, "/somewhere", 9, absl::FromUnixSeconds(1)}};
  }
  absl::StatusOr<PolicyVersion> Export(const JobId&, PolicyVersion version,
                                       const std::string& path) override {
    exported = path;
    return version == kNoPolicyVersion ? 12 : version;
  }
  absl::StatusOr<Lease> JoinFleet(const WorkerOffer& offer) override {
    registered = absl::StrCat(offer.name, " ", WorkerRoleName(offer.role), " ", offer.address);
    return Lease{3, absl::Milliseconds(1500)};
  }
  absl::Duration lease() const override { return absl::Seconds(2); }
  absl::StatusOr<Lease> RenewLease(const std::string&, uint64_t epoch) override {
    if (epoch != 3) return absl::AbortedError("the epoch is old");
    return Lease{3, absl::Seconds(2)};
  }
  void TakeReports(std::vector<WorkReport>, std::function<void()> taken) override { taken(); }
  absl::Status WorkerGone(const std::string& name, uint64_t epoch, const std::string&) override {
    left = absl::StrCat(name, " ", epoch);
    return absl::OkStatus();
  }
  void Drain(absl::Time) override {}
  void Shutdown() override {}

  JobSpec submitted;
  std::string exported, registered, left;
  std::vector<uint64_t> released;

 private:
  absl::Mutex mu_;
  std::map<JobId, JobView> jobs_ ABSL_GUARDED_BY(mu_);
};

class JobServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.RegisterService(&jobs_);
    builder.RegisterService(&fleet_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    channel_ = server_->InProcessChannel({});
    client_ = std::make_unique<JobClient>(Peer{"coordinator", channel_});
    coordinator_.Change("j1", [](JobView& v) { v.state = JobState::kRunning; });
  }
  void TearDown() override {
    jobs_.Stop();
    server_->Shutdown();
  }
  static v1::JobSpec Spec(const std::string& name) {
    JobSpec spec;
    spec.name = name;
    spec.model.path = "/model";
    spec.prompts.file = "/prompts";
    spec.reward.components = {{"answer", 1, MathScorerSpec{}}};
    return ToProto(spec);
  }
  static absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

  FakeCoordinator coordinator_;
  Executor executor_;
  JobAdapter jobs_{coordinator_, executor_};
  prometheus::Registry registry_;
  FleetAdapter fleet_{coordinator_, registry_};
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<JobClient> client_;
};

TEST_F(JobServiceTest, SubmitHandsOverTheResolvedSpec) {
  EXPECT_EQ(*client_->Submit(Spec("mine"), "r1"), "job-r1");
  EXPECT_EQ(coordinator_.submitted.name, "mine");
  auto checked = client_->Check(Spec("mine"));
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->plan_size(), 2);
  EXPECT_EQ(checked->resolved_spec().name(), "mine");
}

TEST_F(JobServiceTest, ErrorsKeepTheirCodeAndWords) {
  auto refused = client_->Submit(Spec("refused"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("line 3"));
  EXPECT_EQ(client_->Submit(v1::JobSpec()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(client_->Get("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->Get("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(client_->Resume("j1").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(client_->Export("j1", std::nullopt, "").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(JobServiceTest, JobsAreReadAndControlled) {
  EXPECT_EQ(client_->Get("j1")->state(), v1::RUNNING);
  EXPECT_EQ(client_->List()->size(), 1u);
  EXPECT_EQ(client_->Pause("j1")->job(), "j1");
  EXPECT_EQ(client_->Cancel("j1")->job(), "j1");
  EXPECT_EQ(client_->SetPriority("j1", -3)->spec().share().priority(), -3);
  EXPECT_EQ(client_->ListCheckpoints("j1")->front().policy_version(), 7);
  EXPECT_EQ(*client_->Export("j1", std::nullopt, "/out"), 12);
  EXPECT_EQ(*client_->Export("j1", 5, "/out"), 5);
  EXPECT_EQ(coordinator_.exported, "/out");
}

TEST_F(JobServiceTest, JobsAreListedPageByPage) {
  for (int i = 1000; i < 1250; ++i) coordinator_.Change(absl::StrCat("job-", i), [](JobView&) {});
  const size_t all = client_->List()->size();
  EXPECT_GE(all, 250u);
  std::vector<size_t> pages;
  std::set<std::string> names;
  ASSERT_TRUE(client_
                  ->List([&](const std::vector<v1::Job>& page) {
                    pages.push_back(page.size());
                    for (const v1::Job& job : page) EXPECT_TRUE(names.insert(job.job()).second) << job.job();
                    return true;
                  })
                  .ok());
  EXPECT_EQ(names.size(), all);
  EXPECT_EQ(pages.front(), 100u) << "also for a client that knows no pages";
  EXPECT_EQ(pages.size(), 3u);
}

TEST_F(JobServiceTest, APageIsBoundedInBytes) {
  for (int i = 0; i < 10; ++i) {
    coordinator_.Change(absl::StrCat("job-", i), [](JobView& view) { view.error.assign(900 << 10, 'x'); });
  }
  size_t most = 0;
  ASSERT_TRUE(client_
                  ->List([&](const std::vector<v1::Job>& page) {
                    most = std::max(most, page.size());
                    return true;
                  })
                  .ok());
  EXPECT_LE(most, 3u);
  EXPECT_GE(client_->List()->size(), 10u);
}

TEST_F(JobServiceTest, JobsAreDeleted) {
  EXPECT_TRUE(client_->Delete("j1").ok());
  EXPECT_EQ(client_->Get("j1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->Delete("j1").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(client_->Delete("").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(JobServiceTest, AttemptsAndTheQuarantineAreListed) {
  v1::ListAttemptsRequest request;
  request.set_job("j1");
  request.set_limit(7);
  EXPECT_EQ(client_->ListAttempts(request)->attempts(0).draw(), 1u);
  request.set_draw(0);
  const v1::Attempt attempt = client_->ListAttempts(request)->attempts(0);
  EXPECT_EQ(attempt.draw(), 0u);
  EXPECT_EQ(attempt.samples(), 7);
  EXPECT_EQ(attempt.start_time().seconds(), 5);
  EXPECT_FALSE(attempt.has_end_time());
  v1::ListQuarantineRequest all;
  all.set_job("j1");
  const v1::QuarantinedSample sample = client_->ListQuarantine(all)->samples(0);
  EXPECT_EQ(sample.draw(), 4u);
  EXPECT_EQ(sample.prompt_row(), -1);
  EXPECT_FALSE(sample.has_time());
}

TEST_F(JobServiceTest, StepsOfAReplayAreListed) {
  const auto steps = client_->ListReplaySteps("j1", 4);
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_EQ(steps->steps(0).step(), 5);
  EXPECT_FALSE(steps->steps(0).equal());
  EXPECT_EQ(steps->steps(0).metric().where(), "kl");
  EXPECT_FALSE(steps->steps(0).has_sample());
}

TEST_F(JobServiceTest, PromptsAreReleasedByRowOrAllAtOnce) {
  v1::ReleaseQuarantineRequest request;
  request.set_job("j1");
  EXPECT_EQ(client_->ReleaseQuarantine(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.add_prompt_row(9);
  EXPECT_EQ(*client_->ReleaseQuarantine(request), 3);
  EXPECT_THAT(coordinator_.released, testing::ElementsAre(9));
  request.set_all(true);
  EXPECT_EQ(client_->ReleaseQuarantine(request).status().code(), absl::StatusCode::kInvalidArgument);
  request.clear_prompt_row();
  EXPECT_TRUE(client_->ReleaseQuarantine(request).ok());
  EXPECT_TRUE(coordinator_.released.empty());
  request.set_all(false);
  request.add_prompt_row(-1);
  EXPECT_EQ(client_->ReleaseQuarantine(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(JobServiceTest, SamplesAreStreamed) {
  v1::ListSamplesRequest request;
  request.set_job("j1");
  request.set_limit(5);
  request.set_step(2);
  request.set_evaluation(true);
  int count = 0;
  ASSERT_TRUE(client_
                  ->ListSamples(request,
                                [&](const v1::ListSamplesResponse& r) {
                                  EXPECT_EQ(r.prompt(), "evaluation");
                                  EXPECT_EQ(r.trajectory().key().index(), static_cast<uint32_t>(count++));
                                  return true;
                                })
                  .ok());
  EXPECT_EQ(count, 5);
  request.set_limit(-1);
  EXPECT_EQ(client_->ListSamples(request, [](const auto&) { return true; }).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(JobServiceTest, WatchShowsEachStateUntilTheEnd) {
  std::vector<int64_t> steps;
  absl::Status watched = client_->Watch("j1", Soon(), [&](const v1::WatchJobResponse& r) {
    steps.push_back(r.job().step());
    EXPECT_EQ(r.workers_size(), 1);
    // The next state is made only once this one was seen.
    coordinator_.Change("j1", [](JobView& v) {
      if (++v.step == 2) v.state = JobState::kSucceeded;
    });
    return true;
  });
  EXPECT_TRUE(watched.ok()) << watched;
  EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2));
}

TEST_F(JobServiceTest, WatchOfManyChangesIsThinned) {
  absl::Time begin = absl::Now();
  int seen = 0;
  int64_t last = 0;
  ASSERT_TRUE(client_
                  ->Watch("j1", Soon(),
                          [&](const v1::WatchJobResponse& r) {
                            ++seen;
                            last = r.job().step();
                            // Many changes at once: the watcher sees the last one.
                            for (int i = 0; i < 100; ++i)
                              coordinator_.Change("j1", [](JobView& v) { ++v.step; });
                            return seen < 4;
                          })
                  .ok());
  EXPECT_EQ(last % 100, 0);
  EXPECT_GE(last, 300);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(300));  // three intervals
}

TEST_F(JobServiceTest, WatchEndsWhenTheServiceStops) {
  absl::Status watched = client_->Watch("j1", Soon(), [&](const v1::WatchJobResponse&) {
    jobs_.Stop();
    return true;
  });
  EXPECT_EQ(watched.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(client_->Watch("none", Soon(), [](const auto&) { return true; }).code(),
            absl::StatusCode::kNotFound);
}

class FleetServiceTest : public JobServiceTest {
 protected:
  grpc::Status Register(const std::string& name, v1::WorkerRole role, const std::string& address) {
    grpc::ClientContext context;
    v1::RegisterWorkerRequest request;
    request.set_name(name);
    request.set_role(role);
    request.set_address(address);
    request.set_incarnation("i1");
    return v1::FleetService::NewStub(channel_)->RegisterWorker(&context, request, &registered_);
  }
  v1::RegisterWorkerResponse registered_;
};

TEST_F(FleetServiceTest, WorkersJoinAndStay) {
  ASSERT_TRUE(Register("rollout-0", v1::ROLLOUT, "127.0.0.1:5").ok());
  EXPECT_EQ(coordinator_.registered, "rollout-0 rollout 127.0.0.1:5");
  EXPECT_EQ(registered_.epoch(), 3u);
  EXPECT_EQ(registered_.lease().seconds(), 1);
  EXPECT_EQ(registered_.lease().nanos(), 500000000);
  v1::RenewLeaseRequest request;
  request.set_name("rollout-0");
  request.set_epoch(2);
  v1::RenewLeaseResponse response;
  grpc::ClientContext context, again;
  auto stub = v1::FleetService::NewStub(channel_);
  EXPECT_EQ(stub->RenewLease(&context, request, &response).error_code(), grpc::StatusCode::ABORTED);
  request.set_epoch(3);
  EXPECT_TRUE(stub->RenewLease(&again, request, &response).ok());
  EXPECT_EQ(response.lease().seconds(), 2);
  v1::LeaveFleetRequest leave;
  leave.set_name("rollout-0");
  leave.set_epoch(3);
  v1::LeaveFleetResponse left;
  grpc::ClientContext last;
  EXPECT_TRUE(stub->LeaveFleet(&last, leave, &left).ok());
  EXPECT_EQ(coordinator_.left, "rollout-0 3");
}

TEST_F(FleetServiceTest, BadRegistrationsAreRefused) {
  EXPECT_EQ(Register("", v1::ROLLOUT, "127.0.0.1:5").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Register("w", v1::WORKER_ROLE_UNSPECIFIED, "127.0.0.1:5").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Register("w", v1::ROLLOUT, "8.8.8.8:5").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(coordinator_.registered, "");
}

}  // namespace
}  // namespace sluice
