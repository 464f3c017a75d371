#include "services/learner/gang_pulse.h"

#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;

// Far above what any test needs; only a failing test waits this long.
constexpr absl::Duration kLong = absl::Minutes(1);

// What one rank's pulse says.
struct Ears {
  GangPulseOptions Of(int rank, KeyValue* store) {
    GangPulseOptions options;
    options.rank = rank;
    options.world = 2;
    options.gang = "gang-1";
    options.store = store;
    options.period = absl::Milliseconds(5);
    options.limit = absl::Milliseconds(500);
    options.on_lost = [this](const absl::Status& status) {
      why = status;
      lost.Notify();
    };
    options.on_leaving = [this](int who) {
      leaver = who;
      leaving.Notify();
    };
    return options;
  }
  absl::Notification lost, leaving;
  absl::Status why;
  int leaver = -1;
};

// A store that a rank cannot reach.
class AwayKeyValue final : public KeyValue {
 public:
  absl::Status Set(const std::string&, const std::string&, absl::Time) override { return Away(); }
  absl::StatusOr<std::string> Get(const std::string&, absl::Time) override { return Away(); }
  absl::StatusOr<int64_t> Add(const std::string&, int64_t, absl::Time) override { return Away(); }
  absl::StatusOr<bool> Check(const std::vector<std::string>&, absl::Time) override { return Away(); }

 private:
  static absl::Status Away() { return absl::UnavailableError("away"); }
};

TEST(GangPulseTest, NamesTheRankThatFellSilent) {
  MemoryKeyValue store;
  Ears first, second;
  const GangPulse zero(first.Of(0, &store));
  auto one = std::make_unique<GangPulse>(second.Of(1, &store));
  ASSERT_TRUE(store.Get("gang-1/pulse/1", absl::Now() + kLong).ok());
  EXPECT_FALSE(first.lost.HasBeenNotified());
  one.reset();
  ASSERT_TRUE(first.lost.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(first.why.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(first.why.message()), HasSubstr("rank 1 of 2 was not heard of for"));
  EXPECT_FALSE(second.lost.HasBeenNotified());
}

TEST(GangPulseTest, NamesRankZeroWhenItDoesNotAnswer) {
  AwayKeyValue store;
  Ears ears;
  const GangPulse one(ears.Of(1, &store));
  ASSERT_TRUE(ears.lost.WaitForNotificationWithTimeout(kLong));
  EXPECT_THAT(std::string(ears.why.message()), HasSubstr("rank 0 of 2 was not heard of for"));
}

TEST(GangPulseTest, TellsRankZeroWhoLeaves) {
  MemoryKeyValue store;
  Ears first, second;
  GangPulseOptions patient = first.Of(0, &store);
  patient.limit = kLong;
  const GangPulse zero(patient);
  GangPulse one(second.Of(1, &store));
  EXPECT_TRUE(one.AskToLeave(absl::Now() + kLong).ok());
  ASSERT_TRUE(first.leaving.WaitForNotificationWithTimeout(kLong));
  EXPECT_EQ(first.leaver, 1);
}

TEST(GangPulseTest, DoesNotListenToTheGangBefore) {
  MemoryKeyValue store;
  ASSERT_TRUE(store.Set("gang-0/leaving/0", "1", absl::Now() + kLong).ok());
  Ears ears;
  const GangPulse zero(ears.Of(0, &store));
  ASSERT_TRUE(ears.lost.WaitForNotificationWithTimeout(kLong));  // nobody came
  EXPECT_FALSE(ears.leaving.HasBeenNotified());
}

}  // namespace
}  // namespace sluice
