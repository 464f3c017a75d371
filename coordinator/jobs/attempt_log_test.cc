#include "coordinator/jobs/attempt_log.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

TEST(AttemptLog, ReportsEachAttemptOfTrainingOnceWithItsTokens) {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  AttemptLog log;
  log.Started({.attempt = 1, .group = {false, 7}, .number = 3});
  log.Started({.attempt = 2, .group = {false, 8}});
  log.Started({.attempt = 3, .group = {true, 0}});
  log.CountTokens(1, 5);
  log.CountTokens(1, 6);
  log.CountTokens(9, 6);
  const auto ended = log.Ended(now, {1, AttemptOutcome::kLost});
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->draw, 7u);
  EXPECT_EQ(ended->number, 3u);
  EXPECT_EQ(ended->tokens, 11);
  EXPECT_EQ(ended->outcome, AttemptOutcome::kLost);
  EXPECT_EQ(ended->ended, now);
  EXPECT_FALSE(log.Ended(now, {1, AttemptOutcome::kDone}).has_value());
  EXPECT_FALSE(log.Ended(now, {3, AttemptOutcome::kDone}).has_value()) << "of an evaluation";
}

}  // namespace
}  // namespace sluice
