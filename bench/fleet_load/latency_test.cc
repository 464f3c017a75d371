#include "bench/fleet_load/latency.h"

#include "gtest/gtest.h"

namespace sluice::bench {
namespace {

TEST(LatencyTest, QuantilesAreWithinTheWidthOfABucket) {
  LatencyRecord latency;
  for (int i = 1; i <= 1000; ++i) latency.Add(absl::Milliseconds(i));
  EXPECT_EQ(latency.count(), 1000);
  EXPECT_EQ(latency.max(), absl::Seconds(1));
  EXPECT_NEAR(absl::ToDoubleMilliseconds(latency.Quantile(0.5)), 500, 11);
  EXPECT_NEAR(absl::ToDoubleMilliseconds(latency.Quantile(0.99)), 990, 20);
  EXPECT_EQ(latency.Quantile(1), absl::Seconds(1));
}

TEST(LatencyTest, IsZeroOfNothingAndTakesWhatIsFarOff) {
  LatencyRecord latency;
  EXPECT_EQ(latency.Quantile(0.99), absl::ZeroDuration());
  latency.Add(absl::ZeroDuration());
  latency.Add(absl::Hours(1000));
  EXPECT_EQ(latency.count(), 2);
  EXPECT_LE(latency.Quantile(0.5), absl::Microseconds(2));
}

}  // namespace
}  // namespace sluice::bench
