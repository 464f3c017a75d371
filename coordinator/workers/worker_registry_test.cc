#include "coordinator/workers/worker_registry.h"

#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLease = absl::Seconds(10);

class FakePort final : public WorkPort {
 public:
  void Generate(uint64_t, const RolloutRequest&) override {}
  void Load(uint64_t, const PolicyRef&, SwapMode, absl::Time) override {}
  void Cancel(uint64_t, const absl::Status&) override {}
};

class WorkerRegistryTest : public ::testing::Test {
 protected:
  static WorkerOffer Offer(const std::string& address, const std::string& incarnation) {
    return {"learner-0", WorkerRole::kLearner, address, incarnation, std::make_shared<FakePort>(), 1};
  }
  uint64_t Take(const WorkerOffer& offer) {
    const auto worker = registry_.Register(offer, now_);
    EXPECT_TRUE(worker.ok()) << worker.status();
    return worker.ok() ? worker->epoch : 0;
  }
  absl::StatusCode Refused(const WorkerOffer& offer) {
    return registry_.Register(offer, now_).status().code();
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  uint64_t epoch_ = 0;
  WorkerRegistry registry_{{}, kLease, [this] { return ++epoch_; }};
};

TEST_F(WorkerRegistryTest, ASecondLivingProcessDoesNotTakeTheName) {
  const uint64_t first = Take(Offer("host:1", "a"));
  const absl::Status second = registry_.Register(Offer("host:2", "b"), now_).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.message()), HasSubstr("host:1 (incarnation a)"));
  EXPECT_THAT(std::string(second.message()), HasSubstr("--name"));
  EXPECT_TRUE(registry_.Holds("learner-0", first));
  EXPECT_TRUE(registry_.Renew("learner-0", first, now_).ok());
}

TEST_F(WorkerRegistryTest, TheSameIncarnationRegistersAgain) {
  const uint64_t first = Take(Offer("host:1", "a"));
  const uint64_t again = Take(Offer("host:2", "a"));
  EXPECT_GT(again, first);
  EXPECT_FALSE(registry_.Holds("learner-0", first));
}

TEST_F(WorkerRegistryTest, WhoComesAtTheSameAddressHasReplacedTheOther) {
  const uint64_t first = Take(Offer("host:1", "a"));
  EXPECT_GT(Take(Offer("host:1", "b")), first);
  EXPECT_EQ(registry_.Renew("learner-0", first, now_).code(), absl::StatusCode::kAborted);
}

TEST_F(WorkerRegistryTest, ANameIsFreeWhenItsHolderLeftOrItsLeaseEnded) {
  const uint64_t first = Take(Offer("host:1", "a"));
  ASSERT_TRUE(registry_.Leave("learner-0", first).ok());
  Take(Offer("host:2", "b"));
  now_ += kLease + absl::Seconds(1);
  EXPECT_THAT(registry_.Expire(now_, absl::ZeroDuration()), SizeIs(1));
  Take(Offer("host:3", "c"));
  EXPECT_EQ(Refused(Offer("host:2", "b")), absl::StatusCode::kAlreadyExists);
}

TEST_F(WorkerRegistryTest, ALeaseLastsByWhatTheCoordinatorItselfWasLate) {
  const uint64_t first = Take(Offer("host:1", "a"));
  now_ += absl::Seconds(8);  // of these it looked at nobody for six
  EXPECT_THAT(registry_.Expire(now_, absl::Seconds(6)), IsEmpty());
  now_ += absl::Seconds(60);  // paused
  EXPECT_THAT(registry_.Expire(now_, absl::Seconds(60)), IsEmpty());
  EXPECT_TRUE(registry_.Holds("learner-0", first));
  now_ += kLease + absl::Seconds(1);
  EXPECT_THAT(registry_.Expire(now_, absl::ZeroDuration()), SizeIs(1));
}

TEST_F(WorkerRegistryTest, ALateLookMakesNoLeaseLongerThanANewOne) {
  Take(Offer("host:1", "a"));
  EXPECT_THAT(registry_.Expire(now_, absl::Hours(1)), IsEmpty());
  now_ += kLease + absl::Seconds(1);
  EXPECT_THAT(registry_.Expire(now_, absl::ZeroDuration()), SizeIs(1));
}

// A disk that does not answer while an epoch is reserved.
TEST(WorkerRegistry, LeasesAreRenewedWhileARegistrationWaitsForTheDisk) {
  absl::Notification waiting, release;
  uint64_t epoch = 0;
  WorkerRegistry registry({}, kLease, [&] {
    if (++epoch == 2) {
      waiting.Notify();
      release.WaitForNotification();
    }
    return epoch;
  });
  const absl::Time now = absl::UnixEpoch();
  const auto port = std::make_shared<FakePort>();
  const auto first = registry.Register({"a", WorkerRole::kRollout, "host:1", "1", port, 1}, now);
  ASSERT_TRUE(first.ok());
  std::thread second([&] {
    EXPECT_TRUE(registry.Register({"b", WorkerRole::kRollout, "host:2", "2", port, 1}, now).ok());
  });
  waiting.WaitForNotification();
  EXPECT_TRUE(registry.Renew("a", first->epoch, now).ok());
  EXPECT_TRUE(registry.Holds("a", first->epoch));
  release.Notify();
  second.join();
}

TEST(LeaseClock, GoesForward) {
  const absl::Time before = LeaseClock().Now();
  EXPECT_GE(LeaseClock().Now(), before);
}

}  // namespace
}  // namespace sluice
