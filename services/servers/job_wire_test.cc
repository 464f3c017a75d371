#include "services/servers/job_wire.h"

#include <limits>

#include "gtest/gtest.h"

namespace sluice {
namespace {

JobView FullView() {
  JobView view;
  view.job = "j1";
  view.spec.name = "name";
  view.state = JobState::kRunning;
  view.step = 3;
  view.version = 4;
  view.warm_start_step = 5;
  view.last_step = {3, 4, {{"reward", 0.5}}, absl::FromUnixMillis(1500)};
  view.ledger.issued = 10;
  view.ledger[LedgerColumn::kTrained] = 7;
  view.ledger[LedgerColumn::kInFlight] = 3;
  view.waiting_for = "a rollout worker";
  view.error = "none \xFF";
  view.stalled = "learner-0: step 4";
  view.learner = "learner-1";
  view.rollout_workers = 6;
  EvaluationView evaluation{2, 3, 0.25, 0.5, 8, 12.5, {{"easy", 1.0}}, 0.75};
  evaluation.others.push_back({.accuracy = 0.25, .name = "greedy", .pass_at = {{4, 0.5}}});
  view.evaluations.push_back(evaluation);
  view.events.push_back({absl::FromUnixSeconds(7), "started"});
  view.create_time = absl::FromUnixSeconds(1);
  view.max_staleness = 2;
  view.exact_compared = 100;
  view.exact_max_difference = 0.125;
  view.promoted = 2;
  view.rollbacks.push_back({4, 2, "kl \xFF", absl::FromUnixSeconds(8)});
  view.trial = TrialView{4, "rollout-1", 2};
  view.canary =
      CanaryView{{3, CanaryVerdict::kTaken, 0.25, "rollout-0", "low \xFF"}, absl::FromUnixSeconds(9)};
  return view;
}

TEST(JobWireTest, EveryFieldOfAJobIsCarried) {
  const v1::Job job = ToProto(FullView());
  EXPECT_EQ(job.job(), "j1");
  EXPECT_EQ(job.spec().name(), "name");
  EXPECT_EQ(job.state(), v1::RUNNING);
  EXPECT_EQ(job.step(), 3);
  EXPECT_EQ(job.policy_version(), 4);
  EXPECT_EQ(job.warm_start_step(), 5);
  EXPECT_EQ(job.last_step().step(), 3);
  EXPECT_EQ(job.last_step().metrics().at("reward"), 0.5);
  EXPECT_EQ(job.last_step().time().seconds(), 1);
  EXPECT_EQ(job.last_step().time().nanos(), 500000000);
  EXPECT_EQ(job.ledger().issued(), 10);
  EXPECT_EQ(job.ledger().trained(), 7);
  EXPECT_EQ(job.waiting_for(), "a rollout worker");
  EXPECT_EQ(job.error(), "none \xEF\xBF\xBD");
  EXPECT_EQ(job.stalled(), "learner-0: step 4");
  EXPECT_EQ(job.learner(), "learner-1");
  EXPECT_EQ(job.rollout_workers(), 6);
  ASSERT_EQ(job.evaluations_size(), 1);
  EXPECT_EQ(job.evaluations(0).accuracy(), 0.5);
  EXPECT_EQ(job.evaluations(0).accuracy_by_kind().at("easy"), 1.0);
  ASSERT_EQ(job.events_size(), 1);
  EXPECT_EQ(job.events(0).text(), "started");
  EXPECT_EQ(job.create_time().seconds(), 1);
  EXPECT_FALSE(job.has_end_time());
  EXPECT_EQ(job.max_staleness(), 2);
  EXPECT_EQ(job.exact_compared(), 100);
  EXPECT_EQ(job.exact_max_difference(), 0.125);
  EXPECT_EQ(job.evaluations(0).train_reward(), 0.75);
  ASSERT_EQ(job.evaluations(0).others_size(), 1);
  EXPECT_EQ(job.evaluations(0).others(0).name(), "greedy");
  EXPECT_EQ(job.evaluations(0).others(0).accuracy(), 0.25);
  EXPECT_EQ(job.evaluations(0).others(0).pass_at().at(4), 0.5);
  EXPECT_EQ(job.promoted_version(), 2);
  ASSERT_EQ(job.rollbacks_size(), 1);
  EXPECT_EQ(job.rollbacks(0).policy_version(), 4);
  EXPECT_EQ(job.rollbacks(0).parent(), 2);
  EXPECT_EQ(job.rollbacks(0).reason(), "kl \xEF\xBF\xBD");
  EXPECT_EQ(job.rollbacks(0).time().seconds(), 8);
  EXPECT_EQ(job.trial().policy_version(), 4);
  EXPECT_EQ(job.trial().worker(), "rollout-1");
  EXPECT_EQ(job.trial().prompts_done(), 2);
  EXPECT_EQ(job.canary().policy_version(), 3);
  EXPECT_EQ(job.canary().decision(), v1::CanaryVerdict::TAKEN);
  EXPECT_EQ(job.canary().score(), 0.25);
  EXPECT_EQ(job.canary().worker(), "rollout-0");
  EXPECT_EQ(job.canary().reason(), "low \xEF\xBF\xBD");
  EXPECT_EQ(job.canary().time().seconds(), 9);
}

TEST(JobWireTest, WhatHasNotHappenedIsAbsent) {
  JobView view;
  EXPECT_FALSE(ToProto(view).has_last_step());
  view.end_time = absl::FromUnixSeconds(9);
  EXPECT_EQ(ToProto(view).end_time().seconds(), 9);
  EXPECT_EQ(ToProto(view).policy_version(), -1);
  EXPECT_EQ(ToProto(view).promoted_version(), -1);
  EXPECT_EQ(ToProto(view).rollbacks_size(), 0);
  EXPECT_FALSE(ToProto(view).has_trial());
  EXPECT_FALSE(ToProto(view).has_canary());
  view.canary = CanaryView{{.score = std::numeric_limits<double>::quiet_NaN()}, absl::FromUnixSeconds(9)};
  EXPECT_FALSE(ToProto(view).canary().has_score());
}

TEST(JobWireTest, StatesAreAllKnown) {
  for (JobState state : {JobState::kPending, JobState::kWarmingUp, JobState::kRunning, JobState::kPaused,
                         JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
    EXPECT_NE(ToProto(state), v1::JOB_STATE_UNSPECIFIED);
  }
}

TEST(JobWireTest, UnknownRoleIsRefused) {
  EXPECT_EQ(*FromProto(v1::LEARNER), WorkerRole::kLearner);
  EXPECT_EQ(FromProto(v1::WORKER_ROLE_UNSPECIFIED).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(FromProto(static_cast<v1::WorkerRole>(77)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(JobWireTest, SampleTextsBecomeValidUtf8) {
  SampleView view;
  view.prompt = "\xC3";
  view.prompt_uid = "p1";
  view.ledger_column = "trained";
  view.step = 2;
  view.sample.advantage = 0.5;
  const v1::ListSamplesResponse out = ToProto(view);
  EXPECT_EQ(out.prompt(), "\xEF\xBF\xBD");
  EXPECT_EQ(out.prompt_uid(), "p1");
  EXPECT_EQ(out.ledger_column(), "trained");
  EXPECT_EQ(out.step(), 2);
  EXPECT_EQ(out.advantage(), 0.5);
}

}  // namespace
}  // namespace sluice
