#include "services/cli/panel.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::StepRecord Record(int64_t step, double reward) {
  v1::StepRecord record;
  record.set_step(step);
  (*record.mutable_metrics())["reward"] = reward;
  (*record.mutable_metrics())["kl"] = 0.001;
  (*record.mutable_metrics())["completion_tokens"] = 5.5;
  return record;
}

v1::WatchJobResponse Running() {
  v1::WatchJobResponse state;
  v1::Job& job = *state.mutable_job();
  job.set_job("j1");
  job.mutable_spec()->set_name("demo");
  job.mutable_spec()->mutable_stop()->set_steps(10);
  job.set_state(v1::RUNNING);
  job.set_step(5);
  job.set_waiting_for("groups of step 6");
  *job.mutable_last_step() = Record(5, 0.5);
  job.mutable_ledger()->set_issued(100);
  job.mutable_ledger()->set_in_flight(20);
  job.mutable_ledger()->set_trained(80);
  job.set_max_staleness(2);
  job.set_exact_compared(1234);
  v1::Evaluation& evaluation = *job.add_evaluations();
  evaluation.set_accuracy(0.25);
  evaluation.set_reward(0.25);
  (*evaluation.mutable_accuracy_by_kind())["two numbers"] = 0.4;
  job.add_events()->set_text("rollout-1 joined");
  v1::WorkerStatus& worker = *state.add_workers();
  worker.set_name("rollout-0");
  worker.set_role("rollout");
  worker.set_alive(true);
  worker.set_policy_version(4);
  worker.set_in_flight(3);
  worker.set_tokens_generated(999);
  v1::WorkerStatus& lost = *state.add_workers();
  lost.set_name("reward-0");
  lost.set_role("reward");
  return state;
}

TEST(PanelTest, SaysWhatIsStalled) {
  v1::WatchJobResponse state = Running();
  EXPECT_EQ(RenderPanel(state, {}, 80).find("stalled"), std::string::npos);
  EXPECT_EQ(RenderLine(state.job()).find("stalled"), std::string::npos);
  state.mutable_job()->set_stalled("step 6 on learner-0 since 2026-01-02T03:04:05Z");
  const std::string line = "stalled: waits for step 6 on learner-0 since 2026-01-02T03:04:05Z";
  EXPECT_NE(RenderPanel(state, {}, 80).find(line), std::string::npos);
  EXPECT_NE(RenderLine(state.job()).find(line), std::string::npos);
}

TEST(PanelTest, SaysWhichWorkersWorkForAnotherJob) {
  v1::WatchJobResponse state = Running();
  state.mutable_workers(0)->set_job("j1");
  EXPECT_EQ(RenderPanel(state, {}, 80).find("for j"), std::string::npos);
  state.mutable_workers(0)->set_job("j2");
  EXPECT_NE(RenderPanel(state, {}, 80).find("999  for j2\n"), std::string::npos);
}

TEST(PanelTest, SaysWhoTrainsTheJobAndWhatItGets) {
  v1::WatchJobResponse state = Running();
  state.mutable_job()->set_learner("learner-g1-0");
  state.mutable_job()->set_rollout_workers(3);
  state.mutable_job()->mutable_spec()->mutable_share()->set_priority(-2);
  EXPECT_NE(RenderPanel(state, {}, 80).find("  learner learner-g1-0, 3 rollout workers, priority -2\n"),
            std::string::npos);
}

TEST(SparklineTest, ScalesBetweenLeastAndGreatest) {
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Sparkline({5, 5, 5}, 8), "▁▁▁");
  EXPECT_EQ(Sparkline({}, 8), "");
  EXPECT_EQ(Sparkline({100, 0, 1}, 2), "▁█");  // only the newest
  EXPECT_EQ(Sparkline({1, 2}, 0), "");
}

TEST(StepHistoryTest, KeepsStepsInOrderAndOnce) {
  StepHistory history;
  for (const int64_t step : {2, 1, 2, 0}) history.Add(Record(step, static_cast<double>(step)));
  EXPECT_THAT(history.Series("reward"), ElementsAre(1, 2));
  EXPECT_TRUE(history.Series("absent").empty());
}

TEST(StepHistoryTest, StaysBounded) {
  StepHistory history;
  for (int64_t step = 1; step <= 5000; ++step) history.Add(Record(step, 0));
  EXPECT_EQ(history.steps(), 4096);
}

TEST(PanelTest, ShowsARunningJob) {
  StepHistory history;
  for (int64_t step = 1; step <= 5; ++step) history.Add(Record(step, 0.1 * static_cast<double>(step)));
  const std::string expected = R"(j1  "demo"  RUNNING
  step 5 / 10  ████████████████████░░░░░░░░░░░░░░░░░░░░  
  waiting for groups of step 6

  reward                 0.5  ▁▃▅▇█
  kl                   0.001  ▁▁▁▁▁
  entropy                  -  
  tokens                 5.5  ▁▁▁▁▁
  tokens p50               -  
  tokens p95               -  
  cut off                  -  
  clipped                  -  
  gradient norm            -  
  tied groups              -  
  tokens/s                 -  
  step seconds             -  
  waited                   -  
  staleness                -  

  max staleness 2; 1234 tokens compared with the engine, largest difference 0
  issued 100 = in_flight 20 + trained 80

  worker        role       version  requests      tokens  
  rollout-0     rollout          4         3         999  
  reward-0      reward                     0              LOST

  held out
      step    reward   correct     two numbers
         0     0.250     0.250           0.400

  rollout-1 joined
)";
  EXPECT_EQ(RenderPanel(Running(), history, 80), expected);
}

TEST(PanelTest, ShowsWhatIsOnTrialAndTheLastVerdict) {
  v1::WatchJobResponse state = Running();
  EXPECT_THAT(RenderPanel(state, {}, 80), Not(HasSubstr("canary")));
  v1::Job& job = *state.mutable_job();
  job.mutable_spec()->mutable_evaluation()->mutable_canary()->set_prompts(3);
  job.mutable_trial()->set_policy_version(4);
  EXPECT_THAT(RenderPanel(state, {}, 80),
              HasSubstr("  on trial: version 4 on no worker yet, 0 of 3 prompts done\n"));
  job.mutable_trial()->set_worker("rollout-1");
  job.mutable_trial()->set_prompts_done(2);
  job.mutable_canary()->set_policy_version(3);
  job.mutable_canary()->set_decision(v1::CanaryVerdict::PASSED);
  job.mutable_canary()->set_score(0.5);
  EXPECT_THAT(RenderPanel(state, {}, 80),
              HasSubstr("  on trial: version 4 on rollout-1, 2 of 3 prompts done\n"
                        "  canary: version 3 passed, score 0.5\n"));
  job.clear_trial();
  job.mutable_canary()->set_decision(v1::CanaryVerdict::REFUSED);
  job.mutable_canary()->clear_score();
  job.mutable_canary()->set_reason("no sample has a reward");
  EXPECT_THAT(RenderPanel(state, {}, 80), HasSubstr("  canary: version 3 refused; no sample has a reward\n"));
}

TEST(PanelTest, ShowsWhatIsPromotedAndWhatWasRolledBack) {
  v1::WatchJobResponse state = Running();
  EXPECT_THAT(RenderPanel(state, {}, 80), Not(HasSubstr("promoted")));
  state.mutable_job()->mutable_spec()->mutable_evaluation()->mutable_gate();
  state.mutable_job()->set_promoted_version(-1);
  EXPECT_THAT(RenderPanel(state, {}, 80), HasSubstr("  promoted: none\n"));
  state.mutable_job()->set_promoted_version(4);
  v1::Rollback& rollback = *state.mutable_job()->add_rollbacks();
  rollback.set_policy_version(6);
  rollback.set_parent(4);
  rollback.set_reason("step 5: kl is 9, above guard.max_kl 1");
  EXPECT_THAT(
      RenderPanel(state, {}, 80),
      HasSubstr("  promoted: version 4\n"
                "  rolled back: version 6 is version 4 again; step 5: kl is 9, above guard.max_kl 1\n"));
}

TEST(PanelTest, ShowsTheWarmStart) {
  v1::WatchJobResponse state = Running();
  state.mutable_job()->set_state(v1::WARMING_UP);
  state.mutable_job()->set_warm_start_step(3);
  state.mutable_job()->mutable_spec()->mutable_warm_start()->set_steps(120);
  EXPECT_THAT(RenderPanel(state, {}, 80), HasSubstr("warm start 3 / 120"));
  EXPECT_EQ(RenderLine(state.job()), "j1 WARMING_UP warm_start 3/120");
}

TEST(PanelTest, ShowsAnEmptyJobWithoutNumbers) {
  v1::WatchJobResponse state;
  const std::string panel = RenderPanel(state, {}, 0);
  EXPECT_THAT(panel, HasSubstr("step 0 / 0"));
  EXPECT_THAT(panel, Not(HasSubstr("nan")));
}

TEST(PanelTest, SaysEverythingInOneLine) {
  EXPECT_EQ(
      RenderLine(Running().job()),
      "j1 RUNNING step 5/10 reward 0.5 kl 0.001 tokens 5.5 held_out 0.250@0 waiting for groups of step 6");
}

TEST(PanelTest, LongTextsAreBelowTheLine) {
  v1::Job job = Running().job();
  job.set_waiting_for(std::string(90, 'w'));
  job.set_error(std::string(90, 'e'));
  EXPECT_EQ(RenderLine(job),
            absl::StrCat("j1 RUNNING step 5/10 reward 0.5 kl 0.001 tokens 5.5 held_out 0.250@0\n",
                         "  waiting for ", std::string(90, 'w'), "\n  error: ", std::string(90, 'e')));
}

TEST(PanelTest, WarnsOfASmallComponentThatLeavesNoSampleCorrect) {
  v1::JobSpec spec;
  v1::RewardComponent* answer = spec.mutable_reward()->add_component();
  answer->set_name("answer");
  answer->mutable_math();
  v1::RewardComponent* brief = spec.mutable_reward()->add_component();
  brief->set_name("short");
  brief->set_weight(0.1);
  brief->mutable_length();
  EXPECT_EQ(WarnOfShaping(spec), "") << "nothing is evaluated";
  spec.mutable_evaluation()->set_file("held_out.jsonl");
  EXPECT_THAT(WarnOfShaping(spec), HasSubstr("\"short\" (weight 0.1) may leave none"));
  v1::JobSpec told = spec;
  told.mutable_evaluation()->set_correct_by("answer");
  EXPECT_EQ(WarnOfShaping(told), "");
  told.add_more_evaluations()->set_file("more.jsonl");
  EXPECT_THAT(WarnOfShaping(told), HasSubstr("correct_by"));
  brief->set_weight(0);
  EXPECT_EQ(WarnOfShaping(spec), "");
}

TEST(PanelTest, ShowsALedgerThatDoesNotSum) {
  v1::Ledger ledger;
  EXPECT_EQ(LedgerLine(ledger), "issued 0 = 0");
  ledger.set_issued(3);
  ledger.set_trained(2);
  EXPECT_EQ(LedgerLine(ledger), "issued 3 != trained 2");
}

TEST(PanelTest, ShowsTheFirstAndTheNewestEvaluations) {
  v1::Job job;
  for (int i = 0; i < 10; ++i) job.add_evaluations()->set_step(i * 10);
  const std::string table = RenderEvaluations(job, 3);
  for (const char* step : {"       0  ", "      80  ", "      90  "}) EXPECT_THAT(table, HasSubstr(step));
  EXPECT_THAT(table, Not(HasSubstr("      40  ")));
}

TEST(PanelTest, ShowsEachEvaluationByItsName) {
  v1::Job job;
  job.mutable_spec()->add_more_evaluations()->set_name("hard");
  v1::Evaluation& first = *job.add_evaluations();
  first.set_accuracy(0.25);
  EXPECT_THAT(RenderEvaluations(job, 3), Not(HasSubstr("hard")));
  v1::Evaluation& other = *first.add_others();
  other.set_name("hard");
  other.set_accuracy(0.125);
  (*other.mutable_pass_at())[8] = 0.625;
  EXPECT_EQ(RenderEvaluations(job, 3),
            "      step    reward   correct\n"
            "         0     0.000     0.250\n"
            "  hard\n"
            "      step    reward   correct    pass@8\n"
            "         0     0.000     0.125     0.625\n");
  EXPECT_THAT(RenderLine(job), HasSubstr("held_out 0.250@0 hard 0.125"));
}

TEST(RenderPanelTest, ShowsTheComponentsOfARewardApart) {
  v1::WatchJobResponse state = Running();
  v1::RewardSpec& reward = *state.mutable_job()->mutable_spec()->mutable_reward();
  reward.add_component()->set_name("answer");
  auto& metrics = *state.mutable_job()->mutable_last_step()->mutable_metrics();
  metrics["reward_answer"] = 0.375;
  EXPECT_THAT(RenderPanel(state, {}, 100), Not(HasSubstr("0.375")));  // one component is the reward
  reward.add_component()->set_name("form");
  metrics["reward_form"] = 0.125;
  EXPECT_THAT(RenderPanel(state, {}, 100), HasSubstr("    answer             0.375"));
  EXPECT_THAT(RenderPanel(state, {}, 100), HasSubstr("    form               0.125"));
}

TEST(RenderEvents, ListsTheLastWithTheirTimes) {
  v1::Job job;
  EXPECT_EQ(RenderEvents(job), "");
  for (int i = 0; i < 3; ++i) {
    v1::JobEvent& event = *job.add_events();
    event.mutable_time()->set_seconds(86400 + i);
    event.set_text(absl::StrCat("event ", i));
  }
  EXPECT_EQ(RenderEvents(job),
            "events:\n  1970-01-02T00:00:00Z  event 0\n  1970-01-02T00:00:01Z  event 1\n"
            "  1970-01-02T00:00:02Z  event 2\n");
  for (int i = 3; i < 30; ++i) job.add_events()->set_text(absl::StrCat("event ", i));
  EXPECT_THAT(RenderEvents(job), AllOf(HasSubstr("events (the last 20; --json has 30):\n"),
                                       HasSubstr("event 10\n"), Not(HasSubstr("event 9\n"))));
}

}  // namespace
}  // namespace sluice::cli
