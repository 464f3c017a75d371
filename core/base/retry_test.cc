#include "core/base/retry.h"

#include "absl/time/clock.h"
#include "core/base/status.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(RetryAfter, TravelsInTheStatus) {
  absl::Status status = absl::ResourceExhaustedError("full");
  EXPECT_FALSE(RetryAfter(status).has_value());
  SetRetryAfter(absl::Milliseconds(250), status);
  EXPECT_EQ(RetryAfter(Annotate(status, "service")), absl::Milliseconds(250));
  SetRetryAfter(absl::InfiniteDuration(), status);
  EXPECT_EQ(RetryAfter(status), absl::InfiniteDuration());
  status = absl::OkStatus();
  SetRetryAfter(absl::Seconds(1), status);
  EXPECT_FALSE(RetryAfter(status).has_value());
}

TEST(PauseBeforeRetry, EndsWithTheDeadlineAndTheToken) {
  const CancelToken cancel;
  EXPECT_TRUE(PauseBeforeRetry(absl::Milliseconds(1), absl::InfiniteFuture(), cancel));
  EXPECT_FALSE(PauseBeforeRetry(absl::Hours(1), absl::Now() + absl::Minutes(1), cancel));
  EXPECT_FALSE(PauseBeforeRetry(absl::InfiniteDuration(), absl::InfiniteFuture(), cancel));
  cancel.Cancel();
  EXPECT_FALSE(PauseBeforeRetry(absl::Hours(1), absl::InfiniteFuture(), cancel));
}

}  // namespace
}  // namespace sluice
