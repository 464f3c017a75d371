#include "services/clients/work_link.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/rpc/channel.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// Far above what any test needs; only a failing test waits this long.
absl::Time Soon() { return absl::Now() + absl::Seconds(30); }

// A coordinator with scripted answers. Keeps what it is told.
class FakeFleet final : public v1::FleetService::Service {
 public:
  using ServerStream = grpc::ServerReaderWriter<v1::WorkResponse, v1::WorkRequest>;

  grpc::Status Work(grpc::ServerContext* context, ServerStream* stream) override {
    bool mute = false;
    {
      absl::MutexLock lock(&mu_);
      peers_.push_back(context->peer());
      context_ = context;
      stream_ = stream;
      mute = static_cast<int>(peers_.size()) <= mute_streams;
    }
    v1::WorkRequest request;
    while (MayRead() && stream->Read(&request)) Take(request, *stream, mute);
    absl::MutexLock lock(&mu_);
    ++ended_;
    stream_ = nullptr;
    context_ = nullptr;
    return grpc::Status::OK;
  }
  void Send(const v1::WorkResponse& response) {
    absl::MutexLock lock(&mu_);
    ASSERT_NE(stream_, nullptr);
    stream_->Write(response);
  }
  void Break() {
    absl::MutexLock lock(&mu_);
    if (context_ != nullptr) context_->TryCancel();
  }
  void Read(bool read) {
    absl::MutexLock lock(&mu_);
    reads_ = read;
  }
  void RefuseNextRenewal() {
    absl::MutexLock lock(&mu_);
    refuse_renewal_ = true;
  }
  bool Await(const std::function<bool()>& reached) {
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithDeadline(absl::Condition(&reached), Soon());
  }
  // Under the lock of Await.
  std::vector<v1::WorkJoin> joins;
  std::vector<v1::WorkReport> reports;
  std::vector<int> batches;  // reports of each message that had any
  std::vector<uint32_t> leaves;
  int renewals = 0;
  size_t streams() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return peers_.size(); }
  const std::vector<std::string>& peers() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return peers_; }
  int ended() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return ended_; }

  // Set before use.
  int mute_streams = 0;  // answers nothing on the first so many
  int refuse_joins = 0;
  bool order_first = false;  // gives the first worker order 9, and answers its join when that is reported on
  int64_t lease_nanos = 30000000;
  bool renews_for_nothing = false;

 private:
  bool MayRead() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&reads_));
    return true;
  }
  void Take(const v1::WorkRequest& request, ServerStream& stream, bool mute) {
    absl::MutexLock lock(&mu_);
    v1::WorkResponse response;
    for (const v1::WorkJoin& join : request.joins()) {
      joins.push_back(join);
      v1::WorkJoined& joined = *response.add_joined();
      joined.set_worker(join.worker());
      if (static_cast<int>(joins.size()) <= refuse_joins) {
        joined.mutable_refused()->set_code(3);
        joined.mutable_refused()->set_message("joins[0].slots: no");
      } else {
        joined.mutable_registered()->set_epoch(joins.size());
        joined.mutable_registered()->mutable_lease()->set_nanos(static_cast<int32_t>(lease_nanos));
      }
    }
    if (request.has_renewal()) {
      ++renewals;
      response.mutable_renewed()->mutable_lease()->set_nanos(
          renews_for_nothing ? 0 : static_cast<int32_t>(lease_nanos));
      if (std::exchange(refuse_renewal_, false)) response.mutable_renewed()->add_refused(7);
    }
    reports.insert(reports.end(), request.reports().begin(), request.reports().end());
    if (request.reports_size() > 0) batches.push_back(request.reports_size());
    leaves.insert(leaves.end(), request.leaves().begin(), request.leaves().end());
    if (order_first && reports.empty()) {
      if (response.joined_size() > 0) held_ = std::exchange(response, {});
      response.add_orders()->set_order(9);
    } else if (order_first) {
      response.MergeFrom(std::exchange(held_, {}));
    }
    if (!mute && response.ByteSizeLong() > 0) stream.Write(response);
  }

  absl::Mutex mu_;
  std::vector<std::string> peers_ ABSL_GUARDED_BY(mu_);
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mu_) = nullptr;
  ServerStream* stream_ ABSL_GUARDED_BY(mu_) = nullptr;
  v1::WorkResponse held_ ABSL_GUARDED_BY(mu_);
  bool reads_ ABSL_GUARDED_BY(mu_) = true;
  bool refuse_renewal_ ABSL_GUARDED_BY(mu_) = false;
  int ended_ ABSL_GUARDED_BY(mu_) = 0;
};

// Keeps its orders.
class FakeHandler final : public WorkHandler {
 public:
  void Take(v1::WorkOrder order, absl::Time deadline) override {
    absl::MutexLock lock(&mu_);
    taken.push_back(order.order());
    latest_deadline = std::max(latest_deadline, deadline);
    if (on_take) on_take(order);
  }
  std::function<void(const v1::WorkOrder&)> on_take;  // set before use
  void Cancel(uint64_t order) override {
    absl::MutexLock lock(&mu_);
    cancelled.push_back(order);
  }
  void Lost(uint32_t worker) override {
    absl::MutexLock lock(&mu_);
    lost.push_back(worker);
  }
  bool Await(const std::function<bool()>& reached) {
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithDeadline(absl::Condition(&reached), Soon());
  }
  // Under the lock of Await.
  std::vector<uint64_t> taken, cancelled;
  std::vector<uint32_t> lost;
  absl::Time latest_deadline = absl::InfinitePast();

 private:
  absl::Mutex mu_;
};

class WorkLinkTest : public ::testing::Test {
 protected:
  WorkLinkTest() {
    options_.min_backoff = absl::Milliseconds(1);
    options_.max_backoff = absl::Milliseconds(4);
    options_.silence = absl::Seconds(30);
  }
  ~WorkLinkTest() override {
    fleet_.Read(true);
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }
  std::unique_ptr<WorkLink> Connect() {
    if (server_ == nullptr) StartServer();
    return std::make_unique<WorkLink>([this] { return *MakeChannel(Address()); }, handler_, options_);
  }
  std::unique_ptr<WorkLink> Join() {
    auto link = Connect();
    link->Join(Worker(7));
    EXPECT_TRUE(link->AwaitJoined(1, Soon()));
    return link;
  }
  static v1::WorkJoin Worker(uint32_t number) {
    v1::WorkJoin join;
    join.set_worker(number);
    join.set_slots(2);
    join.mutable_registration()->set_name(absl::StrCat("rollout-", number));
    join.mutable_registration()->set_role(v1::ROLLOUT);
    join.mutable_registration()->set_address("127.0.0.1:5");
    return join;
  }
  static v1::WorkReport Ended(uint64_t order) {
    v1::WorkReport report;
    report.set_worker(7);
    report.set_order(order);
    report.mutable_ended();
    return report;
  }
  void StartServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(Address(), grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.RegisterService(&fleet_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  std::string Address() const { return absl::StrCat("127.0.0.1:", port_); }

  int port_ = 0;
  WorkLinkOptions options_;
  FakeFleet fleet_;
  FakeHandler handler_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(WorkLinkTest, WorkersOfOneLinkJoinAndAreKeptTogether) {
  const auto link = Connect();
  for (uint32_t number = 0; number < 300; ++number) link->Join(Worker(number));
  ASSERT_TRUE(link->AwaitJoined(300, Soon()));
  EXPECT_TRUE(fleet_.Await([&] { return fleet_.renewals >= 3; }));
  EXPECT_EQ(fleet_.streams(), 1u);
  EXPECT_EQ(fleet_.joins.size(), 300u);
  EXPECT_EQ(fleet_.joins[0].registration().incarnation().size(), 32u);
  EXPECT_EQ(fleet_.joins[0].slots(), 2);
  EXPECT_NE(link->epoch(299), 0u);
}

TEST_F(WorkLinkTest, HandsOnOrdersAndCancellations) {
  const auto link = Join();
  v1::WorkResponse response;
  response.add_orders()->set_order(41);
  response.mutable_orders(0)->mutable_timeout()->set_seconds(3600);
  response.add_cancels()->set_order(40);
  const absl::Time before = absl::Now();
  fleet_.Send(response);
  ASSERT_TRUE(handler_.Await([&] { return !handler_.cancelled.empty(); }));
  EXPECT_THAT(handler_.taken, ElementsAre(41));
  EXPECT_THAT(handler_.cancelled, ElementsAre(40));
  EXPECT_GE(handler_.latest_deadline, before + absl::Hours(1));
}

// The third order's parts are more than is kept: it is begun anew.
TEST_F(WorkLinkTest, AnOrderHasWhatItGoesOnFromOfMessagesBefore) {
  options_.begun_bytes = 4000;
  std::map<uint64_t, int> parts;
  handler_.on_take = [&](const v1::WorkOrder& order) {
    parts[order.order()] = order.generate().begun_size();
  };
  const auto link = Join();
  const auto send = [&](uint64_t order, int times, int text) {
    for (int i = 0; i < times; ++i) {
      v1::WorkResponse response;
      response.add_begun()->set_order(order);
      response.mutable_begun(0)->mutable_trajectory()->set_text(std::string(static_cast<size_t>(text), 'x'));
      fleet_.Send(response);
    }
  };
  const auto order = [&](uint64_t number) {
    v1::WorkResponse response;
    response.add_orders()->set_order(number);
    response.mutable_orders(0)->mutable_generate();
    fleet_.Send(response);
  };
  send(41, 2, 1000);
  send(42, 1, 1000);
  send(43, 5, 500);
  for (const uint64_t number : {42, 43, 41}) order(number);
  send(44, 3, 1000);
  for (const uint64_t number : {44, 45}) order(number);
  ASSERT_TRUE(handler_.Await([&] { return handler_.taken.size() == 5; }));
  EXPECT_THAT(handler_.taken, ElementsAre(42, 43, 41, 44, 45));
  EXPECT_THAT(parts, ElementsAre(Pair(41, 2), Pair(42, 1), Pair(43, 0), Pair(44, 3), Pair(45, 0)));
}

TEST_F(WorkLinkTest, ReportsGoInOrderAndInBatches) {
  options_.batch_reports = 10;
  options_.batch_wait = absl::Hours(1);  // only full ones go
  fleet_.lease_nanos = 999999999;
  const auto link = Join();
  for (uint64_t order = 1; order <= 20; ++order) link->Report(Ended(order));
  ASSERT_TRUE(fleet_.Await([&] { return fleet_.reports.size() == 20; }));
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(fleet_.reports[i].order(), i + 1);
  EXPECT_LE(fleet_.batches.size(), 2u);
}

TEST_F(WorkLinkTest, ABrokenStreamLosesTheOrdersAndTheWorkersJoinAgain) {
  const auto link = Join();
  fleet_.Break();
  ASSERT_TRUE(handler_.Await([&] { return !handler_.lost.empty(); }));
  EXPECT_THAT(handler_.lost, ElementsAre(7));
  ASSERT_TRUE(link->AwaitJoined(1, Soon()));
  EXPECT_TRUE(fleet_.Await([&] { return fleet_.joins.size() == 2; }));
  EXPECT_EQ(fleet_.joins[0].registration().incarnation(), fleet_.joins[1].registration().incarnation());
  EXPECT_EQ(link->epoch(7), 2u);
}

TEST_F(WorkLinkTest, ASilentCoordinatorIsLeftForANewConnection) {
  options_.silence = absl::Milliseconds(50);
  fleet_.mute_streams = 1;
  const auto link = Join();
  ASSERT_GE(fleet_.streams(), 2u);
  EXPECT_NE(fleet_.peers()[0], fleet_.peers()[1]);
}

TEST_F(WorkLinkTest, AWorkerWhoseLeaseIsRefusedJoinsAgainOnTheSameStream) {
  const auto link = Join();
  fleet_.RefuseNextRenewal();
  ASSERT_TRUE(handler_.Await([&] { return !handler_.lost.empty(); }));
  EXPECT_TRUE(fleet_.Await([&] { return fleet_.joins.size() == 2; }));
  EXPECT_TRUE(link->AwaitJoined(1, Soon()));
  EXPECT_EQ(fleet_.streams(), 1u);
}

TEST_F(WorkLinkTest, ARefusedWorkerTriesAgain) {
  fleet_.refuse_joins = 3;
  const auto link = Join();
  EXPECT_EQ(link->epoch(7), 4u);
}

TEST_F(WorkLinkTest, DoesNotTakeAnAbsurdLease) {
  fleet_.lease_nanos = 0;
  const auto link = Connect();
  link->Join(Worker(7));
  EXPECT_TRUE(fleet_.Await([&] { return fleet_.joins.size() >= 3; }));
  EXPECT_EQ(link->epoch(7), 0u);
}

TEST_F(WorkLinkTest, ARenewalForNoTimeIsNotAskedForAllTheTime) {
  fleet_.renews_for_nothing = true;  // the lease before, of 30 ms, goes on: every 10 ms
  const absl::Time began = absl::Now();
  const auto link = Join();
  ASSERT_TRUE(fleet_.Await([&] { return fleet_.renewals == 8; }));
  EXPECT_GE(absl::Now() - began, absl::Milliseconds(70));
}

TEST_F(WorkLinkTest, AnOrderThatComesBeforeTheAnswerToItsJoinIsReportedOn) {
  fleet_.order_first = true;
  const auto link = Connect();
  handler_.on_take = [&](const v1::WorkOrder& order) { link->Report(Ended(order.order())); };
  link->Join(Worker(7));
  EXPECT_TRUE(link->AwaitJoined(1, Soon()));
  ASSERT_FALSE(fleet_.reports.empty());
  EXPECT_EQ(fleet_.reports[0].order(), 9u);
}

TEST_F(WorkLinkTest, WorkersLeaveAfterWhatTheyReported) {
  options_.batch_wait = absl::Hours(1);
  const auto link = Join();
  link->Report(Ended(5));
  link->Leave(Soon());
  EXPECT_TRUE(fleet_.Await([&] { return fleet_.ended() == 1; }));
  ASSERT_EQ(fleet_.reports.size(), 1u);
  EXPECT_THAT(fleet_.leaves, ElementsAre(7));
  EXPECT_EQ(fleet_.joins.size(), 1u);
}

TEST_F(WorkLinkTest, LeavesInTimeWhenTheCoordinatorIsAway) {
  const auto link = Join();
  server_->Shutdown(std::chrono::system_clock::now());
  link->Leave(Soon());
}

TEST_F(WorkLinkTest, LeavesInTimeWhenTheCoordinatorDoesNotRead) {
  const auto link = Join();
  fleet_.Read(false);
  link->Leave(absl::Now() + absl::Milliseconds(20));
}

TEST_F(WorkLinkTest, WhoReportsWaitsWhileTheCoordinatorDoesNotRead) {
  options_.queued_bytes = 1 << 20;
  const auto link = Join();
  fleet_.Read(false);
  v1::WorkReport large = Ended(1);
  large.mutable_generated()->mutable_trajectory()->set_text(std::string(1 << 20, 'x'));
  std::thread reporter([&] {
    for (int i = 0; i < 16; ++i) link->Report(large);
  });
  fleet_.Read(true);
  EXPECT_TRUE(fleet_.Await([&] { return fleet_.reports.size() == 16; }));
  reporter.join();
}

TEST_F(WorkLinkTest, ReportsOfAWorkerThatIsNotRegisteredAreDropped) {
  const auto link = Join();
  fleet_.Break();
  ASSERT_TRUE(handler_.Await([&] { return !handler_.lost.empty(); }));
  v1::WorkReport stranger = Ended(3);
  stranger.set_worker(8);
  link->Report(stranger);
  ASSERT_TRUE(link->AwaitJoined(1, Soon()));
  link->Report(Ended(4));
  ASSERT_TRUE(fleet_.Await([&] { return !fleet_.reports.empty(); }));
  EXPECT_EQ(fleet_.reports[0].order(), 4u);
}

}  // namespace
}  // namespace sluice
