// Whole jobs in one process, with fake workers.
#include "coordinator/coordinator.h"

#include <fstream>
#include <set>

#include "coordinator/database.h"
#include "coordinator/store.h"
#include "coordinator/testing_job.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"
#include "tests/fakes/fake_rollout_worker.h"
#include "tests/fakes/fake_scorer.h"
#include "tests/fakes/fake_trainer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// A worker's process: what is behind an address, until it is killed.
struct RolloutProcess {
  explicit RolloutProcess(const Clock* clock) : worker({.name = "rollout", .clock = clock}) {}
  FakeRolloutWorker worker;
  std::atomic<bool> dead{false};
};

class RolloutPort final : public RolloutWorker {
 public:
  explicit RolloutPort(std::shared_ptr<RolloutProcess> process) : process_(std::move(process)) {}
  absl::Status LoadPolicy(const PolicyRef& policy, SwapMode mode, absl::Time deadline) override {
    if (process_->dead) return absl::UnavailableError("connection refused");
    return process_->worker.LoadPolicy(policy, mode, deadline);
  }
  absl::Status Generate(const RolloutRequest& request, const CancelToken& cancel,
                        const std::function<void(Trajectory)>& on_trajectory) override {
    if (process_->dead) return absl::UnavailableError("connection refused");
    return process_->worker.Generate(request, cancel, on_trajectory);
  }
  absl::Status Control(RolloutCommand command, absl::Time deadline) override {
    return process_->worker.Control(command, deadline);
  }
  absl::StatusOr<RolloutWorkerState> GetState() override { return process_->worker.GetState(); }

 private:
  const std::shared_ptr<RolloutProcess> process_;
};

class ScorerPort final : public Scorer {
 public:
  explicit ScorerPort(std::shared_ptr<FakeScorer> scorer) : scorer_(std::move(scorer)) {}
  absl::StatusOr<std::vector<Verdict>> Score(const RewardSpec& spec, absl::Span<const ScoreItem> items,
                                             absl::Time deadline, const CancelToken& cancel) override {
    return scorer_->Score(spec, items, deadline, cancel);
  }

 private:
  const std::shared_ptr<FakeScorer> scorer_;
};

class TrainerPort final : public Trainer {
 public:
  explicit TrainerPort(std::shared_ptr<FakeTrainer> trainer) : t_(std::move(trainer)) {}
  absl::StatusOr<TrainerState> Open(const JobId& job, const JobSpec& spec) override {
    return t_->Open(job, spec);
  }
  absl::StatusOr<StepMetrics> Supervise(const JobId& job, int64_t step,
                                        absl::Span<const SupervisedExample> batch) override {
    return t_->Supervise(job, step, batch);
  }
  absl::StatusOr<PolicyRef> PublishFirst(const JobId& job) override { return t_->PublishFirst(job); }
  absl::Status AddGroup(const JobId& job, PolicyVersion version, const Group& group) override {
    return t_->AddGroup(job, version, group);
  }
  absl::StatusOr<StepResult> Step(const JobId& job, PolicyVersion version,
                                  absl::Span<const Draw> draws) override {
    return t_->Step(job, version, draws);
  }
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId& job) override { return t_->Checkpoint(job); }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) override {
    return t_->ListCheckpoints(job);
  }
  absl::Status Export(const JobId& job, PolicyVersion version, const std::string& path) override {
    return t_->Export(job, version, path);
  }

 private:
  const std::shared_ptr<FakeTrainer> t_;
};

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest() : files_("files"), state_("state"), spec_(SmallJob(files_)) {
    for (int i = 0; i < 2; ++i) rollouts_.push_back(std::make_shared<RolloutProcess>(nullptr));
  }

  void Start(Clock& clock = Clock::Real(), absl::Duration lease = absl::Hours(1)) {
    CoordinatorOptions options;
    options.state_dir = state_.path();
    options.clock = &clock;
    options.lease = lease;
    options.registry = &registry_;
    options.encoder = MakeBytesEncoder;
    options.tick = absl::Milliseconds(5);
    options.ports.rollout = [this](const std::string& address) {
      return std::make_unique<RolloutPort>(rollouts_[static_cast<size_t>(address.back() - '0')]);
    };
    options.ports.reward = [this](const std::string&) { return std::make_unique<ScorerPort>(scorer_); };
    options.ports.learner = [this](const std::string&) { return std::make_unique<TrainerPort>(trainer_); };
    auto opened = Coordinator::Open(std::move(options));
    ASSERT_TRUE(opened.ok()) << opened.status();
    coordinator_ = *std::move(opened);
  }
  void RegisterRollout(int i) {
    ASSERT_TRUE(coordinator_
                    ->RegisterWorker(absl::StrCat("rollout-", i), WorkerRole::kRollout,
                                     absl::StrCat("host:", i), "incarnation")
                    .ok());
  }
  void RegisterLearner() {
    ASSERT_TRUE(
        coordinator_->RegisterWorker("learner-0", WorkerRole::kLearner, "host:9", "incarnation").ok());
  }
  void RegisterAll() {
    RegisterLearner();
    for (int i = 0; i < 2; ++i) RegisterRollout(i);
    ASSERT_TRUE(coordinator_->RegisterWorker("reward-0", WorkerRole::kReward, "host:8", "incarnation").ok());
  }
  JobId Submit() {
    auto job = coordinator_->Submit(spec_, "");
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : "";
  }
  // The first view for which `ready` holds; gives up where nothing at all changes for long.
  JobView Await(const JobId& job, const std::function<bool(const JobView&)>& ready) {
    JobView view = *coordinator_->Get(job);
    while (!ready(view)) {
      const uint64_t before = view.revision;
      view = *coordinator_->WaitForChange(job, before, absl::Seconds(30));
      if (view.revision == before) {
        ADD_FAILURE() << "nothing changed: step " << view.step << ", " << JobStateName(view.state)
                      << ", waits for " << view.waiting_for << ", " << view.error;
        return view;
      }
    }
    return view;
  }
  JobView AwaitEnd(const JobId& job) {
    return Await(job, [](const JobView& view) { return IsTerminal(view.state); });
  }
  JobView AwaitStep(const JobId& job, int64_t step) {
    return Await(job, [step](const JobView& view) { return view.step >= step || IsTerminal(view.state); });
  }
  void ExpectSound(const JobView& view) {
    EXPECT_TRUE(view.ledger.Balances());
    EXPECT_EQ(view.ledger[LedgerColumn::kInFlight], 0);
    std::set<Draw> trained;
    std::set<PolicyVersion> versions;
    for (const FakeTrainer::TrainedStep& step : trainer_->steps()) {
      if (!versions.insert(step.version).second) continue;  // redone
      for (const FakeTrainer::TrainedGroup& group : step.groups) {
        EXPECT_TRUE(trained.insert(group.draw).second) << "draw " << group.draw << " was trained on twice";
        EXPECT_LE(step.version - 1 - group.oldest, spec_.staleness.max_versions);
      }
    }
    coordinator_->Shutdown();
    coordinator_.reset();
    auto store = Store::Open(state_.path());
    ASSERT_TRUE(store.ok()) << store.status();
    const absl::Status ledger = (*store)->CheckLedger(view.job);
    EXPECT_TRUE(ledger.ok()) << ledger;
  }

  SimulatedClock clock_;
  TestFolder files_, state_;
  JobSpec spec_;
  prometheus::Registry registry_;
  std::vector<std::shared_ptr<RolloutProcess>> rollouts_;
  std::shared_ptr<FakeScorer> scorer_ = std::make_shared<FakeScorer>();
  std::shared_ptr<FakeTrainer> trainer_ = std::make_shared<FakeTrainer>();
  std::unique_ptr<Coordinator> coordinator_;
};

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
  EXPECT_THAT(text, HasSubstr("sluice_ledger_samples{column=\"trained\"} 80"));
  std::ifstream log(state_.path() + "/jobs/" + job + "/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(log, line);)
    lines += line.find("\"kind\":\"train\"") != std::string::npos;
  EXPECT_EQ(lines, 5);
  ExpectSound(end);
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

TEST_F(CoordinatorTest, FailsWhenTheRestartedLearnerComputesSomethingElse) {
  spec_.checkpoint.every_steps = 100;
  spec_.stop_steps = 200;
  Start();
  RegisterAll();
  const JobId job = Submit();
  AwaitStep(job, 2);
  trainer_->ChangeArithmetic();
  trainer_->Restart();
  RegisterLearner();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kFailed);
  EXPECT_THAT(end.error, HasSubstr("came out different"));
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

TEST_F(CoordinatorTest, FailsWhenTheRewardServiceRefusesTheSpec) {
  scorer_->FailScore(absl::InvalidArgumentError("reward.component: bad pattern"));
  Start();
  RegisterAll();
  const JobView end = AwaitEnd(Submit());
  EXPECT_EQ(end.state, JobState::kFailed);
  EXPECT_THAT(end.error, HasSubstr("bad pattern"));
  ExpectSound(end);
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
  EXPECT_EQ(coordinator_->List().size(), 3u);
  EXPECT_EQ(coordinator_->List()[0].job, first);
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
  EXPECT_TRUE(coordinator_->List().empty());
  EXPECT_EQ(coordinator_->Get("j").status().code(), absl::StatusCode::kNotFound);
  auto checked = coordinator_->Check(SmallJob(files_));
  ASSERT_TRUE(checked.ok());
  EXPECT_FALSE(checked->plan.empty());
}

TEST_F(CoordinatorTest, SaysThatTheStateDirectoryIsInUse) {
  Start();
  CoordinatorOptions options;
  options.state_dir = state_.path();
  auto second = Coordinator::Open(std::move(options));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("state directory in use"));
}

TEST_F(CoordinatorTest, FailsAJobWhosePromptsChangedMeanwhile) {
  Start();
  const JobId job = Submit();
  Await(job, [](const JobView& view) { return view.waiting_for == "a learner to register"; });
  coordinator_.reset();
  std::ofstream(spec_.prompts.file, std::ios::app) << "{\"prompt\": \"new\", \"answer\": \"1\"}\n";
  Start();
  const JobView end = AwaitEnd(job);
  EXPECT_EQ(end.state, JobState::kFailed);
  EXPECT_THAT(end.error, HasSubstr("changed since the job was submitted"));
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
