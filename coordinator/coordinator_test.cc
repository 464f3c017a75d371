// Whole jobs in one process, with fake workers.
#include "coordinator/coordinator.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <thread>

#include "absl/synchronization/notification.h"
#include "coordinator/store/database.h"
#include "coordinator/store/store.h"
#include "coordinator/testing_coordinator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

TEST_F(CoordinatorTest, RunsAWholeJob) {
  spec_.warm_start.file = files_.Write("warm.jsonl", "{\"prompt\": \"a\", \"completion\": \"b\"}\n");
  spec_.warm_start.steps = 3;
  spec_.warm_start.batch_size = 2;
  spec_.evaluation.file = spec_.prompts.file;
  spec_.evaluation.every_steps = 2;
  spec_.evaluation.max_prompts = 6;
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(end.step, 5);
  EXPECT_EQ(end.version, 5);
  EXPECT_EQ(end.warm_start_step, 3);
  ASSERT_EQ(end.evaluations.size(), 4u);  // 0, 2, 4, 5
  EXPECT_EQ(end.evaluations[3].step, 5);
  EXPECT_EQ(end.evaluations[0].samples, 6);
  EXPECT_EQ(end.evaluations[0].accuracy_by_kind.count("odd"), 1u);
  EXPECT_EQ(end.evaluations[0].accuracy, end.evaluations[1].accuracy) << "the fake's policy does not change";
  EXPECT_EQ(end.ledger[LedgerColumn::kTrained], 5 * 4 * 4);
  EXPECT_EQ(end.exact_compared, 5 * 4 * 4 * 6);
  EXPECT_LE(end.max_staleness, 2);
  for (const char* name : {"reward", "reward_fake", "reward_std", "completion_tokens", "group_ties",
                           "staleness_max", "tokens_per_second", "wait_seconds", "loss", "kl"}) {
    EXPECT_EQ(end.last_step.metrics.count(name), 1u) << name;
  }
  int listed = 0;
  ASSERT_TRUE(coordinator_
                  ->ListSamples(job, 1000, 3, false,
                                [&](const SampleView& sample) {
                                  ++listed;
                                  EXPECT_EQ(sample.ledger_column, "trained");
                                  EXPECT_EQ(sample.step, 3);
                                  EXPECT_THAT(sample.prompt, HasSubstr("what is"));
                                  return true;
                                })
                  .ok());
  EXPECT_EQ(listed, 16);
  listed = 0;
  ASSERT_TRUE(
      coordinator_
          ->ListSamples(job, 0, 0, true,
                        [&](const SampleView& sample) { return ++listed, sample.ledger_column.empty(); })
          .ok());
  EXPECT_EQ(listed, 20);
  EXPECT_EQ(coordinator_->ListCheckpoints(job)->at(0).version, 5);
  EXPECT_EQ(*coordinator_->Export(job, kNoPolicyVersion, "/out"), 5);
  EXPECT_EQ(coordinator_->Export(job, 6, "/out").status().code(), absl::StatusCode::kNotFound);
  const std::string text = prometheus::TextSerializer().Serialize(registry_.Collect());
  EXPECT_THAT(text, HasSubstr("sluice_job_steps_total 5"));
  EXPECT_THAT(text, HasSubstr("sluice_group_staleness_versions_count 20\n"));
  EXPECT_THAT(text, HasSubstr("sluice_ledger_samples{column=\"trained\",training_job=\"" + job + "\"} 80"));
  std::ifstream log(state_->path() + "/jobs/" + job + "/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(log, line);)
    lines += line.find("\"kind\":\"train\"") != std::string::npos;
  EXPECT_EQ(lines, 5);
  ExpectSound(end);
}

TEST_F(CoordinatorTest, MeasuresSeveralEvaluationsEachInItsWay) {
  spec_.reward.components = {{"fake", 1, MathScorerSpec{}}, {"short", 0.5, GroupLengthScorerSpec{"fake"}}};
  spec_.evaluation.file = spec_.prompts.file;
  spec_.evaluation.every_steps = 2;
  spec_.evaluation.max_prompts = 6;
  EvaluationSpec greedy = spec_.evaluation;
  greedy.name = "greedy";
  greedy.correct_by = "fake";
  greedy.sampling.temperature = 0;
  greedy.sampling.max_new_tokens = 3;
  EvaluationSpec many = spec_.evaluation;
  many.name = "many";
  many.every_steps = 4;
  many.max_prompts = 5;
  many.samples_per_prompt = 4;
  many.correct_by = "fake";
  many.pass_at = {1, 4};
  spec_.more_evaluations = {greedy, many};
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ASSERT_EQ(end.evaluations.size(), 4u);  // 0, 2, 4, 5
  const std::vector<size_t> others = {2, 1, 2, 2};
  for (size_t i = 0; i < others.size(); ++i) ASSERT_EQ(end.evaluations[i].others.size(), others[i]) << i;
  const EvaluationView& last = end.evaluations[3];
  EXPECT_EQ(last.samples, 6);
  EXPECT_EQ(last.others[0].name, "greedy");
  EXPECT_EQ(last.others[0].samples, 6);
  EXPECT_EQ(last.others[0].mean_tokens, 3);
  EXPECT_EQ(last.mean_tokens, 6);
  EXPECT_EQ(last.others[1].name, "many");
  EXPECT_EQ(last.others[1].samples, 20);
  EXPECT_NEAR(last.others[1].pass_at.at(1), last.others[1].accuracy, 1e-12);
  EXPECT_GT(last.others[1].accuracy, 0);
  EXPECT_GE(last.others[1].pass_at.at(4), last.others[1].pass_at.at(1));
  std::ifstream log(state_->path() + "/jobs/" + job + "/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(log, line);)
    lines += line.find("\"kind\":\"evaluation_many\"") != std::string::npos;
  EXPECT_EQ(lines, 3);
  EXPECT_THAT(prometheus::TextSerializer().Serialize(registry_.Collect()),
              HasSubstr("sluice_evaluation{evaluation=\"many\",figure=\"pass_at_4\",training_job=\"" + job));
  ExpectSound(end);
}

TEST_F(CoordinatorTest, AJobGoesOnFromAnother) {
  Start();
  RegisterAll();
  const JobId first = Submit();
  EXPECT_EQ(AwaitEnd(first).state, JobState::kSucceeded);
  const auto rows_of = [&](const JobId& job) {
    std::set<std::string> rows;
    EXPECT_TRUE(
        coordinator_
            ->ListSamples(job, 1000, 1, false,
                          [&](const SampleView& sample) { return rows.insert(sample.prompt_uid), true; })
            .ok());
    return rows;
  };
  spec_.from = {.job = first, .continue_training = true, .reference = first};
  spec_.optimizer.learning_rate = 1e-5;
  const JobId second = Submit();
  const JobView end = AwaitEnd(second);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(end.version, 5) << "its own steps";
  EXPECT_EQ(end.spec.from.version, 5) << "the last";
  EXPECT_EQ(end.spec.from.first_step, 5);
  EXPECT_GE(end.spec.from.first_prompt, 20u);
  EXPECT_LT(end.spec.from.first_prompt, 40u);
  EXPECT_NE(rows_of(second), rows_of(first)) << "it goes on in the prompts";
  // Again from that one: what is behind both adds up, and the reference is the first's still.
  spec_.from = {.job = second, .continue_training = true, .reference = second};
  const auto again = coordinator_->Check(spec_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->spec.from.version, 5);
  EXPECT_EQ(again->spec.from.first_step, 10);
  EXPECT_EQ(again->spec.from.reference, first);
  EXPECT_THAT(again->plan, testing::Contains(HasSubstr("begins with version 5 of " + second)));
  spec_.from.version = 3;
  EXPECT_THAT(std::string(coordinator_->Submit(spec_, "").status().message()),
              HasSubstr("no full checkpoint of version 3"));
  spec_.from.version = 6;
  EXPECT_THAT(std::string(coordinator_->Submit(spec_, "").status().message()),
              HasSubstr("last version is 5"));
  spec_.from = {.job = "absent"};
  EXPECT_EQ(coordinator_->Submit(spec_, "").status().code(), absl::StatusCode::kNotFound);
  ExpectSound(end);
}

TEST_F(CoordinatorTest, AJobFromAnotherIsTrainedWhereThatWas) {
  Start();
  RegisterAll();
  const JobId first = Submit();
  EXPECT_EQ(AwaitEnd(first).learner, "learner-0");
  RegisterOtherLearner();
  spec_.from = {.job = first};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(AwaitEnd(Submit()).learner, "learner-0") << i;
}

TEST_F(CoordinatorTest, MakesNoJobForAClientThatWentAway) {
  Start();
  CancelToken gone;
  gone.Cancel();
  EXPECT_EQ(coordinator_->Submit(spec_, "once", gone).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(coordinator_->Check(spec_, gone).status().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(coordinator_->Submit(spec_, "once").ok()) << "the request may be sent again";
}

TEST_F(CoordinatorTest, JobsOfOneStemCanBeToldApart) {
  Start();
  spec_.name = "qwen3-0.6b on gsm8k with the long system prompt, learning rate 1e-6";
  const JobId first = Submit();
  EXPECT_THAT(first,
              testing::StartsWith("qwen3-0-6b-on-gsm8k-with-the-long-system-prompt--learning-rate-1e-6-"));
  spec_.name = std::string(100, 'a') + std::string(28, 'b');
  const JobId longest = Submit();
  EXPECT_LE(longest.size(), 128u) << "the learner names its folder by it";
  EXPECT_THAT(longest, HasSubstr("a" + std::string(28, 'b') + "-"))
      << "names of one stem differ at their ends";
}

TEST_F(CoordinatorTest, RefusesARemoteRewardThatNobodyOffers) {
  RemoteScorerSpec remote;
  remote.service = "judge";
  spec_.reward.components.push_back({"taste", 0.5, remote});
  Start();
  const auto alone = coordinator_->Check(spec_);
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_THAT(alone->warnings, testing::ElementsAre(HasSubstr("no reward worker is registered yet")));
  RegisterAll();
  scorer_->FailScore(absl::InvalidArgumentError("this service knows no \"judge\""), 1000);
  const std::string refused(coordinator_->Check(spec_).status().message());
  EXPECT_THAT(refused,
              HasSubstr("reward.component[1].remote.service: no reward worker that is registered offers"));
  EXPECT_EQ(coordinator_->Submit(spec_, "").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(CoordinatorTest, TrainsOnTheSameDrawsWhateverTheWorkersDoWhenSynchronous) {
  spec_.staleness.max_versions = 0;
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(end.max_staleness, 0);
  ASSERT_EQ(trainer_->steps().size(), 5u);
  Draw next = 0;
  for (const auto& step : trainer_->steps()) {
    for (const auto& group : step.groups) EXPECT_EQ(group.draw, next++);
  }
  EXPECT_EQ(end.ledger.issued, end.ledger[LedgerColumn::kTrained]);
  ExpectSound(end);
}

TEST_F(CoordinatorTest, ComparesTheLengthsOfAGroupBeforeItsAdvantages) {
  spec_.reward.components = {{"fake", 1, MathScorerSpec{}}, {"short", 0.5, GroupLengthScorerSpec{"fake"}}};
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(end.last_step.metrics.count("reward_short"), 1u);
  int samples = 0;
  ASSERT_TRUE(coordinator_
                  ->ListSamples(job, 1000, 3, false,
                                [&](const SampleView& sample) {
                                  const Verdict& verdict = sample.sample.verdict;
                                  EXPECT_EQ(verdict.components.size(), 2u);
                                  const VerdictComponent& term = verdict.components.back();
                                  EXPECT_EQ(term.name, "short");
                                  EXPECT_LE(std::abs(term.value), 0.5);
                                  EXPECT_DOUBLE_EQ(verdict.value,
                                                   verdict.components[0].value + 0.5 * term.value);
                                  return ++samples, true;
                                })
                  .ok());
  EXPECT_GT(samples, 0);
  ExpectSound(end);
}

TEST_F(CoordinatorTest, GoesOnWhenARolloutWorkerDies) {
  for (auto& rollout : rollouts_) rollout = std::make_shared<RolloutProcess>(&clock_);
  rollouts_[1]->worker.Block();
  Start(clock_, absl::Seconds(10));
  RegisterLearner();
  ASSERT_TRUE(coordinator_->RegisterWorker("reward-0", WorkerRole::kReward, "host:8", "incarnation").ok());
  RegisterRollout(1);
  const JobId job = Submit();
  // It holds all groups that the bound allows; nothing can be trained on without them.
  Await(job, [](const JobView& view) { return view.ledger[LedgerColumn::kInFlight] == 3 * 4 * 4; });
  rollouts_[1]->dead = true;
  auto lease = coordinator_->RegisterWorker("rollout-0", WorkerRole::kRollout, "host:0", "incarnation");
  clock_.Advance(absl::Seconds(6));
  ASSERT_TRUE(coordinator_->RenewLease("rollout-0", lease->epoch).ok());
  RegisterLearner();
  ASSERT_TRUE(coordinator_->RegisterWorker("reward-0", WorkerRole::kReward, "host:8", "incarnation").ok());
  clock_.Advance(absl::Seconds(6));  // rollout-1 did not renew
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  bool told = false;
  for (const JobEventView& event : end.events)
    told |= event.text.find("rollout-1 is lost") != std::string::npos;
  EXPECT_TRUE(told);
  EXPECT_EQ(coordinator_->Workers()[2].name, "rollout-0");
  EXPECT_EQ(coordinator_->Workers()[3].name, "rollout-1");
  EXPECT_FALSE(coordinator_->Workers()[3].alive);
  EXPECT_EQ(coordinator_->RenewLease("rollout-1", 1).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(coordinator_->RenewLease("nobody", 1).status().code(), absl::StatusCode::kNotFound);
  rollouts_[1]->worker.Unblock();
  ExpectSound(end);
}

TEST_F(CoordinatorTest, HasAHigherEpochForItsLearnerWithEachStart) {
  Start();
  RegisterLearner();
  RegisterLearner();  // the learner's restart is not the coordinator's
  RestartCoordinator();
  ASSERT_EQ(coordinator_epochs_.size(), 3u);
  EXPECT_GT(coordinator_epochs_[0], 0u);
  EXPECT_EQ(coordinator_epochs_[1], coordinator_epochs_[0]);
  EXPECT_GT(coordinator_epochs_[2], coordinator_epochs_[1]);
}

TEST_F(CoordinatorTest, RedoesStepsAfterTheLearnersRestart) {
  spec_.checkpoint.every_steps = 100;
  spec_.stop_steps = 40;  // far from over when the learner restarts
  Start();
  RegisterAll();
  const JobId job = Submit();
  AwaitStep(job, 2);
  trainer_->BlockStep();
  trainer_->Restart();  // to version 0
  trainer_->UnblockStep();
  RegisterLearner();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  std::map<PolicyVersion, int> computed;
  for (const auto& step : trainer_->steps()) ++computed[step.version];
  EXPECT_EQ(computed[1], 2);
  EXPECT_EQ(computed[2], 2);
  ExpectSound(end);
}

TEST_F(CoordinatorTest, TakesUpAStepWhoseAnswerWasLost) {
  trainer_->FailStep(absl::UnavailableError("connection reset"), /*after=*/true);
  trainer_->FailStep(absl::InternalError("out of luck"));
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(trainer_->steps().size(), 5u) << "no step was computed twice";
  ExpectSound(end);
}

TEST_F(CoordinatorTest, GoesOnAfterBeingReopenedInTheMiddle) {
  spec_.stop_steps = 6;
  spec_.evaluation.file = spec_.prompts.file;
  spec_.evaluation.every_steps = 3;
  Start();
  RegisterAll();
  const JobId job = Submit();
  JobView view;
  for (int64_t step : {1, 2, 4}) {
    view = AwaitStep(job, step);
    coordinator_.reset();
    Start();
    EXPECT_GE(coordinator_->Get(job)->step, step);
    EXPECT_TRUE(coordinator_->Get(job)->ledger.Balances());
    RegisterAll();
  }
  view = AwaitEnd(job);
  EXPECT_EQ(view.state, JobState::kSucceeded) << view.error;
  EXPECT_EQ(view.step, 6);
  EXPECT_EQ(view.ledger[LedgerColumn::kTrained], 6 * 4 * 4);
  EXPECT_EQ(view.evaluations.size(), 3u);
  ExpectSound(view);
}

TEST_F(CoordinatorTest, QuarantinesWhatTheCheckerCannotJudge) {
  spec_.timeout.max_attempts = 2;
  scorer_ = std::make_shared<FakeScorer>([](const ScoreItem& item) {
    return item.fields.at("answer") == "3" ? FakeScorer::Infrastructure() : FakeScorer::JudgeByHash(item);
  });
  scorer_->FailItems(5);
  scorer_->FailScore(absl::UnavailableError("restarting"));
  spec_.stop_steps = 10;
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(end.ledger[LedgerColumn::kTrained], 10 * 4 * 4);
  EXPECT_GE(end.ledger[LedgerColumn::kQuarantined], 4);
  ExpectSound(end);
}

TEST_F(CoordinatorTest, PausesAndSaysWhyWhenNothingCanBeJudged) {
  scorer_ = std::make_shared<FakeScorer>([](const ScoreItem&) {
    Verdict verdict;
    verdict.kind = VerdictKind::kUndecided;
    verdict.components = {{"answer", verdict.kind, 0, 1, "the prompt's answer\nis not a number"}};
    return verdict;
  });
  Start();
  RegisterAll();
  const JobId job = Submit();
  const JobView paused = Await(job, [](const JobView& view) { return view.state == JobState::kPaused; });
  EXPECT_THAT(paused.error, HasSubstr("the last 80 groups had no reward to learn from"));
  EXPECT_THAT(paused.error, HasSubstr("the prompt's answer is not a number"));
  EXPECT_THAT(paused.waiting_for, HasSubstr("sluice resume"));
  EXPECT_EQ(paused.events.back().text, paused.error);
  ASSERT_TRUE(coordinator_->Cancel(job).ok());
  ExpectSound(*coordinator_->Get(job));
}

TEST_F(CoordinatorTest, CountsFilteredGroupsAmongTheTied) {
  spec_.grpo.filter_ties = true;
  spec_.stop_steps = 1;
  spec_.staleness.max_versions = 0;
  // Half of the prompts have the same reward for whatever is answered.
  scorer_ = std::make_shared<FakeScorer>([](const ScoreItem& item) {
    Verdict verdict = FakeScorer::JudgeByHash(item);
    if (item.fields.at("kind") == "even") verdict.value = 1;
    return verdict;
  });
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  const double filtered = static_cast<double>(end.ledger[LedgerColumn::kDroppedFiltered]) / 4;
  EXPECT_GT(filtered, 0);
  EXPECT_DOUBLE_EQ(end.last_step.metrics.at("group_ties"), filtered / (filtered + 4));
  ExpectSound(end);
}

TEST_F(CoordinatorTest, SaysWhichJobAnotherIsBehind) {
  Start();
  const JobId first = Submit();
  Await(first, [](const JobView& view) { return view.waiting_for == "a learner to register"; });
  const JobId second = Submit();
  EXPECT_EQ(coordinator_->Get(second)->waiting_for, "its turn, behind " + first);
  ASSERT_TRUE(coordinator_->Pause(first).ok());
  EXPECT_EQ(coordinator_->Get(second)->waiting_for, "its turn, behind " + first + " (paused)");
  ASSERT_TRUE(coordinator_->Pause(second).ok());
  EXPECT_EQ(coordinator_->Get(second)->waiting_for, "`sluice resume` (paused)");
  ASSERT_TRUE(coordinator_->Resume(second).ok());
  ASSERT_TRUE(coordinator_->Cancel(first).ok());
  Await(second, [](const JobView& view) { return view.waiting_for == "a learner to register"; });
}

TEST_F(CoordinatorTest, PausesResumesAndCancels) {
  spec_.stop_steps = 100000;
  Start();
  RegisterAll();
  const JobId job = Submit();
  AwaitStep(job, 2);
  auto paused = coordinator_->Pause(job);
  ASSERT_TRUE(paused.ok()) << paused.status();
  EXPECT_EQ(paused->state, JobState::kPaused);
  EXPECT_TRUE(coordinator_->Pause(job).ok());
  coordinator_.reset();
  Start();
  EXPECT_EQ(coordinator_->Get(job)->state, JobState::kPaused);
  RegisterAll();
  auto resumed = coordinator_->Resume(job);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  AwaitStep(job, resumed->step + 2);
  auto cancelled = coordinator_->Cancel(job);
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ(cancelled->state, JobState::kCancelled);
  EXPECT_TRUE(coordinator_->Cancel(job).ok());
  EXPECT_EQ(coordinator_->Resume(job).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(coordinator_->Pause("nobody").status().code(), absl::StatusCode::kNotFound);
  EXPECT_GT(cancelled->ledger[LedgerColumn::kCancelled], 0);
  ExpectSound(*coordinator_->Get(job));
}

TEST_F(CoordinatorTest, RunsJobsOneAfterTheOther) {
  Start();
  const JobId first = Submit(), second = Submit(), third = Submit();
  ASSERT_TRUE(coordinator_->Cancel(second).ok());
  RegisterAll();
  const JobView end = AwaitEnd(third);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  EXPECT_EQ(coordinator_->Get(first)->state, JobState::kSucceeded);
  EXPECT_EQ(coordinator_->Get(second)->state, JobState::kCancelled);
  EXPECT_EQ(coordinator_->List()->size(), 3u);
  EXPECT_EQ(coordinator_->List()->at(0).job, third);
  const JobView newest = coordinator_->List(1)->at(0);
  const std::vector<JobView> others = *coordinator_->List(5, {newest.create_time, newest.job});
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[1].job, first);
  EXPECT_TRUE(coordinator_->List(5, {others[1].create_time, first})->empty());
}

TEST_F(CoordinatorTest, ForgetsAJobThatEnded) {
  Start();
  spec_.stop_steps = 2;
  const auto submitted = coordinator_->Submit(spec_, "request");
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  const JobId& job = *submitted;
  EXPECT_EQ(coordinator_->Delete(job).code(), absl::StatusCode::kFailedPrecondition) << "it waits";
  EXPECT_EQ(coordinator_->Delete("nobody").code(), absl::StatusCode::kNotFound);
  RegisterAll();
  EXPECT_EQ(AwaitEnd(job).state, JobState::kSucceeded);
  const std::string folder = absl::StrCat(state_->path(), "/jobs/", job);
  EXPECT_TRUE(std::filesystem::exists(folder));
  spec_.replay = {.job = job, .steps = 1};
  const JobId replay = Submit();
  if (!IsTerminal(coordinator_->Get(replay)->state)) {
    const absl::Status read = coordinator_->Delete(job);
    EXPECT_THAT(std::string(read.message()), HasSubstr(replay));
  }
  (void)coordinator_->Cancel(replay);  // it may have ended
  AwaitEnd(replay);
  std::thread waiter([&] {
    EXPECT_EQ(coordinator_->WaitForChange(job, std::numeric_limits<uint64_t>::max(), absl::Minutes(1))
                  .status()
                  .code(),
              absl::StatusCode::kNotFound);
  });
  EXPECT_TRUE(coordinator_->Delete(job).ok());
  waiter.join();
  EXPECT_TRUE(coordinator_->Delete(job).ok()) << "again";
  EXPECT_EQ(coordinator_->Get(job).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(coordinator_->ListAttempts(job, std::nullopt, 0).status().code(), absl::StatusCode::kNotFound);
  coordinator_.reset();
  absl::Notification gone;
  adjust_ = [&](CoordinatorOptions& options) {
    options.disk_space = [&](const std::string& path) {  // is asked after each piece of tidying
      if (!std::filesystem::exists(folder) && !gone.HasBeenNotified()) gone.Notify();
      return DiskSpaceOf(path);
    };
  };
  Start();
  EXPECT_EQ(coordinator_->List()->size(), 1u);
  EXPECT_TRUE(coordinator_->Delete(job).ok()) << "again, after a restart";
  EXPECT_TRUE(gone.WaitForNotificationWithTimeout(absl::Seconds(60)));
  spec_.replay = {};
  EXPECT_NE(*coordinator_->Submit(spec_, "request"), job) << "its request is forgotten too";
}

TEST_F(CoordinatorTest, TellsTheLearnerThatAJobWasDeletedUntilItIsDone) {
  adjust_ = [](CoordinatorOptions& options) { options.forget_retry = absl::Milliseconds(1); };
  Start();
  RegisterAll();
  const JobId first = Submit();
  AwaitEnd(first);
  const JobId second = Submit();
  AwaitEnd(second);
  trainer_->FailForget(absl::UnavailableError("its disk is busy"));
  ASSERT_TRUE(coordinator_->Delete(first).ok());
  EXPECT_TRUE(trainer_->AwaitForgotten(first, absl::Seconds(60))) << "it is told again";
  coordinator_.reset();
  Start();  // without its learner
  ASSERT_TRUE(coordinator_->Delete(second).ok());
  coordinator_.reset();
  Start();
  RegisterLearner();
  EXPECT_TRUE(trainer_->AwaitForgotten(second, absl::Seconds(60))) << "when it is there";
}

// Without a checker finished samples wait: what is held of them is bounded, whatever the job may have
// outstanding.
TEST_F(CoordinatorTest, BeginsNoNewGroupsWhileTooMuchIsHeldOfIncompleteOnes) {
  adjust_ = [](CoordinatorOptions& options) { options.hold_samples_bytes = 1; };
  spec_.batch.groups_per_step = 128;
  spec_.stop_steps = 3;
  Start();
  RegisterLearner();
  for (int i = 0; i < 2; ++i) RegisterRollout(i);
  const JobId job = Submit();
  const auto all_ended = [&] {
    const std::vector<AttemptView> attempts = *coordinator_->ListAttempts(job, std::nullopt, 0);
    return !attempts.empty() && std::all_of(attempts.begin(), attempts.end(), [](const AttemptView& attempt) {
      return attempt.ended != absl::InfiniteFuture();
    });
  };
  while (!all_ended())
    (void)coordinator_->WaitForChange(job, std::numeric_limits<uint64_t>::max(), absl::Milliseconds(5));
  EXPECT_LE(coordinator_->Get(job)->ledger.issued, 192 * spec_.sampling.group_size) << "of 384 groups";
  RegisterReward();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ExpectSound(end);
}

TEST_F(CoordinatorTest, ASecondLivingWorkerOfANameIsRefused) {
  Start();
  RegisterLearner();
  const absl::Status second =
      coordinator_->RegisterWorker("learner-0", WorkerRole::kLearner, "host:7", "another").status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.message()), HasSubstr("host:9"));
}

// Tells when it was looked at.
class WatchedClock final : public Clock {
 public:
  absl::Time Now() const override {
    absl::MutexLock lock(&mu_);
    ++looks_;
    return now_;
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mu_);
    now_ += by;
  }
  void AwaitLook() const {
    absl::MutexLock lock(&mu_);
    const int before = looks_;
    const auto looked = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return looks_ > before; };
    mu_.Await(absl::Condition(&looked));
  }

 private:
  mutable absl::Mutex mu_;
  mutable int looks_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time now_ ABSL_GUARDED_BY(mu_) = absl::UnixEpoch() + absl::Hours(1);
};

// The coordinator's thread stands still for longer than a lease, as in a process that is stopped.
TEST_F(CoordinatorTest, ItsOwnPauseIsNotChargedToTheWorkers) {
  std::atomic<bool> stand{false};
  WatchedClock clock;
  adjust_ = [&](CoordinatorOptions& options) {
    options.lease_clock = options.tick_clock = &clock;
    options.disk_fault = [&](absl::string_view operation) {
      if (operation == "database.commit" && stand.exchange(false)) clock.Advance(absl::Milliseconds(1500));
      return 0;
    };
  };
  Start(Clock::Real(), absl::Seconds(1));
  const auto lease = coordinator_->RegisterWorker("rollout-0", WorkerRole::kRollout, "host:0", "a");
  ASSERT_TRUE(lease.ok());
  const auto await_tick = [&] {  // it looks once in each turn, and twice more where it ticks
    for (int i = 0; i < 4; ++i) clock.AwaitLook();
  };
  await_tick();
  stand = true;
  EXPECT_TRUE(coordinator_->Submit(spec_, "").ok());  // its commit stands
  ASSERT_FALSE(stand);
  await_tick();
  EXPECT_TRUE(coordinator_->Workers()[0].alive);
  absl::Duration passed;
  for (; coordinator_->Workers()[0].alive && passed < absl::Seconds(60); passed += absl::Milliseconds(50)) {
    clock.Advance(absl::Milliseconds(50));
    await_tick();
  }
  EXPECT_GE(passed, absl::Milliseconds(900));
  EXPECT_LE(passed, absl::Seconds(3)) << "it does not renew";
  coordinator_.reset();  // before its clock
}

TEST_F(CoordinatorTest, MakesOneJobOfARequestSentTwice) {
  Start();
  auto first = coordinator_->Submit(spec_, "request-1");
  coordinator_.reset();
  Start();
  EXPECT_EQ(*coordinator_->Submit(spec_, "request-1"), *first);
  EXPECT_NE(*coordinator_->Submit(spec_, "request-2"), *first);
}

TEST_F(CoordinatorTest, RefusesBadJobsAndChangesNothing) {
  Start();
  spec_.sampling.group_size = 1;
  EXPECT_THAT(std::string(coordinator_->Submit(spec_, "r").status().message()),
              HasSubstr("sampling.group_size"));
  spec_.sampling.group_size = 4;
  spec_.prompts.file = files_.Write("bad.jsonl", "{\"prompt\": \"a\"}\n");
  const absl::Status status = coordinator_->Submit(spec_, "r").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bad.jsonl:1"));
  EXPECT_FALSE(coordinator_->Check(spec_).ok());
  EXPECT_TRUE(coordinator_->List()->empty());
  EXPECT_EQ(coordinator_->Get("j").status().code(), absl::StatusCode::kNotFound);
  auto checked = coordinator_->Check(SmallJob(files_));
  ASSERT_TRUE(checked.ok());
  EXPECT_FALSE(checked->plan.empty());
}

TEST_F(CoordinatorTest, SaysThatTheStateDirectoryIsInUse) {
  Start();
  CoordinatorOptions options;
  options.state_dir = state_->path();
  auto second = Coordinator::Open(std::move(options));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("state directory in use"));
}

TEST_F(CoordinatorTest, WaitsForPromptsThatChangedOrAreGone) {
  Start();
  const JobId job = Submit();
  Await(job, [](const JobView& view) { return view.waiting_for == "a learner to register"; });
  coordinator_.reset();
  const std::string kept = spec_.prompts.file + ".kept";
  std::filesystem::copy_file(spec_.prompts.file, kept);
  std::ofstream(spec_.prompts.file, std::ios::app) << "{\"prompt\": \"new\", \"answer\": \"1\"}\n";
  Start();
  RegisterAll();
  const auto waits_for = [](const char* what) {
    return [what](const JobView& v) {
      return v.waiting_for.find(what) != std::string::npos || IsTerminal(v.state);
    };
  };
  const JobView changed = Await(job, waits_for("changed since the job was submitted"));
  EXPECT_EQ(changed.state, JobState::kPending);
  EXPECT_TRUE(Says(changed, "changed since the job was submitted"));
  std::filesystem::remove(spec_.prompts.file);
  ASSERT_TRUE(coordinator_->Resume(job).ok()) << "tries it at once";
  Await(job, waits_for("small.jsonl"));
  std::filesystem::rename(kept, spec_.prompts.file);
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kSucceeded) << end.error;
  ExpectSound(end);
}

TEST_F(CoordinatorTest, AFailedJobIsTakenUpAgain) {
  trainer_->FailOpen(absl::InvalidArgumentError("model.path: not for this learner"));
  Start();
  RegisterAll();
  const JobId job = Submit();
  EXPECT_EQ(AwaitEnd(job).state, JobState::kFailed);
  RestartCoordinator();
  EXPECT_EQ(coordinator_->Get(job)->state, JobState::kFailed);
  ASSERT_TRUE(coordinator_->Resume(job).ok());
  const JobView end = Await(job, [](const JobView& v) { return v.state == JobState::kSucceeded; });
  EXPECT_TRUE(end.error.empty()) << end.error;
  EXPECT_TRUE(Says(end, "taken up again"));
  EXPECT_EQ(coordinator_->Resume(job).status().code(), absl::StatusCode::kFailedPrecondition);
  ExpectSound(end);
}

TEST_F(CoordinatorTest, RefusesTwoRolesUnderOneName) {
  Start();
  RegisterLearner();
  EXPECT_EQ(coordinator_->RegisterWorker("learner-0", WorkerRole::kReward, "host:1", "x").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(coordinator_->RegisterWorker("", WorkerRole::kReward, "host:1", "x").ok());
}

}  // namespace
}  // namespace sluice
