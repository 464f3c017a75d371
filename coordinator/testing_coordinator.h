// A coordinator with fake workers in one process, for tests of whole jobs.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/coordinator.h"
#include "coordinator/store/store.h"
#include "coordinator/testing_job.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_rollout_worker.h"
#include "tests/fakes/fake_scorer.h"
#include "tests/fakes/fake_trainer.h"

namespace sluice {

// A worker's process: what is behind an address, until it is killed.
struct RolloutProcess {
  explicit RolloutProcess(const Clock* clock) : worker({.name = "rollout", .clock = clock}) {}
  explicit RolloutProcess(FakeRolloutWorker::Options options) : worker(std::move(options)) {}
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
  absl::StatusOr<PolicyRef> RollBack(const JobId& job, PolicyVersion parent, PolicyVersion version) override {
    return t_->RollBack(job, parent, version);
  }
  absl::StatusOr<CheckpointInfo> Promote(const JobId& job, PolicyVersion version) override {
    return t_->Promote(job, version);
  }
  absl::StatusOr<CheckpointInfo> Checkpoint(const JobId& job) override { return t_->Checkpoint(job); }
  absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(const JobId& job) override {
    return t_->ListCheckpoints(job);
  }
  absl::Status Export(const JobId& job, PolicyVersion version, const std::string& path) override {
    return t_->Export(job, version, path);
  }
  absl::Status Forget(const JobId& job) override { return t_->Forget(job); }

 private:
  const std::shared_ptr<FakeTrainer> t_;
};

class CoordinatorTest : public testing::Test {
 protected:
  CoordinatorTest()
      : files_("files"), state_(std::make_unique<TestFolder>("state")), spec_(SmallJob(files_)) {
    for (int i = 0; i < 2; ++i) rollouts_.push_back(std::make_shared<RolloutProcess>(nullptr));
  }

  void Start(Clock& clock = Clock::Real(), absl::Duration lease = absl::Hours(1)) {
    CoordinatorOptions options;
    options.state_dir = state_->path();
    options.clock = &clock;
    if (&clock != &Clock::Real()) options.lease_clock = &clock;
    options.lease = lease;
    options.stall = stall_;
    options.registry = &registry_;
    options.encoder = MakeBytesEncoder;
    options.tick = absl::Milliseconds(5);
    options.ports.rollout = [this](const std::string& address) {
      return std::make_unique<RolloutPort>(rollouts_[static_cast<size_t>(address.back() - '0')]);
    };
    options.ports.reward = [this](const std::string&) { return std::make_unique<ScorerPort>(scorer_); };
    options.ports.learner = [this](const std::string& address, uint64_t coordinator_epoch) {
      coordinator_epochs_.push_back(coordinator_epoch);
      return std::make_unique<TrainerPort>(address == "host:9" ? trainer_ : other_trainer_);
    };
    if (adjust_) adjust_(options);
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
  void RegisterOtherLearner() {
    ASSERT_TRUE(
        coordinator_->RegisterWorker("learner-1", WorkerRole::kLearner, "host:7", "incarnation").ok());
  }
  void RegisterReward() {
    ASSERT_TRUE(coordinator_->RegisterWorker("reward-0", WorkerRole::kReward, "host:8", "incarnation").ok());
  }
  void RegisterAll() {
    RegisterLearner();
    for (size_t i = 0; i < rollouts_.size(); ++i) RegisterRollout(static_cast<int>(i));
    RegisterReward();
  }
  void RestartCoordinator() {
    coordinator_.reset();
    Start();
    RegisterAll();
  }
  // Whether an event has the text.
  static bool Says(const JobView& view, const std::string& text) {
    return std::any_of(view.events.begin(), view.events.end(),
                       [&](const JobEventView& event) { return event.text.find(text) != std::string::npos; });
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
    ExpectTrainedOnce(view);
    coordinator_->Shutdown();
    coordinator_.reset();
    auto store = Store::Open(state_->path());
    ASSERT_TRUE(store.ok()) << store.status();
    const absl::Status ledger = (*store)->CheckLedger(view.job);
    EXPECT_TRUE(ledger.ok()) << ledger;
  }
  void ExpectTrainedOnce(const JobView& view) {
    EXPECT_TRUE(view.ledger.Balances());
    EXPECT_EQ(view.ledger[LedgerColumn::kInFlight], 0);
    std::set<Draw> trained;
    std::set<PolicyVersion> versions;
    std::vector<FakeTrainer::TrainedStep> steps = trainer_->steps();
    for (const FakeTrainer::TrainedStep& step : other_trainer_->steps()) steps.push_back(step);
    for (const FakeTrainer::TrainedStep& step : steps) {
      if (step.job != view.job) continue;
      if (!versions.insert(step.version).second) continue;  // redone
      for (const FakeTrainer::TrainedGroup& group : step.groups) {
        EXPECT_TRUE(trained.insert(group.draw).second) << "draw " << group.draw << " was trained on twice";
        if (group.samples == 0) continue;
        EXPECT_LE(step.version - 1 - group.oldest, spec_.staleness.max_versions);
      }
    }
  }

  std::function<void(CoordinatorOptions&)> adjust_;  // of Start's options
  SimulatedClock clock_;
  absl::Duration stall_ = absl::Hours(1);
  TestFolder files_;
  std::unique_ptr<TestFolder> state_;
  JobSpec spec_;
  prometheus::Registry registry_;
  std::vector<std::shared_ptr<RolloutProcess>> rollouts_;
  std::shared_ptr<FakeScorer> scorer_ = std::make_shared<FakeScorer>();
  std::shared_ptr<FakeTrainer> trainer_ = std::make_shared<FakeTrainer>(),
                               other_trainer_ = std::make_shared<FakeTrainer>();
  std::vector<uint64_t> coordinator_epochs_;  // that the learners' ports were made with
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace sluice
