#include "services/clients/fleet_member.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/rpc/channel.h"

namespace sluice {
namespace {

// Far above what any test needs; only a failing test waits this long.
absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

// A coordinator with scripted answers.
class FakeFleet final : public v1::FleetService::Service {
 public:
  grpc::Status RegisterWorker(grpc::ServerContext*, const v1::RegisterWorkerRequest* request,
                              v1::RegisterWorkerResponse* response) override {
    absl::MutexLock lock(&mu_);
    registrations_.push_back(*request);
    if (static_cast<int>(registrations_.size()) <= refuse_registrations) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "starting");
    }
    response->set_epoch(++epoch_);
    *response->mutable_lease() = Lease();
    return grpc::Status::OK;
  }
  grpc::Status RenewLease(grpc::ServerContext*, const v1::RenewLeaseRequest* request,
                          v1::RenewLeaseResponse* response) override {
    absl::MutexLock lock(&mu_);
    if (refuse_next_renewal != grpc::StatusCode::OK) {
      const grpc::StatusCode code = refuse_next_renewal;
      refuse_next_renewal = grpc::StatusCode::OK;
      return grpc::Status(code, "no");
    }
    if (request->epoch() == epoch_) ++renewals_;
    *response->mutable_lease() = Lease();
    return grpc::Status::OK;
  }
  grpc::Status LeaveFleet(grpc::ServerContext*, const v1::LeaveFleetRequest* request,
                          v1::LeaveFleetResponse*) override {
    absl::MutexLock lock(&mu_);
    left_.push_back(request->epoch());
    return grpc::Status::OK;
  }
  std::vector<uint64_t> left() {
    absl::MutexLock lock(&mu_);
    return left_;
  }
  bool AwaitRenewals(int count) {
    const auto reached = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return renewals_ >= count; };
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithDeadline(absl::Condition(&reached), Soon());
  }
  std::vector<v1::RegisterWorkerRequest> AwaitRegistrations(size_t count) {
    const auto reached = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return registrations_.size() >= count; };
    absl::MutexLock lock(&mu_);
    mu_.AwaitWithDeadline(absl::Condition(&reached), Soon());
    return registrations_;
  }
  void RefuseNextRenewal(grpc::StatusCode code) {
    absl::MutexLock lock(&mu_);
    refuse_next_renewal = code;
  }

  int refuse_registrations = 0;   // set before use
  int64_t lease_nanos = 3000000;  // set before use
  grpc::StatusCode refuse_next_renewal = grpc::StatusCode::OK;

 private:
  google::protobuf::Duration Lease() const {
    google::protobuf::Duration lease;
    lease.set_seconds(lease_nanos / 1000000000);
    lease.set_nanos(static_cast<int32_t>(lease_nanos % 1000000000));
    return lease;
  }

  absl::Mutex mu_;
  uint64_t epoch_ = 0;
  int renewals_ = 0;
  std::vector<uint64_t> left_;  // epochs
  std::vector<v1::RegisterWorkerRequest> registrations_;
};

class FleetMemberTest : public ::testing::Test {
 protected:
  std::unique_ptr<FleetMember> Join() {
    if (server_ == nullptr) StartServer();
    FleetMemberOptions options;
    options.name = "rollout-0";
    options.role = v1::ROLLOUT;
    options.address = "127.0.0.1:5";
    options.min_backoff = absl::Milliseconds(1);
    options.max_backoff = absl::Milliseconds(4);
    options.call_timeout = absl::Seconds(30);
    return std::make_unique<FleetMember>([this] { return *MakeChannel(Address()); }, options);
  }
  // At the port of the one before, if there was one.
  void StartServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Address(), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&fleet_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  std::string Address() const { return absl::StrCat("127.0.0.1:", port_); }
  int port_ = 0;
  FakeFleet fleet_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(FleetMemberTest, RegistersAndRenewsUnderItsEpoch) {
  const auto member = Join();
  ASSERT_TRUE(member->AwaitRegistered(Soon()));
  EXPECT_EQ(member->epoch(), 1u);
  EXPECT_TRUE(fleet_.AwaitRenewals(3));
  const auto registrations = fleet_.AwaitRegistrations(1);
  ASSERT_EQ(registrations.size(), 1u);
  EXPECT_EQ(registrations[0].name(), "rollout-0");
  EXPECT_EQ(registrations[0].role(), v1::ROLLOUT);
  EXPECT_EQ(registrations[0].address(), "127.0.0.1:5");
  EXPECT_EQ(registrations[0].incarnation().size(), 32u);
}

TEST_F(FleetMemberTest, TriesAgainUntilTheCoordinatorIsThere) {
  fleet_.refuse_registrations = 3;
  const auto member = Join();
  ASSERT_TRUE(member->AwaitRegistered(Soon()));
  EXPECT_EQ(fleet_.AwaitRegistrations(4).size(), 4u);
}

TEST_F(FleetMemberTest, RegistersAgainWhenARenewalIsRefused) {
  const auto member = Join();
  size_t expected = 1;
  for (grpc::StatusCode code :
       {grpc::StatusCode::ABORTED, grpc::StatusCode::NOT_FOUND, grpc::StatusCode::UNAVAILABLE}) {
    ASSERT_EQ(fleet_.AwaitRegistrations(expected).size(), expected);
    fleet_.RefuseNextRenewal(code);
    ++expected;
    const auto registrations = fleet_.AwaitRegistrations(expected);
    ASSERT_EQ(registrations.size(), expected) << code;
    EXPECT_EQ(registrations.back().incarnation(), registrations.front().incarnation());
  }
}

TEST_F(FleetMemberTest, StopsWhileItWaitsForAFarRenewal) {
  fleet_.lease_nanos = int64_t{3600} * 1000000000;
  const auto member = Join();
  ASSERT_TRUE(member->AwaitRegistered(Soon()));
  member->Stop();  // would wait twenty minutes
  member->Stop();
}

TEST_F(FleetMemberTest, AsksAtOnceWhenTheConnectionBreaks) {
  fleet_.lease_nanos = int64_t{3600} * 1000000000;
  const auto member = Join();
  ASSERT_TRUE(member->AwaitRegistered(Soon()));
  server_->Shutdown();
  fleet_.RefuseNextRenewal(grpc::StatusCode::NOT_FOUND);  // a new one knows nobody
  StartServer();
  EXPECT_EQ(fleet_.AwaitRegistrations(2).size(), 2u);  // it would renew in twenty minutes
}

TEST_F(FleetMemberTest, GivesItsLeaseBackWhenItLeaves) {
  const auto member = Join();
  ASSERT_TRUE(member->AwaitRegistered(Soon()));
  member->Leave(Soon());
  EXPECT_EQ(fleet_.left(), std::vector<uint64_t>{member->epoch()});
  const size_t registrations = fleet_.AwaitRegistrations(1).size();
  EXPECT_EQ(registrations, 1u);
}

TEST_F(FleetMemberTest, LeavesInTimeWhenTheCoordinatorIsAway) {
  const auto member = Join();
  ASSERT_TRUE(member->AwaitRegistered(Soon()));
  server_->Shutdown();
  member->Leave(Soon());
  EXPECT_TRUE(fleet_.left().empty());
}

TEST_F(FleetMemberTest, DoesNotTakeAnAbsurdLease) {
  fleet_.lease_nanos = 0;
  const auto member = Join();
  EXPECT_GE(fleet_.AwaitRegistrations(3).size(), 3u);
  EXPECT_EQ(member->epoch(), 0u);
}

}  // namespace
}  // namespace sluice
