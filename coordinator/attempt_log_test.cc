#include "coordinator/attempt_log.h"

#include "gtest/gtest.h"

namespace sluice {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

class AttemptLogTest : public testing::Test {
 protected:
  void Start(uint64_t id, Draw draw, uint32_t number = 0) {
    log_.Started(
        {.attempt = id, .group = {false, draw}, .number = number, .deadline = kNow + absl::Minutes(1)});
    state_.attempts[id] = {};
  }
  // What the end of attempt 1 by `body` is taken for.
  AttemptOutcome OutcomeOf(decltype(Event::body) body, absl::Time now = kNow) {
    Start(1, 7);
    state_.attempts.erase(1);
    const auto ended = log_.Ended({now, std::move(body)}, state_);
    EXPECT_EQ(ended.size(), 1u);
    return ended.empty() ? AttemptOutcome::kFailed : ended[0].outcome;
  }
  AttemptLog log_;
  SchedulerState state_;
};

TEST_F(AttemptLogTest, NamesTheOutcomeByWhatEndedTheAttempt) {
  EXPECT_EQ(OutcomeOf(GenerateEnded{1, absl::OkStatus()}), AttemptOutcome::kDone);
  EXPECT_EQ(OutcomeOf(GenerateEnded{1, absl::InternalError("")}), AttemptOutcome::kFailed);
  EXPECT_EQ(OutcomeOf(GenerateEnded{1, absl::UnavailableError("")}), AttemptOutcome::kLost);
  EXPECT_EQ(OutcomeOf(GenerateEnded{1, absl::CancelledError("")}), AttemptOutcome::kCancelled);
  EXPECT_EQ(OutcomeOf(SampleArrived{1}), AttemptOutcome::kDone);
  EXPECT_EQ(OutcomeOf(SampleArrived{2}), AttemptOutcome::kHedgeLost);
  EXPECT_EQ(OutcomeOf(WorkerDown{"w", 1, ""}), AttemptOutcome::kLost);
  EXPECT_EQ(OutcomeOf(RolloutUp{"w", 2}), AttemptOutcome::kLost);
  EXPECT_EQ(OutcomeOf(TickEvent{}), AttemptOutcome::kCancelled);
  EXPECT_EQ(OutcomeOf(TickEvent{}, kNow + absl::Minutes(1)), AttemptOutcome::kLost);
  EXPECT_EQ(OutcomeOf(CancelEvent{}), AttemptOutcome::kCancelled);
}

TEST_F(AttemptLogTest, ReportsEachAttemptOfTrainingOnceWithItsTokens) {
  Start(1, 7, 3);
  Start(2, 8);
  log_.Started({.attempt = 3, .group = {true, 0}});
  log_.CountTokens(1, 5);
  log_.CountTokens(1, 6);
  log_.CountTokens(9, 6);
  state_.attempts.erase(1);
  const Event event{kNow, GenerateEnded{1, absl::OkStatus()}};
  const auto ended = log_.Ended(event, state_);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].draw, 7u);
  EXPECT_EQ(ended[0].number, 3u);
  EXPECT_EQ(ended[0].tokens, 11);
  EXPECT_EQ(ended[0].ended, kNow);
  EXPECT_TRUE(log_.Ended(event, state_).empty());
}

}  // namespace
}  // namespace sluice
