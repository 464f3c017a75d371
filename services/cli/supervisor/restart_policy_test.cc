#include "services/cli/supervisor/restart_policy.h"

#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

const RestartLimits kLimits{.first_delay = absl::Milliseconds(100),
                            .longest_delay = absl::Seconds(1),
                            .quick = absl::Seconds(10),
                            .alarm_after = 3};
const absl::Time kStart = absl::UnixEpoch() + absl::Hours(1);

// Dies one second after each start.
RestartPolicy::Decision DieQuickly(RestartPolicy& policy) {
  policy.Started(kStart);
  return policy.Died(kStart + absl::Seconds(1));
}

absl::Duration DelayOf(const RestartPolicy::Decision& decision) {
  return decision.start_at - (kStart + absl::Seconds(1));
}

TEST(RestartPolicyTest, RestartsAtOnceWhenALongLivedProcessDies) {
  RestartPolicy policy(kLimits);
  policy.Started(kStart);
  const auto decision = policy.Died(kStart + absl::Hours(2));
  EXPECT_EQ(decision.start_at, kStart + absl::Hours(2));
  EXPECT_FALSE(decision.alarm);
}

TEST(RestartPolicyTest, DoublesTheDelayUpToALimitWhenDeathsAreQuick) {
  RestartPolicy policy(kLimits);
  EXPECT_EQ(DelayOf(DieQuickly(policy)), absl::Milliseconds(100));
  EXPECT_EQ(DelayOf(DieQuickly(policy)), absl::Milliseconds(200));
  EXPECT_EQ(DelayOf(DieQuickly(policy)), absl::Milliseconds(400));
  EXPECT_EQ(DelayOf(DieQuickly(policy)), absl::Milliseconds(800));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(DelayOf(DieQuickly(policy)), absl::Seconds(1));
}

TEST(RestartPolicyTest, RaisesTheAlarmAtEachMultipleOfQuickDeaths) {
  RestartPolicy policy(kLimits);
  for (int i = 1; i <= 9; ++i) EXPECT_EQ(DieQuickly(policy).alarm, i % 3 == 0) << i;
}

TEST(RestartPolicyTest, ForgetsQuickDeathsWhenTheProcessLived) {
  RestartPolicy policy(kLimits);
  for (int i = 0; i < 4; ++i) DieQuickly(policy);
  policy.Started(kStart);
  policy.Died(kStart + absl::Hours(1));
  EXPECT_EQ(policy.quick_deaths(), 0);
  EXPECT_EQ(DelayOf(DieQuickly(policy)), absl::Milliseconds(100));
}

}  // namespace
}  // namespace sluice::cli
