#include "coordinator/reporting/stall_detector.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1000);
absl::Time At(double seconds) { return kStart + absl::Seconds(seconds); }

TimeoutSpec Timeouts() {
  TimeoutSpec timeout;
  timeout.generate_seconds = 200;
  timeout.score_seconds = 60;
  timeout.train_seconds = 1800;
  timeout.load_policy_seconds = 150;
  return timeout;
}

// Version 39 is committed; the learner waits for groups of two samples, two a step.
SchedulerState Running() {
  SchedulerState state;
  state.plan.groups_per_step = 2;
  state.plan.stop_steps = 100;
  state.version = 39;
  state.learner = LearnerState{.name = "learner-0", .alive = true, .open = true, .version = 39};
  for (const char* name : {"rollout-1", "rollout-2"}) {
    state.rollout[name] = WorkerState{.epoch = 1, .alive = true, .version = 39};
  }
  state.reward["reward-0"] = WorkerState{.epoch = 1, .alive = true};
  return state;
}

GroupState Group(PolicyVersion train_by, std::vector<SampleStatus> statuses) {
  GroupState group;
  group.train_by = train_by;
  for (SampleStatus status : statuses) group.samples.push_back({.status = status});
  return group;
}

// "rollout: group 812 of step 40: sample 3 | rollout-2 | 200", without the wait for progress of any kind.
std::vector<std::string> Lines(const SchedulerState& state) {
  std::vector<std::string> out;
  for (const Wait& wait : WaitsOf(state, Timeouts())) {
    if (wait.kind == WaitKind::kStep) continue;
    out.push_back(absl::StrCat(WaitKindName(wait.kind), ": ", wait.what, " | ", wait.on, " | ",
                               absl::ToInt64Seconds(wait.limit)));
  }
  return out;
}

TEST(WaitsOfTest, NamesTheSampleItsStepAndItsWorker) {
  using enum SampleStatus;
  SchedulerState state = Running();
  state.groups[{false, 810}] = Group(39, {kScored, kScored});
  state.groups[{false, 810}].ready = true;
  state.groups[{false, 812}] = Group(40, {kGenerated, kGenerating, kGenerating});
  state.attempts[1] = {.group = {false, 812}, .indices = {1, 2}, .worker = "rollout-2"};
  state.groups[{false, 813}] = Group(41, {kPending, kScored});
  state.groups[{false, 814}] = Group(41, {kScored, kScoring});
  state.score_calls[2] = {.items = {{{false, 814}, 1}}, .worker = "reward-0"};
  state.groups[{false, 815}] = Group(42, {kGenerated, kGone});
  state.groups[{false, 816}] = Group(42, {kScored, kGone});  // settled: it is being made durable
  EXPECT_THAT(Lines(state),
              ElementsAre("rollout: group 812 of step 40: sample 1 and 1 more | rollout-2 | 200",
                          "rollout: group 813 of step 41: sample 0 | any rollout worker | 200",
                          "reward: group 814 of step 41: the verdict of sample 1 | reward-0 | 60",
                          "reward: group 815 of step 42: the verdict of sample 0 | any reward worker | 60"));
}

TEST(WaitsOfTest, NamesEvaluationsAndStepsOfDeterministicJobs) {
  using enum SampleStatus;
  SchedulerState state = Running();
  state.evaluation = EvaluationRun{.version = 39};
  state.groups[{true, 5}] = Group(0, {kGenerating});
  EXPECT_THAT(
      Lines(state),
      ElementsAre("rollout: prompt 5 of the evaluation of version 39: sample 0 | any rollout worker | 200"));
  state = Running();
  state.plan.deterministic = true;
  state.groups[{false, 79}] = Group(39, {kPending});  // two a step: draws 78 and 79 make version 40
  state.groups[{false, 82}] = Group(41, {kPending});
  EXPECT_THAT(Lines(state), ElementsAre("rollout: group 79 of step 40: sample 0 | any rollout worker | 200",
                                        "rollout: group 82 of step 42: sample 0 | any rollout worker | 200"));
}

TEST(WaitsOfTest, NamesTheCanaryOfAVersionThatIsOnTrial) {
  using enum SampleStatus;
  SchedulerState state = Running();
  state.plan.canary.prompts = 8;
  state.canary.settled = 38;
  state.canary.worker = "rollout-1";
  state.rollout["rollout-1"].canary = true;
  state.rollout["rollout-1"].version = state.rollout["rollout-2"].version = 38;
  state.evaluation = EvaluationRun{.version = 39, .prompts = 8, .canary = true, .done = 3};
  EXPECT_THAT(Lines(state), ElementsAre("weights: version 39 to be loaded | rollout-1 | 150"))
      << "the other is to have version 38";
  state.rollout["rollout-1"].version = 39;
  state.groups[{true, 3}] = Group(0, {kGenerating});
  state.attempts[1] = {.group = {true, 3}, .indices = {0}, .worker = "rollout-1"};
  EXPECT_THAT(Lines(state),
              ElementsAre("rollout: prompt 3 of the canary of version 39: sample 0 | rollout-1 | 200"));
  EXPECT_EQ(WaitsOf(state, Timeouts()).back().what,
            "the canary of version 39 on rollout-1: 3 of 8 prompts done");
}

TEST(WaitsOfTest, NamesWhatTheLearnerDoes) {
  const struct {
    LearnerOp op;
    int64_t number;
    const char* line;
  } cases[] = {{LearnerOp::kOpen, 0, "the job to be opened"},
               {LearnerOp::kSupervise, 6, "warm start step 7"},
               {LearnerOp::kPublishFirst, 0, "the first version"},
               {LearnerOp::kAddGroups, 40, "the groups of step 40 to be taken"},
               {LearnerOp::kStep, 40, "step 40"},
               {LearnerOp::kRedo, 38, "step 38 again"},
               {LearnerOp::kCheckpoint, 39, "the last checkpoint"},
               {LearnerOp::kRollBack, 41, "version 41 to be made of an older one"},
               {LearnerOp::kPromote, 39, "the checkpoint of version 39, which is promoted"}};
  for (const auto& c : cases) {
    SchedulerState state = Running();
    state.learner.busy = 1;
    state.learner.op = c.op;
    state.learner.op_version = c.number;
    EXPECT_THAT(Lines(state), ElementsAre(absl::StrCat("learner: ", c.line, " | learner-0 | 1800")));
  }
  EXPECT_THAT(Lines(Running()), IsEmpty());
  SchedulerState state = Running();
  state.learner.open = false;  // it failed and is asked again later
  EXPECT_THAT(Lines(state), ElementsAre("learner: the job to be opened | learner-0 | 1800"));
}

TEST(WaitsOfTest, NamesWhoIsMissingAndWhoIsBehind) {
  SchedulerState state = Running();
  state.learner.alive = false;
  state.rollout["rollout-1"].alive = state.rollout["rollout-2"].alive = false;
  state.reward.clear();
  EXPECT_THAT(Lines(state), ElementsAre("registration: a learner to register |  | 0",
                                        "registration: a rollout worker to register |  | 0",
                                        "registration: a reward worker to register |  | 0"));
  state = Running();
  state.rollout["rollout-1"].version = 38;
  EXPECT_THAT(Lines(state), ElementsAre("weights: version 39 to be loaded | rollout-1 | 150"));
  state.plan.deterministic = true;  // it serves an older version as long as that is needed
  EXPECT_THAT(Lines(state), IsEmpty());
  state.rollout["rollout-1"].loading = 39;
  EXPECT_THAT(Lines(state), ElementsAre("weights: version 39 to be loaded | rollout-1 | 150"));
}

TEST(WaitsOfTest, APausedOrEndedJobWaitsForNothing) {
  SchedulerState state = Running();
  state.learner.alive = false;
  state.paused = true;
  EXPECT_THAT(WaitsOf(state, Timeouts()), IsEmpty());
  state.paused = false;
  state.end = JobEnd::kFailed;
  EXPECT_THAT(WaitsOf(state, Timeouts()), IsEmpty());
}

std::vector<std::string> Names(const std::vector<Stall>& stalls) {
  std::vector<std::string> out;
  for (const Stall& stall : stalls) out.push_back(DescribeStall(stall));
  return out;
}

TEST(StallDetectorTest, AWaitIsAStallAfterTheLongerOfBothLimits) {
  for (const double limit : {50.0, 300.0}) {
    StallDetector detector(absl::Seconds(120));
    const std::vector<Wait> waits = {
        {WaitKind::kRollout, "k", "group 7 of step 2: sample 0", "rollout-0", absl::Seconds(limit)}};
    const double longer = std::max(limit, 120.0);
    EXPECT_THAT(detector.Observe(waits, At(0)).begun, IsEmpty());
    EXPECT_THAT(detector.Observe(waits, At(longer)).begun, IsEmpty());
    EXPECT_THAT(Names(detector.Observe(waits, At(longer + 1)).begun),
                ElementsAre("group 7 of step 2: sample 0 on rollout-0 since 1970-01-01T00:16:40Z"));
    // Said once; it lasts.
    EXPECT_THAT(detector.Observe(waits, At(longer + 2)).begun, IsEmpty());
    ASSERT_TRUE(detector.OfKind(WaitKind::kRollout).has_value());
    EXPECT_EQ(detector.OfKind(WaitKind::kRollout)->since, At(0));
    const StallDetector::News news = detector.Observe({}, At(longer + 3));
    EXPECT_EQ(news.ended.size(), 1u);
    EXPECT_FALSE(detector.Longest().has_value());
  }
}

TEST(StallDetectorTest, ProgressStartsTheTimeAnew) {
  StallDetector detector(absl::Seconds(100));
  Wait wait{WaitKind::kReward, "1 judged", "", "", absl::ZeroDuration()};
  detector.Observe({wait}, At(0));
  wait.key = "2 judged";
  EXPECT_THAT(detector.Observe({wait}, At(101)).begun, IsEmpty());
  EXPECT_THAT(detector.Observe({wait}, At(201)).begun, IsEmpty());
  EXPECT_EQ(detector.Observe({wait}, At(202)).begun.size(), 1u);
}

TEST(StallDetectorTest, RetriesDoNotHideAStall) {
  using enum SampleStatus;
  SchedulerState state = Running();
  state.groups[{false, 80}] = Group(40, {kGenerating});
  StallDetector detector(absl::Seconds(120));
  StallDetector::News news;
  for (int second = 0; second <= 201; ++second) {  // it fails each second and is given to the other worker
    state.attempts = {
        {static_cast<uint64_t>(second),
         {.group = {false, 80}, .indices = {0}, .worker = second % 2 ? "rollout-1" : "rollout-2"}}};
    news = detector.Observe(WaitsOf(state, Timeouts()), At(second));
  }
  EXPECT_THAT(Names(news.begun),
              ElementsAre("group 80 of step 40: sample 0 on rollout-1 since 1970-01-01T00:16:40Z"));
}

TEST(StallDetectorTest, TellsTheLongestOfEachKindAndCountsTheOthers) {
  StallDetector detector(absl::Seconds(10));
  const auto wait = [](WaitKind kind, const char* what) {
    return Wait{kind, what, what, "", absl::ZeroDuration()};
  };
  detector.Observe({wait(WaitKind::kRollout, "b")}, At(0));
  std::vector<Wait> waits = {wait(WaitKind::kRollout, "a"), wait(WaitKind::kRollout, "b"),
                             wait(WaitKind::kRollout, "c"), wait(WaitKind::kLearner, "l")};
  detector.Observe(waits, At(1));
  const auto begun = detector.Observe(waits, At(20)).begun;
  EXPECT_THAT(Names(begun),
              ElementsAre("l since 1970-01-01T00:16:41Z", "b (and 2 like it) since 1970-01-01T00:16:40Z"));
  EXPECT_EQ(detector.Longest()->what, "b");
}

TEST(StallDetectorTest, NoProgressAtAllIsToldWhenNothingElseIs) {
  SchedulerState state = Running();  // the learner waits for groups and there are none: nobody may know why
  StallDetector detector(absl::Seconds(120));
  detector.Observe(WaitsOf(state, Timeouts()), At(0));
  const auto begun = detector.Observe(WaitsOf(state, Timeouts()), At(1801)).begun;
  ASSERT_EQ(begun.size(), 1u);
  EXPECT_EQ(begun[0].kind, WaitKind::kStep);
  EXPECT_EQ(begun[0].what, "the groups of step 40: 0 of 2 complete");
  state.reward.clear();
  EXPECT_THAT(Names(detector.Observe(WaitsOf(state, Timeouts()), At(1802)).ended), IsEmpty());
  const StallDetector::News news = detector.Observe(WaitsOf(state, Timeouts()), At(1923));
  ASSERT_EQ(news.begun.size(), 1u);
  EXPECT_EQ(news.begun[0].what, "a reward worker to register");
  EXPECT_EQ(news.ended.size(), 1u);
}

TEST(StallDetectorTest, EveryKindHasANameOfItsOwn) {
  std::set<std::string> names;
  for (int kind = 0; kind < kWaitKinds; ++kind) names.insert(WaitKindName(static_cast<WaitKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kWaitKinds));
  EXPECT_EQ(names.count("?"), 0u);
}

}  // namespace
}  // namespace sluice
